"""What changes events, units and holds: verbs, keyword-only, one transaction each."""
