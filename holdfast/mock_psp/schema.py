"""The tables of the mock provider's file. Times are microseconds since 1970 in UTC."""

import sqlite3
from pathlib import Path

BUSY_SECONDS = 10.0

_TABLES = """
    CREATE TABLE IF NOT EXISTS charge (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        merchant TEXT NOT NULL,
        key TEXT NOT NULL,
        asked INTEGER NOT NULL,
        amount INTEGER NOT NULL CHECK (amount > 0),
        currency TEXT NOT NULL,
        method TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('succeeded', 'declined')),
        decline_code TEXT,
        refunded INTEGER NOT NULL DEFAULT 0 CHECK (refunded >= 0 AND refunded <= amount),
        created_at INTEGER NOT NULL,
        UNIQUE (merchant, key),
        CHECK (status = 'succeeded' OR (decline_code IS NOT NULL AND refunded = 0))
    ) STRICT;
    CREATE INDEX IF NOT EXISTS charge_by_key ON charge (key);
    CREATE INDEX IF NOT EXISTS charge_by_time ON charge (merchant, created_at);
    CREATE TABLE IF NOT EXISTS refund (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        merchant TEXT NOT NULL,
        key TEXT NOT NULL,
        charge TEXT NOT NULL REFERENCES charge (id),
        amount INTEGER NOT NULL CHECK (amount > 0),
        currency TEXT NOT NULL,
        status TEXT NOT NULL CHECK (status IN ('succeeded', 'failed')),
        failure_code TEXT,
        created_at INTEGER NOT NULL,
        UNIQUE (merchant, key)
    ) STRICT;
    CREATE INDEX IF NOT EXISTS refund_by_charge ON refund (charge);
    CREATE TABLE IF NOT EXISTS delivery (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        merchant TEXT NOT NULL,
        url TEXT NOT NULL,
        body BLOB NOT NULL,
        due_at INTEGER NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX IF NOT EXISTS delivery_by_time ON delivery (due_at);
"""


def open_file(path: Path) -> sqlite3.Connection:
    """Open the file, made with its tables where it is absent. A commit is on the disk when it returns.

    Raises sqlite3.Error.
    """
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} COMMIT;")
    return connection
