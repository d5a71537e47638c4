"""Redis only wakes: where it is away, everything else starts; where more is away, nothing counts as ready."""

import os
import signal
import time

import pytest

from holdfast.embedded.serve import WITHOUT_REDIS_AFTER_SECONDS
from holdfast.embedded.web import Address, answers, lacks_only_redis

from .conftest import Checkout, free_port, wait_for

pytestmark = pytest.mark.xdist_group("embedded supervisor")

GIVEN = {"DATABASE_URL": "postgresql://given@/x", "REDIS_URL": "redis://127.0.0.1:1"}
AWAY = "database: ok\nredis: failing\nmigrations: ok\nworkers: failing\n"


def test_it_starts_without_redis_and_says_so_once(checkout: Checkout) -> None:
    started_at = time.monotonic()
    process = checkout.start_up(free_port(), **GIVEN, STUB_READYZ=AWAY)
    assert time.monotonic() - started_at >= WITHOUT_REDIS_AFTER_SECONDS, "it may only be late"
    assert checkout.pids("manage.py work holds")

    said = "".join(process.stdout.readline() for _ in range(4))
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert err.count("Redis does not answer") == 1
    for words in ("/admin/", "manage createsuperuser", "/v1/docs", "manage create_tenant", str(checkout.state)):
        assert words in said, "what to open, and how to begin"


@pytest.mark.parametrize(
    ("lines", "only_redis"),
    [
        (AWAY, True),
        (AWAY.replace("workers: failing", "workers: ok"), True),
        (AWAY.replace("redis: failing", "redis: ok"), False),
        (AWAY.replace("database: ok", "database: failing"), False),
        (AWAY.replace("migrations: ok", "migrations: failing"), False),
        ("<html>nginx</html>", False),
        ("", False),
    ],
)
def test_only_redis_may_be_away(checkout: Checkout, lines: str, only_redis: bool) -> None:  # noqa: FBT001
    port = free_port()
    address = Address("127.0.0.1", port)
    assert not lacks_only_redis(address), "nobody answers"
    process = checkout.start("up", "--port", str(port), **GIVEN, STUB_READYZ=lines)
    wait_for("an answer", lambda: answers(address, "/pid"))
    assert lacks_only_redis(address) is only_redis
    os.kill(process.pid, signal.SIGTERM)
    process.communicate(timeout=60)
