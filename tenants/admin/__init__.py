"""The admin of a tenant: which one a person is in, what their role lets them do there, its members and keys."""
