"""The rooms of reservations, each by itself: what is pure, what the database enforces, what the diagrams promise."""
