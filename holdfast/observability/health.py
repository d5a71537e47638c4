"""`/healthz`: the process lives. `/readyz`: it can serve; a line for each part, nothing secret."""

from collections.abc import Callable

import structlog
from django.conf import settings
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse
from redis import RedisError

from holdfast.kernel.jobs import heartbeat_key
from holdfast.kernel.redis_client import redis_client

logger = structlog.get_logger(__name__)
PLAIN = "text/plain; charset=utf-8"
ASK_AGAIN_SECONDS = 1
# parts of which this process has told that they fail: a probe asks every few seconds, the log hears of changes
_told: set[str] = set()


def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type=PLAIN)


def readyz(request: HttpRequest) -> HttpResponse:
    found = {name: _is_well(name, check) for name, check in CHECKS.items()}
    lines = "".join(f"{name}: {'ok' if well else 'failing'}\n" for name, well in found.items())
    if all(found.values()):
        return HttpResponse(lines, content_type=PLAIN)
    return HttpResponse(lines, status=503, content_type=PLAIN, headers={"Retry-After": str(ASK_AGAIN_SECONDS)})


def _is_well(name: str, check: Callable[[], bool]) -> bool:
    try:
        well, error = check(), ""
    except (DatabaseError, RedisError, OSError) as fault:
        well, error = False, type(fault).__name__
    if error and name not in _told:
        _told.add(name)
        logger.warning("not_ready", part=name, error=error)
    elif not error and name in _told:
        _told.discard(name)
        logger.warning("answers_again", part=name)
    return well


def _database_answers() -> bool:
    for alias in ("default", "maintenance"):
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT 1")
    return True


def _redis_answers() -> bool:
    return bool(redis_client().ping())


def _workers_were_seen_lately() -> bool:
    """Whether each queue has a worker that told lately that it lives."""
    return all(redis_client().exists(heartbeat_key(queue)) for queue in settings.RQ_QUEUES)


def _migrations_are_applied() -> bool:
    executor = MigrationExecutor(connections["default"])
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


CHECKS: dict[str, Callable[[], bool]] = {
    "database": _database_answers,
    "redis": _redis_answers,
    "migrations": _migrations_are_applied,
    "workers": _workers_were_seen_lately,
}
