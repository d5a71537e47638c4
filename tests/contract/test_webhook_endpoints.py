"""`/v1/webhooks/endpoints`: where a tenant is told of facts; what its people can do with it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from holdfast.kernel.ids import new_id
from tenants.scope import tenant_transaction
from tests.contract import expect, till
from tests.contract.listener import BODY, DELIVERIES, ENDPOINTS, FIELDS, URL, Listener
from tests.contract.sale import Sale
from tests.contract.test_idempotency import replays
from tests.contract.test_lists import walk
from tests.support import feed
from tests.support.client import NOTHING, Api
from tests.support.rows import everything_of
from webhooks.models import Endpoint
from webhooks.operations import endpoints as operations

VERBS = ("enable", "disable", "ping", "rotate-secret", "replay")
BODIES: dict[str, Any] = {"replay": {"since": "2020-01-01T00:00:00Z"}}
NOBODY = "01890000-0000-7000-8000-000000000000"


def rows(listener: Listener) -> list[Any]:
    """All of its endpoints in all their fields."""
    return list(Endpoint.everywhere.filter(tenant_id=listener.tenant).order_by("id").values())


# --- create, read, list


def test_a_new_endpoint_is_shown_with_its_secret_this_once(client: Api) -> None:
    made = expect.body(client.post(ENDPOINTS, BODY | {"description": "The shop"}), 201)
    assert set(made) == FIELDS | {"secret"}
    expect.identifier(made["id"])
    expect.moment(made["created_at"])
    assert made["secret"].startswith("whsec_")
    shown = expect.apart_from(made, "secret")
    assert expect.apart_from(shown, "id", "created_at") == {
        **BODY,
        "description": "The shop",
        "status": "enabled",
        **dict.fromkeys(FIELDS - {"id", "created_at", "status", "url", "events", "description"}),
    }
    assert expect.body(client.get(f"{ENDPOINTS}/{made['id']}")) == shown
    assert expect.body(client.get(ENDPOINTS)) == {"data": [shown], "next": None}


@pytest.mark.parametrize("description", [NOTHING, None, ""])
def test_a_description_may_be_none(client: Api, description: Any) -> None:
    body = BODY if description is NOTHING else BODY | {"description": description}
    assert expect.body(client.post(ENDPOINTS, body), 201)["description"] == ""


def test_a_pattern_named_twice_counts_once(client: Api) -> None:
    made = expect.body(client.post(ENDPOINTS, BODY | {"events": ["hold.*", "ping", "hold.*"]}), 201)
    assert made["events"] == ["hold.*", "ping"]


def test_the_list_is_walked_oldest_first(listener: Listener) -> None:
    made = [str(listener.id), *(str(listener.listen().id) for _ in range(4))]
    for limit in (1, 2, 5):
        assert [row["id"] for row in walk(listener.api, ENDPOINTS, limit)] == made


# --- what is refused

REFUSED_URLS = [
    "",
    "   ",
    "shop.example.org",
    "ftp://shop.example.org/",
    "http://shop.example.org/hooks",
    "https://shop.example.org:22/",
    "https://ada:secret@shop.example.org/",
    "https://shop.example.org/#here",
    " https://shop.example.org/",
    "https://shop.example.org/\n",
    "https://shop",
    "https://localhost/",
    "https://shop.internal/",
    "https://127.0.0.1/",
    "http://10.0.0.1/",
    "https://10.0.0.1/",
    "https://192.168.1.1/",
    "https://100.64.0.1/",
    "http://169.254.169.254/latest/meta-data",
    "https://169.254.169.254/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://[::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://[fd00:ec2::254]/",
    f"https://shop.example.org/{'x' * 2048}",
]


@pytest.mark.parametrize("url", REFUSED_URLS)
def test_a_url_that_may_not_be_sent_to_is_refused_where_it_stands(listener: Listener, url: str) -> None:
    before = rows(listener)
    assert expect.pointers(listener.api.post(ENDPOINTS, BODY | {"url": url})) == ["/url"]
    assert expect.pointers(listener.api.patch(listener.path, {"url": url})) == ["/url"]
    assert rows(listener) == before


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "http://localhost:9/", "http://[::1]:9/"])
def test_http_to_this_machine_is_for_development_alone(client: Api, settings: Any, url: str) -> None:
    expect.body(client.post(ENDPOINTS, BODY | {"url": url}), 201)
    settings.WEBHOOK_LOOPBACK_ALLOWED = False
    assert expect.faults(client.post(ENDPOINTS, BODY | {"url": url})) == {"/url": "invalid"}
    assert len(expect.body(client.get(ENDPOINTS))["data"]) == 1


@pytest.mark.parametrize(
    ("fields", "pointers"),
    [
        ({"url": 1}, ["/url"]),
        ({"url": None}, ["/url"]),
        ({"url": [URL]}, ["/url"]),
        ({"events": "hold.*"}, ["/events"]),
        ({"events": None}, ["/events"]),
        ({"events": []}, ["/events"]),
        ({"events": ["hold.*"] * 41}, ["/events"]),
        ({"events": ["hold.*", 1, None, True, ["ping"]]}, ["/events/1", "/events/2", "/events/3", "/events/4"]),
        ({"events": ["*", "hold", "hold.", "hold.*.*", "hold.forgotten"]}, [f"/events/{place}" for place in range(5)]),
        ({"events": ["", "hold.*", "x" * 41]}, ["/events/0", "/events/2"]),
        ({"description": 1}, ["/description"]),
        ({"description": "x" * 201}, ["/description"]),
        ({"description": "a\0b"}, ["/description"]),
        ({"secret": "whsec_mine"}, ["/secret"]),
        ({"status": "disabled"}, ["/status"]),
        ({"id": NOBODY, "nonsense": 1}, ["/id", "/nonsense"]),
        ({"url": "https://10.0.0.1/", "events": ["hold.*", "*"]}, ["/url", "/events/1"]),
    ],
)
def test_what_can_not_be_is_refused_where_it_stands_and_changes_nothing(
    listener: Listener, fields: dict[str, Any], pointers: list[str]
) -> None:
    before = rows(listener)
    assert expect.pointers(listener.api.post(ENDPOINTS, BODY | fields)) == pointers
    assert expect.pointers(listener.api.patch(listener.path, fields)) == pointers
    assert rows(listener) == before


def test_url_and_events_are_needed(client: Api) -> None:
    assert expect.faults(client.post(ENDPOINTS, {})) == {"/url": "required", "/events": "required"}
    expect.problem(client.post(ENDPOINTS), 400, "malformed")
    assert expect.body(client.get(ENDPOINTS))["data"] == []


def test_a_tenant_has_so_many_and_no_more(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "ENDPOINTS_MAX", 2)
    expect.body(listener.api.post(ENDPOINTS, BODY), 201)
    expect.problem(listener.api.post(ENDPOINTS, BODY), 409, "too-many-endpoints", ["limit"])
    assert len(rows(listener)) == 2
    listener.api.delete(listener.path)
    expect.body(listener.api.post(ENDPOINTS, BODY), 201)


# --- change, enable, disable, delete


def test_a_change_changes_what_it_names(listener: Listener) -> None:
    before = listener.shown()
    for change in ({"events": ["order.*"]}, {"description": "Zoë 🎟️"}, {"url": URL}, {}):
        before |= change
        assert expect.body(listener.api.patch(listener.path, change)) == before
        assert listener.shown() == before
    assert expect.body(listener.api.patch(listener.path, {"description": None}))["description"] == ""


def test_after_a_change_other_messages_arrive_elsewhere(listener: Listener) -> None:
    elsewhere = listener.hooks.place()
    listener.api.patch(listener.path, {"url": elsewhere.url, "events": ["hold.released"]})
    _, wanted = listener.say(), listener.say(message_type="hold.released")
    listener.relay()
    assert listener.carry() == 1
    assert (elsewhere.ids, listener.place.received) == ([str(wanted[0])], [])


def test_a_disabled_endpoint_is_sent_nothing_until_it_is_enabled(listener: Listener) -> None:
    (delivery,) = listener.tell()
    for _ in range(2):
        disabled = expect.body(listener.call("disable"))
        assert (disabled["status"], disabled["disabled_reason"]) == ("disabled", "organizer")
        assert disabled == listener.shown()
    listener.say()
    listener.relay()
    assert listener.carry() == 0
    for _ in range(2):
        enabled = expect.body(listener.call("enable"))
        assert (enabled["status"], enabled["disabled_reason"]) == ("enabled", None)
        assert enabled == listener.shown()
    assert (listener.carry(), listener.carry()) == (1, 0)
    assert listener.place.ids == [str(delivery.message_id)]


def test_a_deleted_endpoint_is_gone_and_so_are_its_deliveries(listener: Listener) -> None:
    (delivery,) = listener.tell()
    other = listener.listen()
    gone = listener.api.delete(listener.path)
    assert (gone.status_code, gone.content) == (204, b"")
    assert [row["id"] for row in expect.body(listener.api.get(ENDPOINTS))["data"]] == [str(other.id)]
    assert listener.listed() == listener.listed(f"endpoint={listener.id}") == []
    for answer in (
        listener.api.get(listener.path),
        listener.api.delete(listener.path),
        listener.api.patch(listener.path, {}),
        listener.api.get(f"{DELIVERIES}/{delivery.id}"),
        listener.api.post(f"{DELIVERIES}/{delivery.id}/retry"),
        *(listener.call(verb, BODIES.get(verb)) for verb in VERBS),
    ):
        expect.problem(answer, 404, "not-found")
    assert listener.carry() == 0
    assert listener.place.received == []


@pytest.mark.parametrize("verb", ["enable", "disable", "ping"])
def test_a_call_that_takes_no_members_refuses_them(listener: Listener, verb: str) -> None:
    before = rows(listener)
    assert expect.faults(listener.call(verb, {"reason": "x"})) == {"/reason": "unknown"}
    assert (rows(listener), listener.deliveries()) == (before, [])


# --- secrets


def verified(secret: str, hook: Any) -> bool:
    """By the library that receivers use."""
    try:
        Webhook(secret).verify(hook.body, hook.headers)
    except WebhookVerificationError:
        return False
    return True


def test_a_hold_is_told_as_the_feed_has_it_signed_by_the_secret_that_was_shown(
    make_sale: Callable[..., Sale], make_listener: Callable[..., Listener]
) -> None:
    sale = make_sale(["🎟️ 1"])
    listener = make_listener(sale.tenant)
    hold = sale.hold(quantity=1, customer="Zoë 🎭")
    listener.relay()
    assert listener.carry() == 1
    (hook,) = listener.place.received
    assert hook.message["data"] == hold
    assert [hook.message] == feed.read(sale.api, f"subject={hold['id']}")
    assert verified(listener.secret, hook)
    assert not verified(make_listener().secret, hook)


def test_a_new_secret_is_shown_once_and_both_sign_until_the_overlap_ends(
    listener: Listener, shift_clock: Callable[[float], None]
) -> None:
    before = listener.shown()
    rotated = expect.body(listener.call("rotate-secret", {"overlap_seconds": 3600}))
    assert expect.apart_from(rotated, "secret") == before == listener.shown()
    assert rotated["secret"] != listener.secret
    for shift, known in ((3500, [True, True]), (101, [True, False])):
        shift_clock(shift)
        ping = expect.body(listener.call("ping"), 202)
        listener.carry()
        hook = listener.place.received[-1]
        assert listener.delivery_shown(ping["delivery"])["status"] == "delivered"
        signatures = hook.headers["webhook-signature"].split(" ")
        assert [signature(secret, hook) in signatures for secret in (rotated["secret"], listener.secret)] == known
        assert len(signatures) == sum(known)


def signature(secret: str, hook: Any) -> str:
    """What the library makes of it at the time that it names, which is the database's."""
    at = datetime.fromtimestamp(int(hook.headers["webhook-timestamp"]), UTC)
    return str(Webhook(secret).sign(hook.id, at, hook.body.decode()))


