"""Webhooks measured: the receiver, what is counted, and each scenario in short."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import pytest
from django.db import connection

from holdfast.bench.cpu import POSTGRES, Meter
from holdfast.bench.deliverers import deliverers
from holdfast.bench.listening import Receiver
from holdfast.bench.processes import CantRun, is_so_within
from holdfast.bench.scenarios.deliveries import wrong_arrivals
from holdfast.bench.scenarios.hanging import waits_ms
from holdfast.bench.statements import counted_statements
from holdfast.kernel.jobs import heartbeat_key
from tenants.scope import tenant_transaction
from tests.support import redis_database
from tests.support.web import CHECKOUT, TIED, environment, free_port
from webhooks.models import Endpoint

ENDS_WITHIN_SECONDS = 180
AT_ONCE_SECONDS = 0.5


@pytest.fixture(scope="module")
def receiver():
    port = free_port()
    command = [sys.executable, "-c", TIED, "-m", "holdfast.bench.receiver", str(port)]
    with subprocess.Popen(command, cwd=CHECKOUT) as process:
        try:
            receiver = Receiver(port, process.pid)
            assert is_so_within(60, receiver.answers)
            yield receiver
        finally:
            process.kill()


@contextmanager
def post(receiver, path, webhook_id, body=b"{}"):
    """A connection over which one message was sent, in two pieces."""
    request = f"POST {path} HTTP/1.1\r\nHost: x\r\nWebhook-Id: {webhook_id}\r\nContent-Length: {len(body)}\r\n\r\n"
    with closing(socket.create_connection(("127.0.0.1", receiver.port), timeout=60)) as connection:
        connection.sendall(request.encode())
        connection.sendall(body)
        yield connection


def test_the_receiver_tells_what_came_and_when(receiver):
    began = time.monotonic()
    for webhook_id in ("a", "b", "a"):
        with post(receiver, "/fast/told", webhook_id) as connection:
            assert connection.recv(100).startswith(b"HTTP/1.1 204 ")
            assert connection.recv(100) == b""
    arrivals = receiver.arrivals("/fast/told")
    assert [webhook_id for webhook_id, _ in arrivals] == ["a", "b", "a"]
    assert began <= arrivals[0][1] <= arrivals[1][1] <= arrivals[2][1] <= time.monotonic()
    assert receiver.counts()["/fast/told"] == 3
    assert receiver.has({"/fast/told": 3})
    assert not receiver.has({"/fast/told": 4})
    assert not receiver.has({"/fast/told": 3, "/fast/nobody": 1})


def test_a_message_that_is_not_whole_has_not_arrived(receiver):
    with closing(socket.create_connection(("127.0.0.1", receiver.port), timeout=60)) as connection:
        connection.sendall(b"POST /fast/half HTTP/1.1\r\nwebhook-id: a\r\nContent-Length: 2\r\n\r\n{")
        with post(receiver, "/fast/whole", "b") as other:
            other.recv(100)
        assert "/fast/half" not in receiver.counts()


def test_one_that_hangs_answers_nothing_and_keeps_no_other_waiting(receiver):
    with post(receiver, "/hang/one", "a") as hung:
        assert is_so_within(60, lambda: receiver.has({"/hang/one": 1}))
        with post(receiver, "/fast/beside", "b") as other:
            assert other.recv(100)
        hung.settimeout(AT_ONCE_SECONDS)
        with pytest.raises(TimeoutError):
            hung.recv(1)


def test_one_that_drips_answers_a_byte_a_second(receiver):
    with post(receiver, "/drip/one", "a") as dripping:
        assert dripping.recv(100) == b"H"
        began = time.monotonic()
        assert dripping.recv(100) == b"T"
        assert time.monotonic() - began > AT_ONCE_SECONDS


def test_what_did_not_arrive_and_what_nobody_said_are_faults():
    assert wrong_arrivals("abc", "cabb") == []
    assert wrong_arrivals("abc", "ax") == ["2 of 3 messages did not arrive", "1 arrived that nobody said"]


def test_the_wait_is_from_the_commit_to_the_first_arrival():
    arrivals = [("a", 10.25), ("b", 10.5), ("a", 12.0)]
    assert waits_ms({"a": 10.0, "b": 10.0, "lost": 10.0}, arrivals) == [250.0, 500.0]


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone tells it so")
def test_the_meter_tells_apart_what_a_process_and_postgresql_had_of_the_cores(database_name):
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        quiet, meter = Meter(me=os.getpid()), Meter(me=os.getpid(), nobody=2**30)
        assert quiet.seconds()["me"] < 0.1
        cursor.execute("SELECT count(*) FROM generate_series(1, 3000000)")
    spent = meter.seconds()
    assert spent.keys() == {"me", POSTGRES}
    assert spent[POSTGRES] > 0.1 > spent["me"]
    until = time.process_time() + 0.3
    while time.process_time() < until:
        pass
    assert meter.seconds()["me"] > 0.2


def test_statements_of_all_threads_are_counted_and_none_after(tenant, queries):
    def ask():
        with tenant_transaction(tenant.id):
            Endpoint.objects.exists()
        connection.close()

    with tenant_transaction(tenant.id):  # connected, so that what a new connection sends is not counted
        pass
    with queries() as seen, tenant_transaction(tenant.id):
        Endpoint.objects.exists()
    with counted_statements() as counter:
        ask()
        alone = counter.count
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        both = counter.count
    ask()
    assert seen.count <= alone
    assert both == counter.count == 2 * alone


def test_a_run_does_not_begin_where_others_would_take_its_jobs(database_name):
    redis_database.flush()
    with redis_database.connect() as redis:
        redis.set(heartbeat_key("webhooks-slow"), 1)
        with pytest.raises(CantRun, match="other workers"), deliverers(environment()):
            pytest.fail("it began")
        assert redis.exists(heartbeat_key("webhooks-slow"))
    redis_database.flush()


@pytest.fixture
def measured(web, tenant):
    """`measured("relay")`: what a short run tells. It leaves no worker's heartbeat, so the next may follow at once."""
    redis_database.flush()

    def run(scenario):
        words = [scenario, str(urlsplit(web.url).port), str(tenant.id), tenant.key]
        ended = subprocess.run(
            [sys.executable, "-c", TIED, "-m", "tests.bench.short", *words],
            cwd=CHECKOUT,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=ENDS_WITHIN_SECONDS,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        with redis_database.connect() as redis:
            assert redis.keys("holdfast:worker:*") == []
        told = json.loads(ended.stdout)
        assert told["invariants"] == "hold"
        return told

    yield run
    redis_database.flush()


def test_deliveries_are_told_with_what_each_costs(measured):
    told = measured("deliveries")
    assert told["arms"]["worker"]["median"] > 0
    arrived, cpu, statements = told["lines"]
    assert arrived.startswith("40 arrived, 0 requests more than that; attempts a delivery p50 1, p95 1, ")
    assert float(re.search(r"worker ([\d.]+) ms", cpu)[1]) > 0
    # far from one statement a step, as it would be if each were claimed and written down alone
    assert 1 < float(re.search(r"SQL: ([\d.]+) statements", statements)[1]) < 20


def test_the_relay_is_measured_while_deliveries_are_made(measured):
    told = measured("relay")
    assert list(told["arms"]) == ["three endpoints", "no endpoint"]
    assert told["ratios"]["three endpoints / no endpoint"]["median"] > 0
    (deliveries,) = (line for line in told["lines"] if "meanwhile" in line)
    assert all(int(count) > 0 for count in re.search(r"made: (\d+), (\d+), (\d+)$", deliveries).groups())


def test_others_wait_is_measured_while_two_keep_the_workers_waiting(measured):
    told = measured("hanging")
    assert list(told["ratios"]) == ["beside / alone"]
    beside, alone = told["lines"]
    assert re.search(r"^30 arrived, 0 .* drip was asked 4 times, hang was asked 4 times$", beside)
    assert re.search(r"^30 arrived, 0 .*; alone$", alone)
