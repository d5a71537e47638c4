"""An `Idempotency-Key` that was used, with what is no good request; and a new one, while something else is locked."""

from typing import Any

import pytest
from django.db import connections, transaction

from reservations.customers import allowance_lock_name, customer_key
from tenants.idempotency import Claim
from tenants.models import ApiKey
from tenants.scope import lock_numbers
from tests.contract import expect
from tests.contract.sale import Sale
from tests.reservations.state import rows_of

KEY = {"Idempotency-Key": "cart-42"}


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"quantity": "1"},
        {"quantity": 1, "labels": ["U-1"]},
        {"quantity": 1, "section": " "},
        {"labels": ["U-1", "U-1"]},
        {"quantity": 1, "x": 1},
    ],
)
def test_a_used_key_with_any_other_request_is_reused_whatever_that_asks(sale: Sale, other: dict[str, Any]) -> None:
    first = expect.body(sale.ask(quantity=1, headers=KEY), 201)
    expect.problem(sale.ask(**other, headers=KEY), 422, "idempotency-key-reused")
    expect.problem(sale.api.post("/v1/holds", headers=KEY), 422, "idempotency-key-reused")
    assert expect.body(sale.ask(quantity=1, headers=KEY), 201) == first


@pytest.mark.parametrize("wrong", [{}, {"hold": "x"}, {"x": 1}])
def test_a_used_key_with_what_is_no_order_is_reused(sale: Sale, wrong: dict[str, Any]) -> None:
    order = {"hold": sale.hold(quantity=1)["id"]}
    first = expect.body(sale.api.post("/v1/orders", order, headers=KEY), 201)
    expect.problem(sale.api.post("/v1/orders", wrong, headers=KEY), 422, "idempotency-key-reused")
    expect.problem(sale.api.post("/v1/orders", headers=KEY), 422, "idempotency-key-reused")
    again = expect.body(sale.api.post("/v1/orders", order, headers=KEY), 201)
    assert again["id"] == first["id"]


def test_a_used_key_with_what_is_no_refund_is_reused(sale: Sale) -> None:
    order = expect.body(sale.api.post("/v1/orders", {"hold": sale.hold(quantity=1)["id"]}, headers=KEY), 201)
    path, unit = f"/v1/orders/{order['id']}/refund", {"unit": order["items"][0]["unit"]}
    for wrong in ({"items": []}, {"items": [unit, unit]}, {"x": 1}):
        expect.problem(sale.api.post(path, wrong, headers=KEY), 422, "idempotency-key-reused")
    expect.faults(sale.api.post(path, {"items": []}, headers={"Idempotency-Key": "another"}))
    assert expect.body(sale.api.get(f"/v1/orders/{order['id']}"))["status"] == "confirmed"


def test_a_key_of_its_own_is_free_for_what_is_refused_before_it_is_looked_up(sale: Sale, make_sale: Any) -> None:
    other = make_sale()
    expect.body(other.ask(quantity=1, headers=KEY), 201)
    expect.faults(sale.ask(quantity="1", headers=KEY))
    expect.problem(sale.api.post("/v1/holds", headers=KEY), 400, "malformed")
    expect.body(sale.ask(quantity=1, headers=KEY), 201)


def ask_while_another_holds(sale: Sale, name: bytes) -> Any:
    """A request with a new key, while somebody else holds one of its names and does not end."""
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", lock_numbers([name]))
        return sale.ask(quantity=1, headers=KEY)


@pytest.mark.parametrize("which", ["key", "customer"])
def test_a_request_is_in_flight_only_where_its_own_key_is(sale: Sale, which: str) -> None:
    """A new one is not because its customer is served elsewhere."""
    api_key = ApiKey.everywhere.get(tenant_id=sale.tenant.id)
    names = {
        "key": Claim(api_key.id, KEY["Idempotency-Key"], b"").lock_name,
        "customer": allowance_lock_name(sale.event.id, customer_key("ada@example.org")),
    }
    refused = ask_while_another_holds(sale, names[which])
    expect.problem(refused, 409, "idempotency-in-flight" if which == "key" else "contention")
    assert int(refused.headers["retry-after"]) > 0
    assert "idempotency-replayed" not in refused.headers
    assert rows_of(sale.tenant.id)["holds"] == 0
    expect.body(sale.ask(quantity=1, headers=KEY), 201)
