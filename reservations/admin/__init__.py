"""The admin of events, their units and holds, for organizers."""
