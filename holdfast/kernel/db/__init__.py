"""Django's PostgreSQL backend, with settings made at every BEGIN, and readings of the database's errors."""
