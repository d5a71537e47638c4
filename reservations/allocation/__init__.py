"""Granting holds: what is asked, what is decided, and the one function that does both for many at once."""
