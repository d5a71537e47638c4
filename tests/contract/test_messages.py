"""`GET /v1/webhooks/messages`: what happened, oldest first, each with its subject as it was at that moment."""

import re
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pytest
from django.db import transaction

from reservations import expiry
from reservations.errors import SoldOut
from reservations.operations import events
from reservations.operations.holds import release_hold
from tenants.scope import NoTenant, tenant_transaction
from tests.contract import expect
from tests.contract.sale import EVENT, Sale
from tests.support import feed
from tests.support.client import Api
from tests.support.rows import unique
from tests.support.web import CHECKOUT
from webhooks.message_types import PATTERNS, TYPES
from webhooks.outbox import Fact, NoTransaction, publish

MEMBERS = {"id", "type", "sequence", "occurred_at", "tenant", "subject", "data"}
MOVES = {"publish": "published", "pause": "paused", "resume": "resumed", "close": "closed"}


def of(sale: Sale, subject: Any) -> list[Any]:
    return feed.read(sale.api, f"subject={subject['id'] if isinstance(subject, dict) else subject}")


def hold_get(sale: Sale, hold: Any) -> Any:
    return expect.body(sale.api.get(f"/v1/holds/{hold['id']}"))


def facts(count: int, subject: UUID | None = None, first: bool = True) -> list[Fact]:  # noqa: FBT001, FBT002 - short
    """Facts about subjects that nothing else knows."""
    return [
        Fact(f"test.fact-{number}", "test", subject or UUID(bytes=secrets.token_bytes(16)), {"n": number}, first)
        for number in range(count)
    ]


def test_a_message_has_the_body_of_a_delivery(sale: Sale) -> None:
    before = datetime.now(tz=UTC) - timedelta(seconds=2)
    hold = sale.hold(labels=["U-1"])
    (message,) = of(sale, hold)
    assert set(message) == MEMBERS
    expect.identifier(message["id"])
    assert before <= expect.moment(message["occurred_at"]) <= datetime.now(tz=UTC) + timedelta(seconds=2)
    assert expect.apart_from(message, "id", "occurred_at") == {
        "type": "hold.created",
        "sequence": 1,
        "tenant": str(sale.tenant.id),
        "subject": {"type": "hold", "id": hold["id"]},
        "data": hold,
    }


def test_one_alone_reads_as_in_the_list(sale: Sale) -> None:
    (message,) = of(sale, sale.hold(labels=["U-1"]))
    assert expect.body(sale.api.get(f"{feed.PATH}/{message['id']}")) == message


def test_each_hold_event_has_its_message_with_what_its_get_showed(
    sale: Sale, shift_clock: Callable[[float], None]
) -> None:
    first, second = sale.hold(labels=["U-1"], metadata={"cart": "🎟️ \\ \"'"}), sale.hold(labels=["U-2"])
    extended = expect.body(sale.api.post(f"/v1/holds/{first['id']}/extend"))
    released = expect.body(sale.api.post(f"/v1/holds/{second['id']}/release", {"reason": "no"}))
    assert [message["data"] for message in of(sale, first)] == [first, extended]
    assert [message["data"] for message in of(sale, second)] == [second, released]
    assert hold_get(sale, second) == released
    shift_clock(700)
    assert expiry.sweep_tenant(sale.tenant.id) == 1
    *_, expired = of(sale, first)
    assert (expired["type"], expired["sequence"]) == ("hold.expired", 3)
    assert expired["data"] == hold_get(sale, first)
    assert (expired["data"]["status"], expired["data"]["seconds_left"]) == ("expired", 0)
    assert expired["data"]["ended_at"] == expired["data"]["expires_at"]


@pytest.mark.parametrize("choice", [{"labels": ["U-1"]}, {"quantity": 3}], ids=["named", "any"])
def test_a_hold_that_gives_way_to_the_next_buyer_says_so_before_the_new_one_is_told(
    sale: Sale, shift_clock: Callable[[float], None], choice: dict[str, Any]
) -> None:
    old = sale.hold(labels=["U-1"])
    shift_clock(601)
    new = sale.hold(**choice, customer="bob")
    told = [(m["type"], m["subject"]["id"]) for m in feed.read(sale.api) if m["subject"]["type"] == "hold"]
    assert told == [("hold.created", old["id"]), ("hold.expired", old["id"]), ("hold.created", new["id"])]
    assert of(sale, old)[-1]["data"] == hold_get(sale, old)
    assert expiry.sweep_tenant(sale.tenant.id) == 0
    assert len(of(sale, old)) == 2