@pytest.mark.parametrize("body", [NOTHING, {}, {"overlap_seconds": None}, {"overlap_seconds": 86_400}])
def test_an_overlap_is_a_day_unless_another_is_asked(
    listener: Listener, shift_clock: Callable[[float], None], body: Any
) -> None:
    expect.body(listener.api.post(f"{listener.path}/rotate-secret", body))
    for shift, signatures in ((86_390, 2), (11, 1)):
        shift_clock(shift)
        listener.call("ping")
        listener.carry()
        assert len(listener.place.received[-1].headers["webhook-signature"].split(" ")) == signatures


def test_a_rotation_is_the_way_out_where_the_key_that_locked_the_secret_is_gone(listener: Listener) -> None:
    with tenant_transaction(listener.tenant):
        Endpoint.objects.update(secrets=b"locked with another key")
    secret = expect.body(listener.call("rotate-secret"))["secret"]
    listener.call("ping")
    assert listener.carry() == 1
    assert verified(secret, listener.place.received[0])


@pytest.mark.parametrize("seconds", [-1, 604_801, "0", 0.0, True, [], 2**70])
def test_an_overlap_out_of_range_rotates_nothing(listener: Listener, seconds: Any) -> None:
    before = rows(listener)
    assert expect.pointers(listener.call("rotate-secret", {"overlap_seconds": seconds})) == ["/overlap_seconds"]
    assert expect.pointers(listener.call("rotate-secret", {"overlap": 1})) == ["/overlap"]
    assert rows(listener) == before


