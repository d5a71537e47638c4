"""The HTTP surface of events, units and holds: each view makes one call into an operation, the allocator or a query."""
