"""Every call of the HTTP contract, to the letter."""
