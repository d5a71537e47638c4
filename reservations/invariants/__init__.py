"""The promises as named SQL: each statement returns the rows that break one, and must return none."""