def test_a_secret_is_null_when_the_answer_is_given_again(client: Api) -> None:
    key = till.key()
    first = client.post(ENDPOINTS, BODY, headers=key)
    made = expect.body(first, 201)
    again = client.post(ENDPOINTS, BODY, headers=key)
    assert expect.body(again, 201) == made | {"secret": None}
    assert again.headers["idempotency-replayed"] == "true"
    assert len(expect.body(client.get(ENDPOINTS))["data"]) == 1
    rotation, path = till.key(), f"{ENDPOINTS}/{made['id']}/rotate-secret"
    rotated = expect.body(client.post(path, {}, headers=rotation))
    assert expect.body(client.post(path, {}, headers=rotation)) == rotated | {"secret": None}
    assert rotated["secret"] not in (None, made["secret"])


def test_a_secret_is_nowhere_but_in_the_answer_that_shows_it(
    listener: Listener, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level("DEBUG"):
        made = expect.body(listener.api.post(ENDPOINTS, BODY, headers=till.key()), 201)
        path = f"{ENDPOINTS}/{made['id']}"
        rotated = expect.body(listener.api.post(f"{path}/rotate-secret", {}, headers=till.key()))
        for verb in ("ping", "disable", "enable"):
            assert listener.api.post(f"{path}/{verb}", headers=till.key()).status_code < 300
    told = feed.read(listener.api)
    assert [message["type"] for message in told] == ["ping"]
    everything = "".join(
        [
            orjson.dumps(everything_of(listener.tenant)).decode(),
            orjson.dumps(told).decode(),
            listener.api.get(ENDPOINTS).content.decode(),
            caplog.text,
            *capfd.readouterr(),
        ]
    )
    assert made["id"] in everything
    for secret in (made["secret"], rotated["secret"]):
        bare = secret.removeprefix("whsec_")
        assert bare not in everything
        assert bare.encode().hex() not in everything


# --- ping


def test_a_ping_tells_the_endpoint_of_itself_and_nobody_else(listener: Listener) -> None:
    other = listener.listen(["ping", "endpoint.*"])
    shown = listener.shown()
    ping = expect.body(listener.call("ping"), 202)
    assert set(ping) == {"delivery"}
    listener.relay()
    assert (listener.carry(), listener.carry(endpoint_id=other.id)) == (1, 0)
    (hook,) = listener.place.received
    assert hook.message["type"] == "ping"
    assert hook.message["subject"] == {"type": "endpoint", "id": shown["id"]}
    assert hook.message["data"] == shown
    delivery = listener.delivery_shown(ping["delivery"])
    assert (delivery["status"], delivery["message"], delivery["type"]) == ("delivered", hook.id, "ping")


def test_a_disabled_endpoint_can_not_be_pinged(listener: Listener) -> None:
    listener.call("disable")
    expect.problem(listener.call("ping"), 409, "endpoint-disabled")
    assert listener.deliveries() == []


# --- idempotency, tenants, scopes


@pytest.mark.parametrize("verb", sorted(set(VERBS) - {"rotate-secret"}))
def test_under_one_key_a_call_takes_effect_once(listener: Listener, verb: str) -> None:
    key, body = till.key(), BODIES.get(verb)
    first = listener.call(verb, body, headers=key)
    before = everything_of(listener.tenant)
    replays(first, listener.call(verb, body, headers=key))
    assert everything_of(listener.tenant) == before
    expect.problem(
        listener.call("enable" if verb == "disable" else "disable", headers=key), 422, "idempotency-key-reused"
    )
    assert everything_of(listener.tenant) == before


def test_a_refused_body_leaves_its_key_free(client: Api) -> None:
    key = till.key()
    assert expect.pointers(client.post(ENDPOINTS, BODY | {"url": "https://10.0.0.1/"}, headers=key)) == ["/url"]
    assert expect.body(client.post(ENDPOINTS, BODY, headers=key), 201)["secret"]


@pytest.mark.parametrize("whose", ["another tenant's", "nobody's"])
def test_an_endpoint_that_is_not_ones_own_is_not_there(
    listener: Listener, make_listener: Callable[..., Listener], whose: str
) -> None:
    theirs = make_listener()
    before = rows(theirs)
    path = theirs.path if whose == "another tenant's" else f"{ENDPOINTS}/{new_id()}"
    for answer in (
        listener.api.get(path),
        listener.api.patch(path, {"events": ["ping"]}),
        listener.api.delete(path),
        *(listener.api.post(f"{path}/{verb}", BODIES.get(verb, {})) for verb in VERBS),
    ):
        expect.problem(answer, 404, "not-found")
    assert (rows(theirs), theirs.deliveries()) == (before, [])
    assert [UUID(row["id"]) for row in expect.body(listener.api.get(ENDPOINTS))["data"]] == [listener.id]


def test_a_key_that_reads_can_not_write(
    make_tenant: Any, make_listener: Callable[..., Listener], make_key: Any, api: Callable[..., Api]
) -> None:
    tenant = make_tenant()
    listener = make_listener(tenant)
    before = rows(listener)
    reader, writer = (api(make_key(tenant, [scope])) for scope in ("read", "webhooks"))
    for path in (ENDPOINTS, listener.path):
        assert expect.body(reader.get(path)) == expect.body(writer.get(path))
    for answer in (
        reader.post(ENDPOINTS, BODY),
        reader.patch(listener.path, {"events": ["ping"]}),
        reader.delete(listener.path),
        *(reader.post(f"{listener.path}/{verb}", BODIES.get(verb, {})) for verb in VERBS),
    ):
        expect.problem(answer, 403, "forbidden")
    assert rows(listener) == before
    assert writer.delete(listener.path).status_code == 204


def test_what_an_endpoint_did_lately_is_shown(listener: Listener) -> None:
    listener.call("ping")
    listener.carry()
    well = listener.shown()
    expect.moment(well["last_success_at"])
    assert [well[name] for name in ("failing_since", "disabled_at_latest", "resting_until")] == [None] * 3
    listener.place.answers(500)
    for _ in range(5):
        listener.call("ping")
        listener.carry()
    failing = listener.shown()
    since, latest = expect.moment(failing["failing_since"]), expect.moment(failing["disabled_at_latest"])
    assert (latest - since).days == 5
    assert expect.moment(failing["resting_until"]) > since
    assert failing["last_success_at"] == well["last_success_at"]
    listener.call("enable")
    assert listener.shown() == well


def test_an_endpoint_that_says_it_is_gone_is_disabled_and_others_are_told(listener: Listener) -> None:
    other = listener.listen(["endpoint.*"])
    listener.place.answers(410)
    ping = expect.body(listener.call("ping"), 202)
    listener.carry()
    shown = listener.shown()
    assert (shown["status"], shown["disabled_reason"], shown["disabled_at_latest"]) == ("disabled", "gone", None)
    assert listener.delivery_shown(ping["delivery"])["status"] == "dead"
    listener.relay()
    assert listener.carry(endpoint_id=other.id) == 1
    (told,) = listener.places[other.id].received
    assert (told.message["type"], told.message["data"]) == ("endpoint.disabled", shown)
