"""`/v1/events`: create, read, list, change."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.contract import expect
from tests.contract.sale import EVENT, Sale
from tests.support.client import Api

FIELDS = {
    "id",
    "slug",
    "name",
    "kind",
    "status",
    "paused_reason",
    "currency",
    "timezone",
    "starts_at",
    "ends_at",
    "sales_open_at",
    "sales_close_at",
    "hold_ttl_seconds",
    "hold_extensions_max",
    "units_per_hold_max",
    "units_per_customer_max",
    "created_at",
}
TIMES = ("starts_at", "ends_at", "sales_open_at", "sales_close_at")


def create(client: Api, **fields: Any) -> Any:
    return client.post("/v1/events", EVENT | fields)


def test_a_new_event_is_a_draft_with_the_documented_defaults(client: Api) -> None:
    event = expect.body(create(client), 201)
    assert set(event) == FIELDS
    expect.identifier(event["id"])
    expect.moment(event["created_at"])
    assert expect.apart_from(event, "id", "created_at") == EVENT | {
        "status": "draft",
        "paused_reason": None,
        "starts_at": None,
        "ends_at": None,
        "sales_open_at": None,
        "sales_close_at": None,
        "hold_ttl_seconds": 600,
        "hold_extensions_max": 2,
        "units_per_hold_max": 10,
        "units_per_customer_max": None,
    }


def test_every_field_of_a_new_event_is_kept_as_it_was_given(client: Api) -> None:
    fields = {
        "kind": "slots",
        "currency": "JPY",
        "timezone": "Asia/Tokyo",
        "starts_at": "2027-03-01T10:00:00Z",
        "ends_at": "2027-03-01T12:00:00Z",
        "sales_open_at": "2027-01-01T00:00:00Z",
        "sales_close_at": "2027-02-28T00:00:00Z",
        "hold_ttl_seconds": 900,
        "hold_extensions_max": 5,
        "units_per_hold_max": 4,
        "units_per_customer_max": 8,
    }
    event = expect.body(create(client, **fields), 201)
    assert {name: event[name] for name in fields} == fields
    assert expect.body(client.get(f"/v1/events/{event['id']}")) == event


def test_an_event_reads_the_same_from_its_post_its_get_and_its_list(client: Api) -> None:
    event = expect.body(create(client), 201)
    assert expect.body(client.get(f"/v1/events/{event['id']}")) == event
    assert expect.body(client.get("/v1/events")) == {"data": [event], "next": None}


@pytest.mark.parametrize("kind", ["seats", "slots", "items"])
def test_an_event_is_of_one_of_three_kinds(client: Api, kind: str) -> None:
    assert expect.body(create(client, kind=kind), 201)["kind"] == kind


@pytest.mark.parametrize("name", sorted(EVENT))
def test_what_an_event_needs_is_asked_for_by_name(client: Api, name: str) -> None:
    body = {key: value for key, value in EVENT.items() if key != name}
    assert expect.pointers(client.post("/v1/events", body)) == [f"/{name}"]
    assert expect.body(client.get("/v1/events"))["data"] == []


def test_every_fault_of_a_body_is_named_at_once(client: Api) -> None:
    assert set(expect.pointers(client.post("/v1/events", {}))) == {f"/{name}" for name in EVENT}


BOUNDS = {
    "hold_ttl_seconds": (5, 7200),
    "hold_extensions_max": (0, 10),
    "units_per_hold_max": (1, 100),
    "units_per_customer_max": (1, 10_000),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, ends in BOUNDS.items() for value in ends])
def test_the_ends_of_a_range_are_inside(client: Api, name: str, value: int) -> None:
    event = expect.body(create(client, **{name: value}), 201)
    assert event[name] == value
    other = value + 1 if value == BOUNDS[name][0] else value - 1
    path = f"/v1/events/{event['id']}"
    assert expect.body(client.patch(path, {name: other}))[name] == other
    assert expect.body(client.patch(path, {name: value}))[name] == value


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, (low, high) in BOUNDS.items() for value in (low - 1, high + 1, -1)]
)
def test_one_past_a_range_is_refused(client: Api, name: str, value: int) -> None:
    assert expect.pointers(create(client, **{name: value})) == [f"/{name}"]
    event = expect.body(create(client), 201)
    path = f"/v1/events/{event['id']}"
    assert expect.pointers(client.patch(path, {name: value})) == [f"/{name}"]
    assert expect.body(client.get(path)) == event


@pytest.mark.parametrize("name", sorted(BOUNDS))
@pytest.mark.parametrize("text", ['"9"', "9.0", "9.5", "true", "[]", "{}", "1e1", "9223372036854775808", "1e30"])
def test_only_an_integer_is_an_integer(client: Api, name: str, text: str) -> None:
    sent = f'{{"slug":"s","name":"n","kind":"seats","currency":"EUR","timezone":"UTC","{name}":{text}}}'
    assert expect.pointers(client.post("/v1/events", sent.encode())) == [f"/{name}"]
    assert expect.body(client.get("/v1/events"))["data"] == []


@pytest.mark.parametrize("name", ["hold_ttl_seconds", "hold_extensions_max", "units_per_hold_max"])
def test_a_figure_with_a_default_is_never_null(client: Api, name: str) -> None:
    assert expect.pointers(create(client, **{name: None})) == [f"/{name}"]


@pytest.mark.parametrize("name", [*TIMES, "units_per_customer_max"])
def test_an_optional_field_may_be_null(client: Api, name: str) -> None:
    assert expect.body(create(client, **{name: None}), 201)[name] is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("slug", ""),
        ("slug", "two words"),
        ("slug", "a/b"),
        ("slug", "a.b"),
        ("slug", "ä"),
        ("slug", "a\0"),
        ("slug", "a" * 101),
        ("slug", None),
        ("slug", ["a"]),
        ("name", ""),
        ("name", "   "),
        ("name", "x" * 201),
        ("name", "nul\0"),
        ("name", 5),
        ("name", None),
        ("kind", "seat"),
        ("kind", ["seats"]),
        ("kind", None),
        ("currency", "eur"),
        ("currency", "EURO"),
        ("currency", "XAU"),
        ("currency", {}),
        ("timezone", "Berlin"),
        ("timezone", "+02:00"),
        ("timezone", 2),
        ("timezone", None),
    ],
)
def test_a_text_that_can_not_be_is_refused_at_its_place(client: Api, name: str, value: Any) -> None:
    assert expect.pointers(create(client, **{name: value})) == [f"/{name}"]
    assert expect.body(client.get("/v1/events"))["data"] == []


@pytest.mark.parametrize("value", [5, 1.5, True])
def test_a_slug_is_text_and_no_number(client: Api, value: Any) -> None:
    assert expect.pointers(create(client, slug=value)) == ["/slug"]


@pytest.mark.parametrize("name", ["slug", "name"])
def test_a_text_may_be_as_long_as_its_limit(client: Api, name: str) -> None:
    text = "a" * {"slug": 100, "name": 200}[name]
    assert expect.body(create(client, **{name: text}), 201)[name] == text


@pytest.mark.parametrize("name", ["status", "paused_reason", "id", "tenant", "tenant_id", "created_at", "Slug"])
def test_a_member_that_a_client_can_not_set_is_refused_and_not_passed_over(client: Api, name: str) -> None:
    assert expect.faults(create(client, **{name: "on_sale"})) == {f"/{name}": "unknown"}
    event = expect.body(create(client), 201)
    path = f"/v1/events/{event['id']}"
    assert expect.faults(client.patch(path, {name: "on_sale"})) == {f"/{name}": "unknown"}
    assert expect.body(client.get(path)) == event


def test_a_pointer_escapes_what_json_pointers_escape(client: Api) -> None:
    assert expect.pointers(create(client, **{"a/b~c": 1})) == ["/a~1b~0c"]


def test_a_slug_is_unique_in_its_tenant(client: Api) -> None:
    expect.body(create(client), 201)
    assert expect.faults(create(client, name="Another")) == {"/slug": "taken"}
    assert len(expect.body(client.get("/v1/events"))["data"]) == 1


def test_a_slug_is_free_again_for_every_other_tenant(make_tenant: Callable[..., Any], api: Callable[..., Api]) -> None:
    first, second = api(make_tenant()), api(make_tenant())
    mine, theirs = expect.body(create(first), 201), expect.body(create(second), 201)
    assert expect.apart_from(mine, "id", "created_at") == expect.apart_from(theirs, "id", "created_at")
    assert mine["id"] != theirs["id"]
    assert expect.body(second.get("/v1/events"))["data"] == [theirs]


def test_a_change_can_not_take_a_slug_that_is_taken(client: Api) -> None:
    expect.body(create(client), 201)
    other = expect.body(create(client, slug="other"), 201)
    path = f"/v1/events/{other['id']}"
    assert expect.faults(client.patch(path, {"slug": EVENT["slug"], "name": "Renamed"})) == {"/slug": "taken"}
    assert expect.body(client.get(path)) == other


def test_a_change_to_the_slug_it_has_is_no_fault(client: Api) -> None:
    event = expect.body(create(client), 201)
    assert expect.body(client.patch(f"/v1/events/{event['id']}", {"slug": event["slug"]})) == event


def test_ten_creations_of_one_slug_at_once_make_one_event(
    tenant: Any, client: Api, api: Callable[..., Api], run_together: Callable[..., list[Any]]
) -> None:
    answers = run_together([lambda: create(api(tenant))] * 10)
    made = [answer for answer in answers if answer.status_code == 201]
    assert len(made) == 1, [expect.story(answer) for answer in answers]
    for answer in answers:
        if answer is not made[0]:
            assert expect.faults(answer) == {"/slug": "taken"}
    assert expect.body(client.get("/v1/events"))["data"] == [made[0].json()]


CHANGES = {
    "slug": "renamed",
    "name": "Renamed",
    "kind": "items",
    "currency": "KWD",
    "timezone": "Asia/Kuwait",
    "starts_at": "2027-03-01T10:00:00Z",
    "ends_at": "2027-03-01T12:00:00Z",
    "sales_open_at": "2027-01-01T00:00:00Z",
    "sales_close_at": "2027-02-28T00:00:00Z",
    "hold_ttl_seconds": 60,
    "hold_extensions_max": 0,
    "units_per_hold_max": 3,
    "units_per_customer_max": 6,
}


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_a_change_of_one_field_changes_that_alone(client: Api, name: str) -> None:
    event = expect.body(create(client), 201)
    path = f"/v1/events/{event['id']}"
    changed = expect.body(client.patch(path, {name: CHANGES[name]}))
    assert changed == event | {name: CHANGES[name]}
    assert expect.body(client.get(path)) == changed


def test_all_fields_of_a_draft_may_change_at_once(client: Api) -> None:
    event = expect.body(create(client), 201)
    assert expect.body(client.patch(f"/v1/events/{event['id']}", CHANGES)) == event | CHANGES


def test_an_empty_change_changes_nothing(client: Api) -> None:
    event = expect.body(create(client), 201)
    assert expect.body(client.patch(f"/v1/events/{event['id']}", {})) == event


def test_null_takes_a_field_away_and_absence_leaves_it(client: Api) -> None:
    given = {name: CHANGES[name] for name in (*TIMES, "units_per_customer_max")}
    event = expect.body(create(client, **given), 201)
    path = f"/v1/events/{event['id']}"
    for name in given:
        event |= {name: None}
        assert expect.body(client.patch(path, {name: None})) == event


@pytest.mark.parametrize("name", [*EVENT, "hold_ttl_seconds", "hold_extensions_max", "units_per_hold_max"])
def test_null_is_refused_where_there_must_be_something(client: Api, name: str) -> None:
    event = expect.body(create(client), 201)
    path = f"/v1/events/{event['id']}"
    assert expect.pointers(client.patch(path, {name: None})) == [f"/{name}"]
    assert expect.body(client.get(path)) == event


@pytest.mark.parametrize("status", ["on_sale", "paused", "closed"])
@pytest.mark.parametrize("name", ["kind", "currency"])
def test_kind_and_currency_change_only_in_a_draft(make_sale: Callable[..., Sale], status: str, name: str) -> None:
    sale = make_sale(0, status=status)
    before = expect.body(sale.api.get(sale.path))
    answer = sale.api.patch(sale.path, {name: CHANGES[name], "name": "Renamed"})
    assert expect.pointers(answer) == [f"/{name}"]
    assert expect.body(sale.api.get(sale.path)) == before
    # what it is already is no change
    assert expect.body(sale.api.patch(sale.path, {name: before[name]})) == before


@pytest.mark.parametrize("status", ["on_sale", "paused", "closed"])
def test_the_other_fields_change_in_any_status(make_sale: Callable[..., Sale], status: str) -> None:
    sale = make_sale(0, status=status)
    before = expect.body(sale.api.get(sale.path))
    fields = expect.apart_from(CHANGES, "kind", "currency")
    assert expect.body(sale.api.patch(sale.path, fields)) == before | fields


def test_the_currency_of_priced_units_does_not_change_under_them(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(1, status="draft", price_amount=2500)
    assert expect.pointers(sale.api.patch(sale.path, {"currency": "JPY"})) == ["/currency"]
    assert expect.body(sale.api.get(sale.path))["currency"] == "EUR"


@pytest.mark.parametrize(("first", "second"), [("starts_at", "ends_at"), ("sales_open_at", "sales_close_at")])
def test_an_end_must_come_after_its_beginning(client: Api, first: str, second: str) -> None:
    noon, one = "2027-03-01T12:00:00Z", "2027-03-01T13:00:00Z"
    assert expect.pointers(create(client, **{first: noon, second: noon})) == [f"/{second}"]
    assert expect.pointers(create(client, **{first: one, second: noon})) == [f"/{second}"]
    event = expect.body(create(client, **{first: noon, second: one}), 201)
    path = f"/v1/events/{event['id']}"
    assert expect.pointers(client.patch(path, {first: one})) == [f"/{second}"]
    assert expect.pointers(client.patch(path, {second: "2027-03-01T11:00:00Z"})) == [f"/{second}"]
    assert expect.body(client.get(path)) == event


@pytest.mark.parametrize("call", ["get", "patch"])
def test_an_unknown_event_and_another_tenants_are_the_same_404(sale: Sale, client: Api, call: str) -> None:
    arguments = [{"name": "Mine now"}] if call == "patch" else []
    theirs = getattr(client, call)(sale.path, *arguments)
    unknown = getattr(client, call)(f"/v1/events/{uuid4()}", *arguments)
    assert expect.apart_from(expect.problem(theirs, 404, "not-found"), "request_id") == expect.apart_from(
        expect.problem(unknown, 404, "not-found"), "request_id"
    )
    assert expect.body(sale.api.get(sale.path))["name"] == sale.event.name


@pytest.mark.parametrize(
    "name", ["1", "9223372036854775808", "-1", "null", "%00", "0" * 36, "../events", "é", "x" * 4000]
)
def test_what_is_no_id_in_a_path_is_a_404_and_no_fault_of_ours(client: Api, name: str) -> None:
    expect.problem(client.get(f"/v1/events/{name}"), 404, "not-found")
    expect.problem(client.patch(f"/v1/events/{name}", {}), 404, "not-found")
    expect.problem(client.post(f"/v1/events/{name}/publish"), 404, "not-found")
