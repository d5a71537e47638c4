"""The organizers' pages about webhooks: where things are told, and what became of each telling."""
