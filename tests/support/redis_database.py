"""A Redis database for each test process: the queues of one are not those of another."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.conf import settings
from redis import Redis

from holdfast.kernel import jobs
from tests.support.database import connect_as_owner

if TYPE_CHECKING:
    import psycopg

# a server has 16 databases unless it was told otherwise; the first is whoever's that uses the server besides tests
NUMBERS = range(1, 16)


@contextlib.contextmanager
def redis_of_this_process() -> Iterator[None]:
    """Take a database that no other test process of this server has, empty it, and point Django at it."""
    main = settings.REDIS_URL
    name = settings.DATABASES["owner"]["NAME"]
    with connect_as_owner(name) as keeper:  # its session holds the lock on the number
        _point_django_at(numbered(main, _free_number(keeper)))
        flush()
        try:
            yield
        finally:
            flush()
            _point_django_at(main)


def connect() -> Redis:
    """A connection to this test process's database."""
    return Redis.from_url(settings.REDIS_URL)


def flush() -> None:
    """Empty it: what Redis knew is gone."""
    with connect() as client:
        client.flushdb()


def numbered(url: str, number: int) -> str:
    """The address of another database of the same server."""
    parts = urlsplit(url)
    query = urlencode({**dict(parse_qsl(parts.query)), "db": number})
    path = parts.path if parts.scheme == "unix" else ""
    return f"{parts.scheme}://{parts.netloc}{path}?{query}"


def _free_number(keeper: "psycopg.Connection[tuple[object, ...]]") -> int:
    for number in NUMBERS:
        row = keeper.execute("SELECT pg_try_advisory_lock(hashtextextended('redis ' || %s, 0))", [number]).fetchone()
        if row is not None and row[0]:
            return number
    raise RuntimeError(f"{len(NUMBERS)} test processes use this Redis already")


def _point_django_at(url: str) -> None:
    settings.REDIS_URL = url
    for queue in settings.RQ_QUEUES.values():
        queue["URL"] = url
    jobs._queue.cache_clear()
