"""The bodies that the document proposes are taken as they are, but for the ids in them."""

from typing import Any

from django.test import Client

from tests.contract import expect
from tests.contract.sale import Sale


def proposed(operation_id: str) -> list[Any]:
    """The examples of a call's body, in their order."""
    paths = expect.body(Client().get("/v1/openapi.json"))["paths"]
    (call,) = [call for path in paths.values() for call in path.values() if call["operationId"] == operation_id]
    return [example["value"] for example in call["requestBody"]["content"]["application/json"]["examples"].values()]


def test_each_proposed_hold_is_granted(make_sale: Any) -> None:
    bodies = proposed("create_hold")
    assert set(bodies[0]) == {"event", "customer", "quantity"}, "the simplest first: it works for every event"
    stalls = make_sale(["Stalls A-1", "Stalls A-2", "Stalls A-3", "Stalls A-4"])
    balcony = make_sale(["B-1", "B-2"], section="Balcony", tenant=stalls.tenant)
    for body in bodies:
        sale: Sale = balcony if "section" in body else stalls
        hold = expect.body(sale.api.post("/v1/holds", body | {"event": str(sale.event.id)}), 201)
        assert len(hold["items"]) == 2
        expect.body(sale.api.post(f"/v1/holds/{hold['id']}/release"))


def test_a_proposed_hold_lacks_nothing_but_an_event_of_ones_own(sale: Sale) -> None:
    for body in proposed("create_hold"):
        assert expect.pointers(sale.api.post("/v1/holds", body)) == ["/event"]


def test_the_proposed_endpoint_and_its_replays_are_made(client: Any) -> None:
    (endpoint,), replays = proposed("create_endpoint"), proposed("begin_replay")
    made = expect.body(client.post("/v1/webhooks/endpoints", endpoint), 201)
    for replay in replays:
        begun = expect.body(client.post(f"/v1/webhooks/endpoints/{made['id']}/replay", replay), 202)
        assert begun["matched"] == 0


def test_the_proposed_event_and_its_units_are_made(client: Any) -> None:
    (event,), (units,) = proposed("create_event"), proposed("create_units")
    made = expect.body(client.post("/v1/events", event), 201)
    assert expect.body(client.post(f"/v1/events/{made['id']}/units", units), 201) == {"created": 2}
