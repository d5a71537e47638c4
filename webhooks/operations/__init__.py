"""Verbs about webhooks: each is one transaction, and raises what it refuses."""
