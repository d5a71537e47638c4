"""`/metrics`: Prometheus text, open in development, behind a token in production."""

import dataclasses
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings as django_settings
from django.db import connections
from prometheus_client.parser import text_string_to_metric_families

from holdfast.kernel.clock import Now
from holdfast.kernel.jobs import heartbeat_key
from reservations import expiry
from reservations.invariants.statements import INVARIANTS
from reservations.invariants.watch import watch
from reservations.models import Difference, Payment, ProviderCallback, Refund
from tenants.scope import tenant_transaction
from tests.support import redis_database
from tests.support.acts import buy
from tests.support.processes import background, queue, wait_until
from tests.support.rows import sample

QUEUES = tuple(django_settings.RQ_QUEUES)
LABELS = [(name,) for name in QUEUES]


@pytest.fixture(autouse=True)
def empty_redis(database_name: str) -> Iterator[None]:
    redis_database.flush()
    yield
    redis_database.flush()


@pytest.fixture
def scrape(api: Callable[..., Any]) -> Callable[[], dict[str, dict[tuple[str, ...], float]]]:
    """Each sample by its name and the values of its labels."""

    def read() -> dict[str, dict[tuple[str, ...], float]]:
        answer = api(None).get("/metrics")
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("text/plain; version=")
        found: dict[str, dict[tuple[str, ...], float]] = {}
        for family in text_string_to_metric_families(answer.content.decode()):
            assert family.documentation, family.name
            for told in family.samples:
                assert told.name.startswith("holdfast_"), told
                found.setdefault(told.name, {})[tuple(told.labels.values())] = told.value
        return found

    return read


A_YEAR_SECONDS = 365 * 24 * 3600


def test_the_text_parses_and_tells_of_every_source(scrape):
    found = scrape()
    assert found["holdfast_source_up"] == {
        ("queues",): 1,
        ("holds",): 1,
        ("payments",): 1,
        ("webhooks",): 1,
        ("invariants",): 1,
    }
    for name in ("holdfast_queue_jobs", "holdfast_queue_failed_jobs", "holdfast_queue_oldest_job_age_seconds"):
        assert found[name] == {(name,): 0 for name in QUEUES}


def test_the_sweep_lag_grows_with_a_lapsed_hold_and_ends_with_it(tenant, make_event, make_units, shift_clock, scrape):
    shift_clock(A_YEAR_SECONDS)  # the holds that other tests left, some of them on a clock of their own, have lapsed
    expiry.sweep()
    assert scrape()["holdfast_sweep_lag_seconds"] == {(): 0}
    event = make_event(tenant)
    make_units(tenant, event, labels=["A-1", "A-2"])
    for label in ("A-1", "A-2"):
        buy(tenant.id, str(event.id), "ada", labels=[label])
    shift_clock(590)
    assert scrape()["holdfast_lapsed_holds"] == {(): 0}
    shift_clock(40)
    found = scrape()
    assert found["holdfast_lapsed_holds"] == {(): 2}
    assert 30 <= found["holdfast_sweep_lag_seconds"][()] < 40
    shift_clock(60)
    assert 90 <= scrape()["holdfast_sweep_lag_seconds"][()] < 100
    expiry.sweep()
    found = scrape()
    assert (found["holdfast_lapsed_holds"], found["holdfast_sweep_lag_seconds"]) == ({(): 0}, {(): 0})


def test_money_that_is_under_way_is_counted_until_it_has_arrived(tenant, scrape):
    def told() -> list[float]:
        found = scrape()
        names = ("payments_under_review", "pending_refunds", "unprocessed_callbacks", "open_differences")
        return [found["holdfast_open_payments"][("unknown",)], *(found[f"holdfast_{name}"][()] for name in names)]

    def end(row, **fields) -> None:
        with tenant_transaction(tenant.id):
            type(row).objects.filter(id=row.id).update(**fields)

    before = told()
    late = sample(Payment, tenant.id, status="unknown", look_at=Now() - timedelta(seconds=100))
    reviewed = sample(Payment, tenant.id, status="needs_review", look_at=None, settled_at=Now())
    paid = sample(Payment, tenant.id, status="succeeded", look_at=None, settled_at=Now())
    refund = sample(Refund, tenant.id, payment=paid)
    callback, difference = sample(ProviderCallback, tenant.id), sample(Difference, tenant.id)
    assert told() == [count + 1 for count in before]
    assert scrape()["holdfast_payments_lag_seconds"][()] >= 100
    for payment in (late, reviewed):
        end(payment, status="declined", look_at=None, settled_at=Now())
    end(refund, status="failed", look_at=None, settled_at=Now())
    end(callback, processed_at=Now(), look_at=None)
    end(difference, resolved_at=Now())
    assert told() == before


