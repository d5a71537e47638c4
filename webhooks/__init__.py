"""Facts for other systems: what was committed, in order. Knows no reservations."""
