"""Reads of the outbox: no locks, no writes."""