def test_waiting_and_failed_jobs_are_counted(scrape, tenant):
    queue().enqueue("reservations.jobs.sweep")
    queue().enqueue("reservations.jobs.expire_holds", str(tenant.id), [str(UUID(int=7))])
    found = scrape()
    assert found["holdfast_queue_jobs"] == dict.fromkeys(LABELS, 0) | {("holds",): 2}
    assert 0 <= found["holdfast_queue_oldest_job_age_seconds"][("holds",)] < 10
    assert "holdfast_worker_heartbeat_age_seconds" not in found
    queue().enqueue("reservations.jobs.no_such_job")
    with background() as programs:
        programs.worker()
        wait_until(lambda: queue().failed_job_registry.count == 1, "the failure")
        wait_until(lambda: queue().count == 0, "the others")
        found = scrape()
    assert found["holdfast_queue_failed_jobs"] == dict.fromkeys(LABELS, 0) | {("holds",): 1}
    assert 0 <= found["holdfast_worker_heartbeat_age_seconds"][("holds",)] < 30
    assert ("watch",) not in found["holdfast_worker_heartbeat_age_seconds"]


def test_the_age_of_a_heartbeat_is_told(scrape):
    with redis_database.connect() as redis:
        redis.set(heartbeat_key("holds"), time.time() - 42)
    assert 42 <= scrape()["holdfast_worker_heartbeat_age_seconds"][("holds",)] < 52


def test_the_promises_are_told_once_they_were_looked_at(scrape):
    assert "holdfast_invariant_breaches" not in scrape()
    counts = watch()
    found = scrape()
    assert found["holdfast_invariant_breaches"] == {(name,): counts[name] for name in INVARIANTS}
    assert abs(found["holdfast_invariants_looked_at_timestamp_seconds"][()] - time.time()) < 10


def at(url: str, settings: Any) -> None:
    settings.REDIS_URL = url


def test_without_redis_the_rest_is_told(scrape, settings):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    at(f"redis://127.0.0.1:{port}/0", settings)
    found = scrape()
    assert found["holdfast_source_up"] == {
        ("queues",): 0,
        ("holds",): 1,
        ("payments",): 1,
        ("webhooks",): 1,
        ("invariants",): 0,
    }
    assert "holdfast_lapsed_holds" in found


@pytest.mark.parametrize("path", ["/metrics", "/readyz"])
def test_a_redis_that_never_answers_keeps_nobody_waiting_for_long(api, settings, path):
    with socket.create_server(("127.0.0.1", 0), backlog=32) as listener:  # it takes connections, and that is all
        at(f"redis://127.0.0.1:{listener.getsockname()[1]}/0", settings)
        answers: list[Any] = []

        def ask() -> None:
            answers.append(api(None).get(path))
            connections.close_all()

        asking = threading.Thread(target=ask, daemon=True)
        began = time.monotonic()
        asking.start()
        asking.join(60)
        took = time.monotonic() - began
    # the listener is gone, so whoever waits for it is let go
    asking.join(60)
    assert took < 30, f"{path} took more than {took:.0f} s"
    assert answers[0].status_code == (200 if path == "/metrics" else 503)


@pytest.fixture
def in_mode(settings: Any) -> Callable[..., None]:
    def put(mode: str, token: str) -> None:
        settings.ENVIRONMENT = dataclasses.replace(settings.ENVIRONMENT, mode=mode, metrics_token=token)

    return put


def get(api: Any, header: str | None) -> Any:
    return api(None).get("/metrics", headers={} if header is None else {"Authorization": header})


WRONG = [
    None,
    "",
    "Bearer",
    "Bearer ",
    "Bearer wrong",
    "Bearer token-1x",
    "Bearer token-",
    "token-1",
    "Basic token-1",
    "bearer  token-1",
    "Bearer tökén",
    "Bearer " + "x" * 10_000,
]


@pytest.mark.parametrize("mode", ["production", "development"])
def test_with_a_token_only_its_bearer_is_told(api, in_mode, mode):
    in_mode(mode, "token-1")
    for header in WRONG:
        answer = get(api, header)
        assert answer.status_code == 401, header
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert b"holdfast_" not in answer.content
        assert b"token-1" not in answer.content
    assert get(api, "Bearer token-1").status_code == 200


def test_in_production_without_a_token_nobody_is_told(api, in_mode):
    in_mode("production", "")
    for header in [*WRONG, "Bearer None"]:
        assert get(api, header).status_code == 401, header


def test_an_api_key_is_no_token(api, tenant, in_mode):
    in_mode("production", "token-1")
    assert api(tenant).get("/metrics").status_code == 401


def test_metrics_show_no_tenant_and_nothing_secret(api, tenant, settings):
    text = get(api, None).content.decode()
    assert tenant.slug not in text
    assert str(tenant.id) not in text
    for alias in ("default", "maintenance", "owner"):
        assert (settings.DATABASES[alias]["PASSWORD"] or "\0") not in text
