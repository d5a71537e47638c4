"""The OpenAPI document: every call is in it, and it shows what the calls show."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.contract import expect, test_events, test_holds, test_units
from tests.contract.conftest import EVENT, Sale
from tests.support import feed
from tests.support.client import Api
from tests.support.endpoints import endpoints, tenant_endpoints

METHODS = {"get", "put", "post", "patch", "delete"}
# they are about the API and no part of it
OUTSIDE = {"/v1/openapi.json", "/v1/docs"}


@pytest.fixture
def document(database_name: str) -> Any:
    return expect.body(Client().get("/v1/openapi.json"))


def calls(document: Any) -> set[tuple[str, str]]:
    return {(method.upper(), path) for path, item in document["paths"].items() for method in item if method in METHODS}


def test_the_document_has_every_call_and_no_other(document: Any) -> None:
    known = {(endpoint.method, endpoint.path) for endpoint in endpoints() if endpoint.path not in OUTSIDE}
    assert calls(document) == known
    assert {(endpoint.method, endpoint.path) for endpoint in tenant_endpoints()} == known


def test_every_call_has_a_name_of_its_own_and_asks_for_a_key(document: Any) -> None:
    operations = [document["paths"][path][method.lower()] for method, path in calls(document)]
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert all(operation["security"] == [{"apiKey": []}] for operation in operations)
    assert document["components"]["securitySchemes"]["apiKey"] | {"bearerFormat": ""} == {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "",
    }


def test_every_call_tells_its_refusals_as_problem_documents(document: Any) -> None:
    for method, path in calls(document):
        responses = document["paths"][path][method.lower()]["responses"]
        refusals = {status: answer for status, answer in responses.items() if int(status) >= 400}
        assert {"400", "401", "403", "404", "409", "422"} <= set(refusals)
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
}


@pytest.mark.parametrize(("operation_id", "name"), sorted(RANGES))
def test_the_document_tells_the_ranges(document: Any, operation_id: str, name: str) -> None:
    schema = request_of(document, operation_id)["properties"][name]
    assert (schema["minimum"], schema["maximum"]) == RANGES[operation_id, name]


def test_the_document_tells_the_defaults(document: Any) -> None:
    properties = request_of(document, "create_event")["properties"]
    defaults = {"hold_ttl_seconds": 600, "hold_extensions_max": 2, "units_per_hold_max": 10}
    assert {name: properties[name].get("default") for name in defaults} == defaults


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
    ["create_event", "publish_event", "create_units", "block_units", "create_hold", "extend_hold", "release_hold"],
)
def test_every_post_tells_that_it_takes_an_idempotency_key(document: Any, operation_id: str) -> None:
    operation = next(
        operation
        for item in document["paths"].values()
        for operation in item.values()
        if operation["operationId"] == operation_id
    )
    assert "Idempotency-Key" in [parameter["name"] for parameter in operation.get("parameters", ())]


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
