"""What changes a tenant, its keys and its people: verbs, keyword-only, one transaction each."""
