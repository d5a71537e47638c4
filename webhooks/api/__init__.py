"""The HTTP surface of messages."""
