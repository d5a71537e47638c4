"""The parts of a run, alone: the client, the peers' scripts, the report."""

import random
import socket
import threading
from collections import Counter
from contextlib import contextmanager

import pytest

from holdfast.bench.client import run_load
from holdfast.bench.figures import Figures
from holdfast.bench.floor import CLIENTS, HOLDS_A_SECOND_MAX, units_needed
from holdfast.bench.load import Load
from holdfast.bench.options import SECONDS_MAX
from holdfast.bench.report import Findings, as_json, as_text
from holdfast.bench.scenarios.flash import flash_faults
from holdfast.bench.scenarios.throughput import SPREAD_EVENTS, UNITS_A_SECOND, stocked_seconds
from holdfast.bench.scripts import Step, schema_statements, transaction_script
from reservations.models.event import UNITS_PER_EVENT_MAX

CREATED = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}"
SOLD_OUT = b'HTTP/1.1 409 Conflict\r\ncontent-length: 30\r\n\r\n{"type": "/problems/sold-out"}'
PLACE = {"cores": 2, "python": "3.13.0", "postgres": "18.6", "fsync": "on", "synchronous_commit": "on"}


@contextmanager
def server(*answers):
    """Gives one connection these answers, one a request, each in two pieces; then closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            connection, _ = listener.accept()
            with connection:
                for answer in answers:
                    connection.recv(65_536)
                    for piece in (answer[:20], answer[20:]):
                        connection.sendall(piece)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(60)


def test_every_answer_is_counted_and_timed():
    with server(CREATED, SOLD_OUT, CREATED) as port:
        tally = run_load(Load(port, "/v1/holds", [{"n": n} for n in range(3)], connections=1))
    assert tally.statuses == {"201": 2, "409": 1}
    assert tally.problems == {"sold-out": 1}
    assert (tally.granted, tally.unanswered) == (2, 0)
    assert 0 < tally.granted_p50_ms <= tally.granted_p95_ms <= tally.elapsed_seconds * 1000


def test_a_connection_that_is_cut_leaves_a_request_unanswered():
    with server(CREATED) as port:
        tally = run_load(Load(port, "/v1/holds", [{}, {}, {}], connections=1))
    assert (tally.statuses, tally.unanswered) == ({"201": 1}, 1)
    assert flash_faults(tally, buyers=3, units=1) == ["1 of 3 buyers were answered"]


def test_losers_may_only_be_told_of_a_conflict():
    with server(CREATED, CREATED, b"HTTP/1.1 503 Away\r\nContent-Length: 0\r\n\r\n") as port:
        tally = run_load(Load(port, "/v1/holds", [{}, {}, {}], connections=1))
    assert flash_faults(tally, buyers=3, units=1) == ["2 buyers won 1 units", "losers were answered with {'503': 1}"]


def test_a_peers_schema_is_read_without_psql():
    text = "-- :events of them\n\\if :{?events} \\else \\set events 2 \\endif\ncreate table t (a text);\n"
    text += "insert into t select 'x'::text from generate_series(1, :events * :units);\nvacuum t;\n"
    assert list(schema_statements(text, {"events": 3, "units": 4})) == [
        "create table t (a text)",
        "insert into t select 'x'::text from generate_series(1, 3 * 4)",
        "vacuum t",
    ]


def test_a_transaction_of_pgbench_is_read_without_pgbench():
    text = "\\set event random(1, :events)\nbegin;\nselect id from t where e = :event \\gset\n"
    text += "update t set h = ':id' where id = :id;\ncommit;\n"
    script = transaction_script(text)
    assert script.drawn == {"event": "events"}
    assert script.steps == (
        Step("begin", keeps_row=False),
        Step("select id from t where e = %(event)s", keeps_row=True),
        Step("update t set h = %(id)s where id = %(id)s", keeps_row=False),
        Step("commit", keeps_row=False),
    )


@pytest.mark.parametrize("events", [1, SPREAD_EVENTS])
@pytest.mark.parametrize("seconds", [1, 6])
def test_no_event_of_the_floor_runs_out_whatever_is_drawn(events, seconds):
    chance = random.Random(events * seconds)
    drawn = Counter(chance.choices(range(events), k=seconds * HOLDS_A_SECOND_MAX))
    assert max(drawn.values()) + CLIENTS <= units_needed(events, seconds)


def test_a_load_is_as_long_as_asked_for_unless_one_event_can_not_have_the_stock():
    assert stocked_seconds(6, events=1) == 6
    assert stocked_seconds(SECONDS_MAX, events=SPREAD_EVENTS) == SECONDS_MAX
    assert stocked_seconds(SECONDS_MAX, events=1) * UNITS_A_SECOND == UNITS_PER_EVENT_MAX


@pytest.fixture
def findings():
    ours, peer = Figures.of([600.0, 640.0]), Figures.of([100.0, 128.0])
    return Findings("one event", "holds/s", {"holdfast": ours, "peer": peer}, {"holdfast / peer": ours.over(peer)})


def test_a_report_has_medians_ranges_ratios_and_the_machine(findings):
    told = as_json("hot", findings, PLACE, [])
    assert told["arms"]["holdfast"] == {"rounds": [600.0, 640.0], "median": 620.0, "min": 600.0, "max": 640.0}
    assert told["ratios"]["holdfast / peer"]["median"] == 5.5
    assert (told["invariants"], told["machine"]) == ("hold", PLACE)
    assert "620 holds/s  (600 to 640, 2 rounds)" in as_text(findings, PLACE, [])


def test_a_run_in_which_something_broke_has_no_figures(findings):
    fault = "a unit was promised in two active holds: 1 times"
    told = as_json("hot", findings, PLACE, [fault])
    assert (told["arms"], told["ratios"], told["invariants"]) == ({}, {}, [fault])
    assert "620" not in as_text(findings, PLACE, [fault])


def test_figures_of_a_database_that_does_not_wait_for_the_disk_say_so(findings):
    assert "not durable" in as_text(findings, PLACE | {"fsync": "off"}, [])
