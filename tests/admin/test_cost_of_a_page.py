"""No page costs more statements where there are more rows."""

from uuid import uuid4

import pytest

from reservations.operations.units import NewUnit, create_units
from tests.admin.conftest import page

STATEMENTS_MAX = 25


def cost(browser, queries, address: str) -> int:
    browser.get(address)  # content types and the like are looked up once a process
    with queries() as seen, queries("maintenance") as seen_across:
        assert browser.get(address).status_code == 200
    assert seen.count + seen_across.count <= STATEMENTS_MAX
    return seen.count + seen_across.count


def fill(tenant, event, count: int, prefix: str) -> None:
    for start in range(0, count, 5_000):
        units = [NewUnit(f"{prefix}-{number}", section=prefix) for number in range(start, min(start + 5_000, count))]
        create_units(tenant_id=tenant.id, event_id=event.id, units=units)


@pytest.mark.parametrize(
    "name", ["unit_changelist", "event_changelist", "event_change", "event_delete", "event_add_units"]
)
def test_ten_thousand_units_cost_as_many_statements_as_ten(name, tenant, make_event, sign_in, queries):
    few, many = make_event(tenant), make_event(tenant)
    fill(tenant, few, 10, "few")
    browser = sign_in(tenant)

    def costs(event) -> int:
        if name == "event_changelist":
            return cost(browser, queries, page(f"reservations_{name}"))
        if name == "unit_changelist":
            return cost(browser, queries, page(f"reservations_{name}", event=event.id))
        return cost(browser, queries, page(f"reservations_{name}", event.id))

    before = costs(few)
    fill(tenant, many, 10_001, "many")
    assert costs(many) == before


def test_many_events_and_holds_cost_as_many_statements_as_one(tenant, furnish, sign_in, queries):
    furnish(tenant, sold=True)
    browser = sign_in(tenant)
    lists = [page(f"reservations_{name}_changelist") for name in ("event", "hold", "order", "ticket", "difference")]
    searched = [f"reservations_{name}_changelist" for name in ("order", "ticket")]
    lists += [page(name, q=text) for name in searched for text in ("grace", uuid4())]
    before = [cost(browser, queries, address) for address in lists]
    for _ in range(8):
        furnish(tenant, sold=True)
    assert [cost(browser, queries, address) for address in lists] == before


def test_an_order_of_many_units_costs_as_many_statements_as_one_of_one(
    tenant, make_event, make_order, sign_in, queries
):
    event = make_event(tenant)
    few = make_order(tenant, event, ["A-1"])
    many = make_order(tenant, event, [f"B-{number}" for number in range(10)])
    browser = sign_in(tenant)
    for name in ("change", "refund"):
        costs = {cost(browser, queries, page(f"reservations_order_{name}", order.id)) for order in (few, many)}
        assert len(costs) == 1, name


def test_many_stuck_orders_cost_as_many_statements_as_one(
    tenant, make_event, make_order, sign_in, queries, shift_clock
):
    event = make_event(tenant)
    make_order(tenant, event, ["A-0"], "tok_wrong_amount")
    shift_clock(301)
    browser = sign_in(tenant)
    address = page("reservations_order_changelist", stuck="yes")
    before = cost(browser, queries, address)
    for number in range(1, 4):
        make_order(tenant, event, [f"A-{number}"], "tok_wrong_amount")
    shift_clock(301)
    assert cost(browser, queries, address) == before
    assert browser.get(address).context["cl"].result_count == 4
