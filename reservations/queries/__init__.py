"""Reads: no locks, no writes. Each runs inside the caller's tenant transaction and answers JSON or rows for it."""
