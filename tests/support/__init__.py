"""What the tests stand on: databases, the clock, clients, threads, a web process."""