def test_each_move_of_an_event_has_its_message_with_what_its_answer_showed(client: Api) -> None:
    event = expect.body(client.post("/v1/events", EVENT), 201)
    path = f"/v1/events/{event['id']}"
    shown = []
    for move in ("publish", "pause", "resume", "close"):
        shown.append((f"event.{MOVES[move]}", expect.body(client.post(f"{path}/{move}"))))
        assert expect.body(client.get(path)) == shown[-1][1]
    found = feed.read(client, f"subject={event['id']}")
    assert [(message["type"], message["data"]) for message in found] == shown
    assert [message["sequence"] for message in found] == [1, 2, 3, 4]
    assert {message["subject"]["type"] for message in found} == {"event"}


def test_a_move_that_is_refused_and_a_change_of_fields_say_nothing(sale: Sale) -> None:
    before = feed.read(sale.api)
    expect.problem(sale.api.post(f"{sale.path}/publish"), 409, "invalid-transition")
    expect.body(sale.api.patch(sale.path, {"name": "Renamed"}))
    assert feed.read(sale.api) == before


def test_a_message_stays_as_it_was_written(sale: Sale, shift_clock: Callable[[float], None]) -> None:
    hold = sale.hold(labels=["U-1"])
    (message,) = of(sale, hold)
    expect.body(sale.api.post(f"/v1/holds/{hold['id']}/release"))
    expect.body(sale.api.patch(sale.path, {"hold_extensions_max": 9}))
    shift_clock(3600)
    assert of(sale, hold)[0] == message


def test_sequences_count_from_one_for_each_subject(sale: Sale) -> None:
    holds = [sale.hold(labels=[label]) for label in sale.labels]
    for hold in (holds[0], holds[2], holds[0], holds[2]):
        expect.body(sale.api.post(f"/v1/holds/{hold['id']}/extend"))
    for hold in holds:
        expect.body(sale.api.post(f"/v1/holds/{hold['id']}/release"))
    assert [[message["sequence"] for message in of(sale, hold)] for hold in holds] == [
        [1, 2, 3, 4],
        [1, 2],
        [1, 2, 3, 4],
    ]


def test_messages_come_in_the_order_in_which_they_were_committed_one_after_another(sale: Sale) -> None:
    names = []
    for label in sale.labels:
        hold = sale.hold(labels=[label])
        expect.body(sale.api.post(f"/v1/holds/{hold['id']}/release"))
        names += [("hold.created", hold["id"]), ("hold.released", hold["id"])]
    found = [message for message in feed.read(sale.api) if message["subject"]["type"] == "hold"]
    assert [(message["type"], message["subject"]["id"]) for message in found] == names
    times = [expect.moment(message["occurred_at"]) for message in found]
    assert times == sorted(times)


def test_messages_of_one_transaction_come_in_the_order_in_which_they_were_said(sale: Sale) -> None:
    subject = UUID(bytes=secrets.token_bytes(16))
    with tenant_transaction(sale.tenant.id):
        for _ in range(3):
            publish(facts(40, subject, first=False))
    found = of(sale, str(subject))
    assert [message["sequence"] for message in found] == list(range(1, 121))
    assert [message["data"]["n"] for message in found] == list(range(40)) * 3


# --- filters


def test_messages_are_found_by_type(sale: Sale) -> None:
    hold = sale.hold(labels=["U-1"])
    sale.hold(labels=["U-2"])
    expect.body(sale.api.post(f"/v1/holds/{hold['id']}/release"))
    assert feed.types(feed.read(sale.api, "type=hold.created")) == ["hold.created"] * 2
    assert feed.types(feed.read(sale.api, "type=hold.released")) == ["hold.released"]
    assert feed.types(feed.read(sale.api, "type=event.published")) == ["event.published"]
    assert feed.read(sale.api, "type=hold.converted") == []
    assert feed.types(feed.read(sale.api, "type=hold.*")) == ["hold.created", "hold.created", "hold.released"]
    assert feed.types(feed.read(sale.api, "type=event.*")) == ["event.published"]


def test_messages_are_found_by_subject_and_type_together(sale: Sale) -> None:
    first, second = sale.hold(labels=["U-1"]), sale.hold(labels=["U-2"])
    expect.body(sale.api.post(f"/v1/holds/{first['id']}/release"))
    (found,) = feed.read(sale.api, f"type=hold.released&subject={first['id']}")
    assert found["subject"]["id"] == first["id"]
    assert feed.read(sale.api, f"type=hold.released&subject={second['id']}") == []
    assert feed.types(of(sale, str(sale.event.id))) == ["event.published"]


