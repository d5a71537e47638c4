"""`POST …/replay` and `GET /v1/webhooks/replays/{id}`: the past told once more, and how far that has come."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from holdfast.kernel.clock import database_now, rfc3339
from holdfast.kernel.ids import new_id
from tests.contract import expect, till
from tests.contract.listener import ENDPOINTS, REPLAYS, Listener
from tests.contract.test_idempotency import replays
from tests.support.client import Api
from tests.support.rows import everything_of
from tests.webhooks.post import OK
from tests.webhooks.test_replay import deliver_all
from webhooks import replay as work
from webhooks.models import Replay

LONG_AGO = "2020-01-01T00:00:00Z"
FIELDS = {
    *("id", "endpoint", "since", "until", "types", "status", "state", "matched", "queued"),
    *("pending", "delivered", "dead", "created_at", "ended_at"),
}


def ask(listener: Listener, headers: dict[str, str] | None = None, **body: Any) -> Any:
    return listener.call("replay", {"since": LONG_AGO} | body, headers=headers)


def begun(listener: Listener, **body: Any) -> Any:
    answer = expect.body(ask(listener, **body), 202)
    assert set(answer) == {"replay", "matched"}
    return answer


def shown(listener: Listener, replay: Any) -> Any:
    return expect.body(listener.api.get(f"{REPLAYS}/{replay['replay']}"))


def progress(listener: Listener, replay: Any) -> tuple[Any, ...]:
    found = shown(listener, replay)
    return tuple(found[name] for name in ("state", "queued", "pending", "delivered", "dead"))


def carry_on(listener: Listener, replay: Any) -> None:
    work.carry_on(listener.tenant, replay["replay"])


def later(seconds: float) -> str:
    return rfc3339(database_now() + timedelta(seconds=seconds))


# --- what is told


def test_what_happened_while_it_was_disabled_is_told_and_keeps_its_id(listener: Listener) -> None:
    told = [str(delivery.message_id) for delivery in listener.tell()]
    listener.carry()
    listener.call("disable")
    missed = [str(message) for message in listener.say(2)]
    listener.relay()
    listener.call("enable")
    assert listener.carry() == 0
    replay = begun(listener)
    assert replay["matched"] == 3
    carry_on(listener, replay)
    assert listener.carry() == 3
    assert sorted(listener.place.ids[1:]) == sorted(told + missed)
    again = [hook for hook in listener.place.received if hook.id == told[0]]
    assert again[0].body == again[1].body
    assert len(listener.listed()) == 3


def test_dead_ones_alone_are_told_if_that_is_asked_for(listener: Listener) -> None:
    _, gone = listener.tell(2)
    listener.answer(OK, count=1)
    # for good, said the receiver
    listener.place.answers(410)
    listener.carry()
    listener.call("enable")
    listener.place.answers(200)
    listener.place.received.clear()
    (dead,) = listener.listed("status=dead")
    assert dead["id"] == str(gone.id)
    replay = begun(listener, status="dead")
    assert (replay["matched"], shown(listener, replay)["status"]) == (1, "dead")
    carry_on(listener, replay)
    assert listener.carry() == 1
    assert listener.place.ids == [str(gone.message_id)]
    assert begun(listener, status="dead")["matched"] == 0


def test_time_and_types_choose(listener: Listener, shift_clock: Callable[[float], None]) -> None:
    listener.say()
    shift_clock(100)
    since = later(0)
    listener.say()
    listener.say(message_type="order.confirmed")
    shift_clock(100)
    until = later(0)
    listener.say()
    assert begun(listener)["matched"] == 3  # of what it asks for
    assert begun(listener, since=since)["matched"] == 2
    assert begun(listener, until=until)["matched"] == 2
    assert begun(listener, since=since, until=until)["matched"] == 1
    assert begun(listener, types=["order.*"])["matched"] == 1  # of what is asked for now
    assert begun(listener, types=["hold.created", "order.confirmed"], since=since)["matched"] == 3
    assert begun(listener, types=["ping", "hold.released"])["matched"] == 0
    assert begun(listener, since=later(100))["matched"] == 0


def test_what_is_left_out_and_null_are_the_same(listener: Listener) -> None:
    listener.say()
    first, second = begun(listener), begun(listener, until=None, types=None)
    for replay in (first, second):
        found = shown(listener, replay)
        assert (found["matched"], found["status"]) == (1, "all")
        assert found["types"] == ["hold.converted", "hold.created", "hold.expired", "hold.extended", "hold.released"]
        assert abs(expect.moment(found["until"]) - database_now()) < timedelta(seconds=60)


# --- progress


def test_its_progress_is_shown(
    listener: Listener, shift_clock: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "BATCH_MAX", 2)
    listener.tell(3)
    deliver_all(listener)
    replay = begun(listener)
    found = shown(listener, replay)
    assert set(found) == FIELDS
    assert (found["id"], found["endpoint"]) == (replay["replay"], str(listener.id))
    assert (found["since"], found["matched"], found["ended_at"]) == (LONG_AGO, 3, None)
    assert progress(listener, replay) == ("running", 0, 0, 0, 0)
    carry_on(listener, replay)
    assert progress(listener, replay) == ("running", 2, 2, 0, 0)
    listener.answer(OK)
    assert progress(listener, replay) == ("running", 2, 0, 2, 0)
    shift_clock(3)
    carry_on(listener, replay)
    assert progress(listener, replay) == ("done", 3, 1, 2, 0)
    listener.answer(OK)
    assert progress(listener, replay) == ("done", 3, 0, 3, 0)
    ended = shown(listener, replay)
    assert expect.moment(ended["ended_at"]) > expect.moment(ended["created_at"])


def test_it_is_stopped_where_its_endpoint_is_disabled_and_gone_where_that_is_deleted(listener: Listener) -> None:
    listener.say()
    replay = begun(listener)
    listener.call("disable")
    carry_on(listener, replay)
    assert progress(listener, replay) == ("stopped", 0, 0, 0, 0)
    listener.api.delete(listener.path)
    expect.problem(listener.api.get(f"{REPLAYS}/{replay['replay']}"), 404, "not-found")


# --- what is refused


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"since": None}, ["/since"]),
        ({"since": "yesterday"}, ["/since"]),
        ({"since": "2026-01-01T00:00:00"}, ["/since"]),
        ({"since": "1999-12-31T23:59:59Z"}, ["/since"]),
        ({"since": 1_700_000_000}, ["/since"]),
        ({"until": "2026-01-01"}, ["/until"]),
        ({"until": LONG_AGO}, ["/until"]),
        ({"until": "2019-12-31T00:00:00Z"}, ["/until"]),
        ({"types": []}, ["/types"]),
        ({"types": "hold.*"}, ["/types"]),
        ({"types": ["hold.*", "hold.never", "*"]}, ["/types/1", "/types/2"]),
        ({"types": [1, None]}, ["/types/0", "/types/1"]),
        ({"types": ["ping"] * 41}, ["/types"]),
        ({"status": "delivered"}, ["/status"]),
        ({"status": None}, ["/status"]),
        ({"status": True}, ["/status"]),
        ({"status": []}, ["/status"]),
        ({"endpoint": "x", "limit": 5}, ["/endpoint", "/limit"]),
        ({"until": LONG_AGO, "types": ["x"]}, ["/until", "/types/0"]),
    ],
)
def test_what_can_not_be_chosen_is_refused_where_it_stands(
    listener: Listener, body: dict[str, Any], pointers: list[str]
) -> None:
    assert expect.pointers(ask(listener, **body)) == pointers
    assert not Replay.everywhere.filter(tenant_id=listener.tenant).exists()


def test_a_beginning_is_needed(listener: Listener) -> None:
    assert expect.faults(listener.call("replay", {})) == {"/since": "required"}
    expect.problem(listener.api.post(f"{listener.path}/replay"), 400, "malformed")


def test_more_than_the_most_are_refused(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Replay, "MATCHED_MAX", 2)
    listener.say(2)
    assert begun(listener)["matched"] == 2
    listener.say()
    assert expect.faults(ask(listener)) == {"/since": "too_many"}


def test_a_disabled_endpoint_is_told_nothing(listener: Listener) -> None:
    listener.call("disable")
    expect.problem(ask(listener), 409, "endpoint-disabled")
    assert not Replay.everywhere.filter(tenant_id=listener.tenant).exists()


# --- idempotency, tenants, scopes


def test_under_one_key_a_replay_is_one(listener: Listener) -> None:
    listener.tell()
    listener.answer(OK)
    key = till.key()
    first = ask(listener, headers=key)
    carry_on(listener, expect.body(first, 202))
    before = everything_of(listener.tenant)
    replays(first, ask(listener, headers=key))
    expect.problem(ask(listener, headers=key, types=["hold.*"]), 422, "idempotency-key-reused")
    assert everything_of(listener.tenant) == before


def test_another_tenants_replay_and_endpoint_are_not_there(
    listener: Listener, make_listener: Callable[..., Listener]
) -> None:
    theirs = make_listener()
    replay = begun(theirs)
    for name in (replay["replay"], new_id()):
        expect.problem(listener.api.get(f"{REPLAYS}/{name}"), 404, "not-found")
    for name in (theirs.id, new_id()):
        answer = listener.api.post(f"{ENDPOINTS}/{name}/replay", {"since": LONG_AGO})
        expect.problem(answer, 404, "not-found")
    assert Replay.everywhere.filter(tenant_id__in=[listener.tenant, theirs.tenant]).count() == 1


def test_a_key_that_reads_sees_replays_and_begins_none(
    make_tenant: Any, make_listener: Callable[..., Listener], make_key: Any, api: Callable[..., Api]
) -> None:
    tenant = make_tenant()
    listener = make_listener(tenant)
    replay = begun(listener)
    reader = api(make_key(tenant, ["read"]))
    assert expect.body(reader.get(f"{REPLAYS}/{replay['replay']}")) == shown(listener, replay)
    expect.problem(reader.post(f"{listener.path}/replay", {"since": LONG_AGO}), 403, "forbidden")
    writer = api(make_key(tenant, ["webhooks"]))
    expect.body(writer.post(f"{listener.path}/replay", {"since": LONG_AGO}), 202)
