"""The catalogue tells the truth: what is really said fits the schema of its type, which leaves nothing of it out."""

from collections.abc import Callable
from copy import deepcopy
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.serializers.json import DjangoJSONEncoder
from jsonschema import Draft202012Validator, FormatChecker

from holdfast.kernel.clock import database_now
from reservations import expiry
from tenants.scope import tenant_transaction
from tests.contract import expect
from tests.contract.till import Till
from tests.support import feed
from webhooks.catalogue import catalogue_json, described
from webhooks.egress import Answer, Outcome
from webhooks.health import note_outcomes
from webhooks.message_types import TYPES
from webhooks.operations.endpoints import create_endpoint, ping_endpoint
from webhooks.retry import DISABLED_AFTER, DISABLED_AFTER_FAILURES, Health

CATALOGUE = {entry["type"]: entry for entry in catalogue_json()}
each_type = pytest.mark.parametrize("name", TYPES)


def closed(schema: Any) -> Any:
    """The same schema, refusing members that it does not name: what is not described is found."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    more = {"additionalProperties": False} if "required" in schema else {}
    return {name: closed(part) for name, part in schema.items()} | more


def faults(message: Any, schema: Any = None) -> list[str]:
    """What is wrong with it, by the schema of its type unless another is named."""
    validator = Draft202012Validator(
        schema or closed(CATALOGUE[message["type"]]["schema"]), format_checker=FormatChecker()
    )
    return [f"{message['type']} {error.json_path}: {error.message}" for error in validator.iter_errors(message)]


def test_every_type_is_in_the_catalogue_in_its_order() -> None:
    assert tuple(CATALOGUE) == TYPES


@each_type
def test_a_schema_is_one_and_its_example_fits(name: str) -> None:
    entry = CATALOGUE[name]
    Draft202012Validator.check_schema(entry["schema"])
    assert entry["example"]["type"] == name
    assert faults(entry["example"]) == []
    assert entry["description"].endswith(".")


@each_type
def test_a_schema_lets_members_pass_that_are_new_and_nothing_else_that_is_wrong(name: str) -> None:
    schema, example = CATALOGUE[name]["schema"], CATALOGUE[name]["example"]
    new = deepcopy(example)
    new["new"] = new["data"]["new"] = new["subject"]["new"] = 1
    assert faults(new, schema) == []
    for member in ("id", "sequence", "data"):
        assert faults({key: value for key, value in example.items() if key != member}, schema)
    for member in example["data"]:
        assert faults(
            example | {"data": {key: value for key, value in example["data"].items() if key != member}}, schema
        )
        assert faults(example | {"data": example["data"] | {member: object()}}, schema)
    for always, value in described()[name].always.items():
        assert faults(example | {"data": example["data"] | {always: f"not {value}"}}, schema)
    assert faults(example | {"type": "other"}, schema)
    assert faults(example | {"sequence": 0}, schema)


@each_type
def test_nothing_in_the_catalogue_has_a_token_or_a_secret(name: str) -> None:
    text = DjangoJSONEncoder().encode(CATALOGUE[name]["example"])
    assert '"token": "' not in text
    assert "secret" not in text


def holds(till: Till, shift_clock: Callable[[float], None]) -> None:
    sale = till.sale
    for move in ("extend", "release"):
        expect.body(sale.api.post(f"/v1/holds/{sale.hold(labels=['U-1'])['id']}/{move}", {}))
        shift_clock(700)
        expiry.sweep_tenant(sale.tenant.id)


def orders(till: Till) -> None:
    till.sold("U-1", "U-2", buyer={"name": "Ada"})
    order = till.order(till.sold("U-3", "U-4"))
    (tickets,) = [expect.body(till.sale.api.get(f"/v1/orders/{order['id']}/tickets"))["data"]]
    expect.body(till.sale.api.post("/v1/tickets/redeem", {"token": tickets[0]["token"], "gate": "North"}))
    till.refunded(order, items=[{"unit": order["items"][0]["unit"]}], reason="ill")
    till.refunded(order)
    till.later()
    till.cancel(till.declined(till.sale.hold(labels=["U-5"])))
    expect.body(till.pay(till.sale.hold(labels=["U-6"]), "tok_wrong_amount"), 202)


def an_order_that_fails(till: Till, shift_clock: Callable[[float], None]) -> None:
    till.declined(till.sale.hold(labels=["U-7"]))
    shift_clock(1_000)
    expiry.sweep_tenant(till.sale.tenant.id)


def moves(till: Till) -> None:
    for move in ("pause", "resume", "close"):
        expect.body(till.sale.api.post(f"{till.sale.path}/{move}"))


def endpoints(tenant_id: UUID) -> None:
    endpoint, _ = create_endpoint(tenant_id=tenant_id, url="https://hooks.example.org/", events=["hold.*"])
    ping_endpoint(tenant_id=tenant_id, endpoint_id=endpoint.id)
    with tenant_transaction(tenant_id):
        now = database_now()
        nobody = Answer(Outcome.CONNECT_FAILED, None, None, b"", 1)
        for failing_for in (timedelta(days=1), DISABLED_AFTER):
            endpoint.health = Health(
                failures=DISABLED_AFTER_FAILURES, failing_since=now - failing_for, last_success_at=now - failing_for
            )
            note_outcomes(endpoint, [nobody], now)


def test_every_type_as_it_is_really_said_fits_its_schema(
    make_till: Callable[..., Till], shift_clock: Callable[[float], None]
) -> None:
    till = make_till(8, section="Stalls")
    holds(till, shift_clock)
    orders(till)
    an_order_that_fails(till, shift_clock)
    moves(till)
    endpoints(till.sale.tenant.id)
    said = feed.read(till.sale.api)
    assert set(feed.types(said)) == set(TYPES)
    assert [fault for message in said for fault in faults(message)] == []
