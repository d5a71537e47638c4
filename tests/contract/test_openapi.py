"""The OpenAPI document: every call is in it, and it shows what the calls show."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from reservations.models import Order
from tenants.scope import tenant_transaction
from tests.contract import expect, test_events, test_holds, test_units
from tests.contract.sale import EVENT, Sale
from tests.reservations.state import sell
from tests.support import feed
from tests.support.client import Api
from tests.support.endpoints import endpoints, tenant_endpoints
from tests.support.rows import sample
from webhooks.models import Attempt, Delivery

METHODS = {"get", "put", "post", "patch", "delete"}
# they are about the API and no part of it
OUTSIDE = {"/v1/openapi.json", "/v1/docs"}
# its signature is the proof, not a key
SIGNED = ("POST", "/v1/payments/callbacks/{provider}/{account_id}")


@pytest.fixture
def document(database_name: str) -> Any:
    return expect.body(Client().get("/v1/openapi.json"))


def calls(document: Any) -> set[tuple[str, str]]:
    return {(method.upper(), path) for path, item in document["paths"].items() for method in item if method in METHODS}


def test_the_document_has_every_call_and_no_other(document: Any) -> None:
    known = {(endpoint.method, endpoint.path) for endpoint in endpoints() if endpoint.path not in OUTSIDE}
    assert calls(document) == known
    assert {(endpoint.method, endpoint.path) for endpoint in tenant_endpoints()} == known - {SIGNED}


def test_every_call_has_a_name_of_its_own_and_asks_for_a_key_but_for_callbacks(document: Any) -> None:
    operations = {call: document["paths"][call[1]][call[0].lower()] for call in calls(document)}
    names = [operation["operationId"] for operation in operations.values()]
    assert len(set(names)) == len(names)
    assert "security" not in document
    assert not operations.pop(SIGNED).get("security")
    assert all(operation["security"] == [{"apiKey": []}] for operation in operations.values())
    assert document["components"]["securitySchemes"]["apiKey"] | {"bearerFormat": ""} == {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "",
    }


def test_every_call_tells_its_refusals_as_problem_documents(document: Any) -> None:
    for method, path in calls(document):
        responses = document["paths"][path][method.lower()]["responses"]
        refusals = {status: answer for status, answer in responses.items() if int(status) >= 400}
        some = {"401", "404", "413"} if (method, path) == SIGNED else {"400", "401", "403", "404", "409", "422"}
        assert some <= set(refusals)
        assert all(set(answer["content"]) == {"application/problem+json"} for answer in refusals.values()), path


def test_the_document_and_its_page_need_no_key_and_are_read_only(document: Any) -> None:
    page = Client().get("/v1/docs")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    for path in OUTSIDE:
        answer = Client().post(path, b"{}", content_type="application/json")
        expect.problem(answer, 405, "method-not-allowed")
        assert "GET" in answer.headers["allow"]


def resolved(document: Any, schema: Any) -> Any:
    while "$ref" in schema or "allOf" in schema:
        name = (schema.get("$ref") or schema["allOf"][0]["$ref"]).rpartition("/")[2]
        schema = document["components"]["schemas"][name]
    return schema


def answer_of(document: Any, operation_id: str) -> Any:
    """The schema of the success of a call."""
    for item in document["paths"].values():
        for operation in item.values():
            if operation["operationId"] == operation_id:
                success = next(answer for status, answer in operation["responses"].items() if status < "300")
                return resolved(document, success["content"]["application/json"]["schema"])
    raise AssertionError(f"no {operation_id}")


def same_members(document: Any, schema: Any, shown: Any, place: str = "") -> None:
    """What is shown has exactly the members of the schema, all of them required, at every depth."""
    schema = resolved(document, schema)
    if isinstance(shown, list):
        assert schema["type"] == "array", place
        for row in shown:
            same_members(document, schema["items"], row, f"{place}[]")
    if not isinstance(shown, dict) or "properties" not in schema:
        return
    assert set(shown) == set(schema["properties"]) == set(schema["required"]), place
    for name, value in shown.items():
        same_members(document, schema["properties"][name], value, f"{place}.{name}")


def ticket_answers(sale: Sale) -> dict[str, Any]:
    """Of a sold unit."""
    hold = sale.hold(quantity=1)
    sell(sale.tenant.id, hold["id"])
    with tenant_transaction(sale.tenant.id):
        order = Order.objects.get(hold_id=hold["id"])
    tickets = sale.api.get(f"/v1/orders/{order.id}/tickets")
    token = expect.body(tickets)["data"][0]["token"]
    return {"list_tickets": tickets, "redeem_ticket": sale.api.post("/v1/tickets/redeem", {"token": token})}


def webhook_answers(api: Api) -> dict[str, Any]:
    """Of an endpoint, whose delivery was tried once."""
    made = api.post("/v1/webhooks/endpoints", {"url": "http://127.0.0.1:9/", "events": ["hold.*"]})
    path = f"/v1/webhooks/endpoints/{expect.body(made, 201)['id']}"
    ping = api.post(f"{path}/ping")
    delivery = Delivery.everywhere.get(id=expect.body(ping, 202)["delivery"])
    sample(Attempt, delivery.tenant_id, delivery=delivery)
    replay = api.post(f"{path}/replay", {"since": "2020-01-01T00:00:00Z"})
    return {
        "create_endpoint": made,
        "list_endpoints": api.get("/v1/webhooks/endpoints"),
        "get_endpoint": api.get(path),
        "change_endpoint": api.patch(path, {"description": "The shop"}),
        "ping_endpoint": ping,
        "list_deliveries": api.get("/v1/webhooks/deliveries"),
        "get_delivery": api.get(f"/v1/webhooks/deliveries/{delivery.id}"),
        "retry_delivery": api.post(f"/v1/webhooks/deliveries/{delivery.id}/retry"),
        "begin_replay": replay,
        "get_replay": api.get(f"/v1/webhooks/replays/{expect.body(replay, 202)['replay']}"),
        "rotate_secret": api.post(f"{path}/rotate-secret"),
        "disable_endpoint": api.post(f"{path}/disable"),
        "enable_endpoint": api.post(f"{path}/enable"),
        "get_catalogue": api.get("/v1/webhooks/catalogue"),
    }


def test_each_answer_has_the_members_that_the_document_gives_it(document: Any, make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(3, section="Stalls")
    hold = sale.hold(quantity=1)
    (message,) = feed.read(sale.api, f"subject={hold['id']}")
    get, post = sale.api.get, sale.api.post
    shown = {
        "list_events": get("/v1/events"),
        "create_event": post("/v1/events", EVENT),
        "get_event": get(sale.path),
        "change_event": sale.api.patch(sale.path, {"name": "Renamed"}),
        "pause_event": post(f"{sale.path}/pause"),
        "resume_event": post(f"{sale.path}/resume"),
        "get_availability": get(f"{sale.path}/availability"),
        "list_units": get(f"{sale.path}/units"),
        "create_units": post(f"{sale.path}/units", {"units": [{"label": "new"}]}),
        "block_units": post(f"{sale.path}/units/block", {"labels": ["new"]}),
        "unblock_units": post(f"{sale.path}/units/unblock", {"labels": ["new"]}),
        "create_hold": sale.ask(quantity=1),
        "list_holds": get("/v1/holds"),
        "get_hold": get(f"/v1/holds/{hold['id']}"),
        "extend_hold": post(f"/v1/holds/{hold['id']}/extend"),
        "release_hold": post(f"/v1/holds/{hold['id']}/release", {"reason": "too late"}),
        "list_messages": get("/v1/webhooks/messages"),
        "get_message": get(f"/v1/webhooks/messages/{message['id']}"),
        **ticket_answers(sale),
        **webhook_answers(sale.api),
        "list_payment_accounts": get("/v1/payment-accounts"),
        "close_event": post(f"{sale.path}/close"),
    }
    for operation_id, answer in shown.items():
        assert answer.status_code < 300, (operation_id, expect.story(answer))
        same_members(document, answer_of(document, operation_id), answer.json(), operation_id)
    for operation_id, fields in (
        ("get_event", test_events.FIELDS),
        ("get_hold", test_holds.FIELDS),
    ):
        assert set(answer_of(document, operation_id)["properties"]) == fields
    unit = resolved(document, answer_of(document, "list_units")["properties"]["data"]["items"])
    assert set(unit["properties"]) == test_units.FIELDS


def request_of(document: Any, operation_id: str) -> Any:
    for item in document["paths"].values():
        for operation in item.values():
            if operation["operationId"] == operation_id:
                return resolved(document, operation["requestBody"]["content"]["application/json"]["schema"])
    raise AssertionError(f"no {operation_id}")


EVENT_FIELDS = test_events.FIELDS - {"id", "status", "paused_reason", "created_at"}
REQUESTS = {
    "create_event": (EVENT_FIELDS, set(EVENT)),
    "change_event": (EVENT_FIELDS, set()),
    "create_units": ({"units"}, {"units"}),
    "block_units": ({"labels"}, {"labels"}),
    "unblock_units": ({"labels"}, {"labels"}),
    "create_hold": (
        {"event", "units", "labels", "quantity", "section", "customer", "ttl_seconds", "metadata"},
        {"event", "customer"},
    ),
    "extend_hold": ({"seconds"}, set()),
    "release_hold": ({"reason"}, set()),
    "redeem_ticket": ({"token", "gate"}, {"token"}),
    "create_order": ({"hold", "payment", "buyer"}, {"hold"}),
    "refund_order": ({"items", "reason", "restock"}, set()),
    "create_endpoint": ({"url", "events", "description"}, {"url", "events"}),
    "change_endpoint": ({"url", "events", "description"}, set()),
    "rotate_secret": ({"overlap_seconds"}, set()),
    "begin_replay": ({"since", "until", "types", "status"}, {"since"}),
}


@pytest.mark.parametrize("operation_id", sorted(REQUESTS))
def test_each_body_has_the_members_of_the_contract_and_no_others(document: Any, operation_id: str) -> None:
    schema = request_of(document, operation_id)
    members, required = REQUESTS[operation_id]
    assert set(schema["properties"]) == members
    assert set(schema.get("required", ())) == required
    assert schema["additionalProperties"] is False


RANGES = {
    ("create_event", "hold_ttl_seconds"): (5, 7200),
    ("create_event", "hold_extensions_max"): (0, 10),
    ("create_event", "units_per_hold_max"): (1, 100),
    ("create_event", "units_per_customer_max"): (1, 10_000),
    ("create_hold", "ttl_seconds"): (5, 7200),
    ("extend_hold", "seconds"): (5, 7200),
    ("rotate_secret", "overlap_seconds"): (0, 604_800),
}


@pytest.mark.parametrize(("operation_id", "name"), sorted(RANGES))
def test_the_document_tells_the_ranges(document: Any, operation_id: str, name: str) -> None:
    schema = request_of(document, operation_id)["properties"][name]
    assert (schema["minimum"], schema["maximum"]) == RANGES[operation_id, name]


def test_the_document_tells_the_defaults(document: Any) -> None:
    properties = request_of(document, "create_event")["properties"]
    defaults = {"hold_ttl_seconds": 600, "hold_extensions_max": 2, "units_per_hold_max": 10}
    assert {name: properties[name].get("default") for name in defaults} == defaults
    assert request_of(document, "rotate_secret")["properties"]["overlap_seconds"]["default"] == 86_400
    assert request_of(document, "begin_replay")["properties"]["status"]["default"] == "all"


def test_a_change_has_no_defaults_that_a_client_might_send(document: Any) -> None:
    assert not any("default" in schema for schema in request_of(document, "change_event")["properties"].values())


def test_the_document_tells_the_form_of_a_slug(document: Any) -> None:
    for operation_id in ("create_event", "change_event"):
        assert request_of(document, operation_id)["properties"]["slug"].get("pattern")


def test_the_document_tells_how_long_lists_and_texts_may_be(document: Any) -> None:
    units = request_of(document, "create_units")["properties"]["units"]
    assert (units["minItems"], units["maxItems"]) == (1, 5000)
    unit = resolved(document, units["items"])
    lengths = {name: unit["properties"][name]["maxLength"] for name in ("label", "section", "row", "number")}
    assert lengths == {"label": 60, "section": 40, "row": 40, "number": 40}
    assert request_of(document, "create_hold")["properties"]["customer"]["maxLength"] == 200


@pytest.mark.parametrize(
    "operation_id",
    [
        *("create_event", "publish_event", "create_units", "block_units"),
        *("create_hold", "extend_hold", "release_hold", "redeem_ticket"),
        *("create_order", "refund_order", "cancel_order"),
        *("create_endpoint", "enable_endpoint", "disable_endpoint", "ping_endpoint", "rotate_secret"),
        *("begin_replay", "retry_delivery"),
    ],
)
def test_every_post_tells_that_it_takes_an_idempotency_key(document: Any, operation_id: str) -> None:
    operation = next(
        operation
        for item in document["paths"].values()
        for operation in item.values()
        if operation["operationId"] == operation_id
    )
    assert "Idempotency-Key" in [parameter["name"] for parameter in operation.get("parameters", ())]


TOLD = {
    "create_order": ["`Location`", "`Retry-After`", "`order`", "`decline_code`", "`provider_unavailable`"],
    "redeem_ticket": ["429 after a hundred", "each web process counts for itself"],
    "get_ticket_qr": ["asks for the API key"],
}


@pytest.mark.parametrize("operation_id", sorted(TOLD))
def test_what_no_schema_tells_is_in_the_words_about_a_call(document: Any, operation_id: str) -> None:
    operations = [operation for item in document["paths"].values() for operation in item.values()]
    (operation,) = (operation for operation in operations if operation["operationId"] == operation_id)
    words = " ".join(operation["description"].split())
    assert [part for part in TOLD[operation_id] if part not in words] == []


def test_the_document_tells_what_a_timeline_may_say(document: Any) -> None:
    schemas = document["components"]["schemas"]
    what = resolved(document, schemas["TimelineShown"]["properties"]["what"])
    assert set(what["enum"]) >= {"order_created", "payment_succeeded", "payment_needs_review", "refund_failed"}
    assert "payment_refunded" not in what["enum"]


def test_no_text_of_the_document_is_about_the_code(document: Any) -> None:
    described = {name: schema.get("description", "") for name, schema in document["components"]["schemas"].items()}
    assert [name for name, text in described.items() if "serializer" in text.lower()] == []


def test_a_client_without_a_key_or_with_a_wrong_one_is_refused_by_every_call(
    database_name: str, api: Callable[..., Api]
) -> None:
    ids = dict.fromkeys(("event_id", "hold_id", "api_key_id"), "01920000-0000-7000-8000-000000000000")
    for endpoint in tenant_endpoints():
        path = endpoint.at(**{name: ids.get(name, ids["event_id"]) for name in endpoint.parameters})
        for key in (None, "", "hf_0000000000_" + "x" * 43, "é", "x" * 8000):
            answer = api(key).send(endpoint.method, path, {})
            expect.problem(answer, 401, "unauthenticated")
            assert answer.headers["www-authenticate"].startswith("Bearer")
