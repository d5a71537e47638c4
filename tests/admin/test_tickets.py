"""The list of tickets, the page of one, and its new code."""

import re
from html import unescape

import pytest

from reservations.models import Order, Refund, Ticket
from reservations.operations.tickets import redeem_ticket
from reservations.queries.tickets import token_maker
from tenants.scope import tenant_transaction
from tests.admin.conftest import page, said
from tests.support.rows import sample

LIST, ONE = "reservations_ticket_changelist", "reservations_ticket_change"


def labels(browser, **query) -> set[str]:
    return {ticket.label for ticket in browser.get(page(LIST, **query)).context["cl"].result_list}


def button(ticket) -> dict:
    return {"CHANGE_FORM-action": "reissue", "_selected_action": ticket.id}


def serial_of(tenant, ticket) -> int:
    with tenant_transaction(tenant.id):
        return Ticket.objects.get(id=ticket.id).serial


def test_it_is_searched_by_label_and_customer_and_filtered_by_state_and_event(
    tenant, make_event, make_tickets, sign_in
):
    event, other = make_event(tenant), make_event(tenant)
    first, _ = make_tickets(tenant, event, ["A-1", "A-2"], "ada@example.org")
    make_tickets(tenant, other, ["B-1"], "grace@example.org")
    redeem_ticket(tenant_id=tenant.id, token=token_maker()(first), gate="North")
    browser = sign_in(tenant, "viewer")
    assert labels(browser) == {"A-1", "A-2", "B-1"}
    assert labels(browser, q="a-1") == {"A-1"}
    assert labels(browser, q="GRACE") == {"B-1"}
    assert labels(browser, event=event.id) == {"A-1", "A-2"}
    assert labels(browser, status__exact="redeemed") == {"A-1"}
    assert labels(browser, status__exact="valid", q="ada") == {"A-2"}
    text = browser.get(page(LIST, q="A-1")).content.decode()
    assert "North" in text
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d CES?T", text)


def test_it_is_found_by_its_order_and_by_who_bought_it(make_tenant, make_event, make_order, sign_in):
    mine, other = make_tenant(), make_tenant()
    event = make_event(mine)
    order = make_order(mine, event, ["A-1", "A-2"], customer="ada")
    make_order(mine, event, ["B-1"], price=0)
    with tenant_transaction(mine.id):
        Order.objects.filter(id=order.id).update(buyer={"name": "Ada Lovelace", "email": "countess@example.org"})
    browser, theirs = sign_in(mine, "viewer"), sign_in(other, "viewer")
    for text in (order.id, order.hold_id, "ADA", "lovelace", "COUNTESS@example"):
        assert labels(browser, q=text) == {"A-1", "A-2"}, text
        assert labels(theirs, q=text) == set(), text


@pytest.mark.parametrize("role", ["owner", "manager", "support", "viewer", "scanner"])
def test_owners_and_managers_give_it_a_new_code(role, tenant, make_event, make_tickets, sign_in):
    (ticket,) = make_tickets(tenant, make_event(tenant), ["A-1"])
    browser = sign_in(tenant, role)
    may = role in {"owner", "manager"}
    address = page(ONE, ticket.id)
    assert ('value="reissue"' in browser.get(address).content.decode()) is may
    answer = browser.post(address, button(ticket))
    assert serial_of(tenant, ticket) == (2 if may else 1)
    if may:
        assert "all earlier ones are worthless" in said(answer)
        text = unescape(browser.get(address).content.decode())
        assert "Issued: a new code, and all earlier ones are worthless" in text


def test_one_that_lets_nobody_in_gets_no_new_code(tenant, make_event, make_tickets, sign_in):
    used, void = make_tickets(tenant, make_event(tenant), ["A-1", "A-2"])
    redeem_ticket(tenant_id=tenant.id, token=token_maker()(used))
    refund = sample(Refund, tenant.id)
    with tenant_transaction(tenant.id):
        Ticket.objects.filter(id=void.id).update(status="void", refund=refund)
    browser = sign_in(tenant)
    for ticket, reason in ((used, "used before"), (void, "refunded")):
        address = page(ONE, ticket.id)
        assert 'value="reissue"' not in browser.get(address).content.decode()
        assert reason in said(browser.post(address, button(ticket)))
        browser.cookies.pop("messages", None)
        assert serial_of(tenant, ticket) == 1


def test_no_page_shows_a_code(tenant, make_event, make_tickets, sign_in):
    (ticket,) = make_tickets(tenant, make_event(tenant), ["A-1"])
    browser = sign_in(tenant)
    for address in (page(LIST), page(ONE, ticket.id), page("reservations_ticket_history", ticket.id)):
        text = browser.get(address).content.decode()
        assert "A-1" in text
        assert token_maker()(ticket)[11:] not in text