def test_messages_are_found_by_time(sale: Sale, shift_clock: Callable[[float], None]) -> None:
    holds = []
    for label in sale.labels:
        holds.append(sale.hold(labels=[label]))
        shift_clock(60)
    at = [expect.moment(of(sale, hold)[0]["occurred_at"]) for hold in holds]

    def found(**when: datetime) -> list[int]:
        query = "&".join(f"{name}={quote(moment.isoformat())}" for name, moment in when.items())
        ids = [message["subject"]["id"] for message in feed.read(sale.api, f"type=hold.created&{query}")]
        return [[hold["id"] for hold in holds].index(name) for name in ids]

    second = timedelta(seconds=1)
    assert found(since=at[1] - second) == [1, 2]
    assert found(since=at[1] + second) == [2]
    assert found(until=at[1] - second) == [0]
    assert found(until=at[1] + second) == [0, 1]
    assert found(since=at[1] - second, until=at[1] + second) == [1]
    assert found(since=at[2] + second) == []
    # a message is on one side of a moment and not on both
    assert found(since=at[1]) + found(until=at[1]) == [1, 2, 0]


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize("text", ["", "yesterday", "2030-01-01", "2030-01-01T00:00:00", "1", "10000-01-01T00:00:00Z"])
def test_a_time_that_is_none_is_refused(sale: Sale, name: str, text: str) -> None:
    assert expect.parameters(sale.api.get(f"{feed.PATH}?{name}={text}")) == [name]


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize("text", ["0001-01-01T00:00:00%2B14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_at_the_edge_of_the_calendar_is_no_fault_of_ours(sale: Sale, name: str, text: str) -> None:
    assert sale.api.get(f"{feed.PATH}?{name}={text}").status_code in (200, 422)


def test_a_subject_that_is_no_id_is_refused_and_an_unknown_one_selects_nothing(sale: Sale) -> None:
    assert expect.parameters(sale.api.get(f"{feed.PATH}?subject=nonsense")) == ["subject"]
    assert feed.read(sale.api, f"subject={UUID(int=7)}") == []


@pytest.mark.parametrize("wrong", ["hold.nonsense", "hold.create", "holds.*", "*", "*.created", "hold.", "", "a%00b"])
def test_a_type_that_no_message_can_have_is_refused(sale: Sale, wrong: str) -> None:
    assert expect.parameters(sale.api.get(f"{feed.PATH}?type={wrong}")) == ["type"]


def test_every_type_of_the_product_can_be_asked_for(sale: Sale) -> None:
    for pattern in PATTERNS:
        assert sale.api.get(f"{feed.PATH}?type={pattern}").status_code == 200, pattern
    told = re.compile(r'"((?:hold|order|ticket|event|payment|endpoint)\.[a-z_]+)"')
    sources = [path for app in ("reservations", "webhooks") for path in (CHECKOUT / app).rglob("*.py")]
    named = {name for path in sources if "migrations" not in path.parts for name in told.findall(path.read_text())}
    assert "hold.created" in named
    assert named <= set(TYPES)


# --- pages


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 200])
def test_pages_of_any_length_show_the_same_in_the_same_order(sale: Sale, limit: int) -> None:
    with tenant_transaction(sale.tenant.id):
        publish(facts(5))
    with tenant_transaction(sale.tenant.id):
        publish(facts(4))
    whole = feed.read(sale.api)
    assert len(whole) == 10
    assert feed.read(sale.api, limit=limit) == whole


def test_a_cursor_leads_on_to_what_comes_later(sale: Sale) -> None:
    feed.settle()
    first = expect.body(sale.api.get(f"{feed.PATH}?limit=1"))
    assert first["next"] is None
    sale.hold(labels=["U-1"])
    feed.settle()
    first = expect.body(sale.api.get(f"{feed.PATH}?limit=1"))
    assert feed.types(first["data"]) == ["event.published"]
    following = f"{feed.PATH}?limit=1&cursor={first['next']}"
    assert feed.types(expect.body(sale.api.get(following))["data"]) == ["hold.created"]
    sale.hold(labels=["U-2"])
    feed.settle()
    assert feed.types(expect.body(sale.api.get(f"{following}&limit=200"))["data"]) == ["hold.created"] * 2


@pytest.mark.parametrize("limit", ["0", "201", "-1", "x", "", "1.0", "9" * 30])
def test_a_limit_out_of_range_is_refused(sale: Sale, limit: str) -> None:
    assert expect.parameters(sale.api.get(f"{feed.PATH}?limit={limit}")) == ["limit"]


def test_a_cursor_of_another_list_or_tenant_or_of_nobody_is_refused(sale: Sale, make_sale: Callable[..., Sale]) -> None:
    other = make_sale(3)
    for each in (sale, other):
        for label in each.labels:
            each.hold(labels=[label])
    feed.settle()
    mine = expect.body(sale.api.get(f"{feed.PATH}?limit=1"))["next"]
    theirs = expect.body(other.api.get(f"{feed.PATH}?limit=1"))["next"]
    holds = expect.body(sale.api.get("/v1/holds?limit=1"))["next"]
    for cursor in (theirs, holds, mine[:-1], f"{mine}x", mine.swapcase(), "x", ""):
        assert expect.parameters(sale.api.get(f"{feed.PATH}?cursor={cursor}")) == ["cursor"], cursor
    assert expect.parameters(sale.api.get(f"/v1/holds?cursor={mine}")) == ["cursor"]


