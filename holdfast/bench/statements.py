"""How many statements this process sends, by all of its threads."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connections
from django.db.backends.signals import connection_created


class Counter(logging.Handler):
    """`count` is of statements, with BEGIN and COMMIT."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


@contextmanager
def counted_statements() -> Iterator[Counter]:
    """Count what is sent while the block runs, over connections that are opened in it."""
    connections.close_all()
    counter, logger = Counter(), logging.getLogger("django.db.backends")
    level, propagate = logger.level, logger.propagate
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(counter)
    connection_created.connect(_log_statements)
    try:
        yield counter
    finally:
        connection_created.disconnect(_log_statements)
        logger.removeHandler(counter)
        logger.setLevel(level)
        logger.propagate = propagate
        for connection in connections.all(initialized_only=True):
            connection.force_debug_cursor = False


def _log_statements(connection: Any, **kwargs: Any) -> None:
    connection.force_debug_cursor = True