# --- whose they are


def test_a_tenant_sees_its_own_messages_alone(sale: Sale, make_sale: Callable[..., Sale]) -> None:
    other = make_sale(1)
    hold = other.hold(quantity=1)
    (theirs,) = of(other, hold)
    assert of(sale, hold) == []
    assert {message["tenant"] for message in feed.read(sale.api)} == {str(sale.tenant.id)}
    expect.problem(sale.api.get(f"{feed.PATH}/{theirs['id']}"), 404, "not-found")
    expect.problem(sale.api.get(f"{feed.PATH}/{UUID(int=7)}"), 404, "not-found")
    expect.problem(sale.api.get(f"{feed.PATH}/nonsense"), 404, "not-found")


def test_it_is_read_with_the_scopes_read_and_webhooks(
    sale: Sale, make_key: Callable[..., str], api: Callable[..., Api]
) -> None:
    (message,) = of(sale, sale.hold(labels=["U-1"]))
    for path in (feed.PATH, f"{feed.PATH}/{message['id']}"):
        for scope in ("read", "webhooks", "admin"):
            expect.body(api(make_key(sale.tenant, scopes=[scope])).get(path))
        for scope in ("events", "holds", "orders", "tickets"):
            expect.problem(api(make_key(sale.tenant, scopes=[scope])).get(path), 403, "forbidden")
        expect.problem(api(None).get(path), 401, "unauthenticated")
        for method in ("POST", "PATCH", "DELETE"):
            expect.problem(sale.api.send(method, path), 405, "method-not-allowed")


def test_no_message_shows_a_secret(client: Api) -> None:
    made = expect.body(client.post("/v1/api-keys", {"name": "x", "scopes": ["read"]}), 201)
    expect.body(client.post(f"/v1/api-keys/{made['id']}/rotate"))
    assert feed.read(client) == []


# --- what was never said


def test_what_is_rolled_back_was_never_said(sale: Sale) -> None:
    before = feed.read(sale.api)
    hold = sale.hold(labels=["U-1"])
    with tenant_transaction(sale.tenant.id):
        release_hold(tenant_id=sale.tenant.id, hold_id=UUID(hold["id"]))
        events.pause_event(tenant_id=sale.tenant.id, event_id=sale.event.id)
        transaction.set_rollback(True)
    assert feed.types(feed.read(sale.api)[len(before) :]) == ["hold.created"]
    # and the numbers go on without a gap
    expect.body(sale.api.post(f"/v1/holds/{hold['id']}/release"))
    assert [message["sequence"] for message in of(sale, hold)] == [1, 2]


def test_a_savepoint_that_is_rolled_back_takes_its_messages_with_it(sale: Sale) -> None:
    subject = UUID(bytes=secrets.token_bytes(16))
    with tenant_transaction(sale.tenant.id):
        publish(facts(1, subject))
        with tenant_transaction(sale.tenant.id):
            publish(facts(2, subject, first=False))
            transaction.set_rollback(True)
        publish(facts(1, subject, first=False))
    assert [message["sequence"] for message in of(sale, str(subject))] == [1, 2]


def test_a_refusal_says_nothing(make_sale: Callable[..., Sale], shift_clock: Callable[[float], None]) -> None:
    sale = make_sale(1)
    hold = sale.hold(quantity=1)
    before = feed.read(sale.api)
    assert sale.ask(quantity=1).json()["type"] == f"/problems/{SoldOut.slug}"
    assert sale.ask(labels=["U-1"]).status_code == 409
    assert sale.ask(labels=["nonsense"]).status_code == 422
    assert sale.api.post(f"/v1/holds/{hold['id']}/extend", {"seconds": 1}).status_code == 422
    assert feed.read(sale.api) == before


def test_a_replay_says_nothing_again(sale: Sale) -> None:
    key = {"Idempotency-Key": unique("key")}
    hold = sale.hold(quantity=1, headers=key)
    for _ in range(2):
        expect.body(sale.ask(quantity=1, headers=key), 201)
    assert feed.types(of(sale, hold)) == ["hold.created"]


def test_nothing_can_be_said_outside_of_the_transaction_of_its_fact(sale: Sale) -> None:
    with pytest.raises((NoTransaction, NoTenant)):
        publish(facts(1))
    publish([])
    assert feed.types(feed.read(sale.api)) == ["event.published"]
