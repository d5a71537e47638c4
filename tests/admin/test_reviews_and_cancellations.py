"""What a person decides: a payment under review is taken or given back, an unpaid order is cancelled."""

from html import unescape

import pytest

from reservations.checkout import recovery
from reservations.models import Payment, Ticket, Unit
from tenants.scope import tenant_transaction
from tests.admin.conftest import browser_of, order_of, page, said
from tests.admin.test_orders import payment_of, timeline


@pytest.fixture
def event(tenant, make_event):
    return make_event(tenant)


@pytest.fixture
def reviewed(tenant, event, make_order):
    """An order of 25.00 that the provider took another amount for."""
    return make_order(tenant, event, ["A-1"], "tok_wrong_amount")


def review_page(order) -> str:
    return page("reservations_order_review", order.id)


def decide(browser, tenant, order, decision: str):
    return browser.post(review_page(order), {"payment": payment_of(tenant, order).id, "decision": decision})


def unit_of(tenant, order) -> str:
    with tenant_transaction(tenant.id):
        return Unit.objects.get(id=order.hold.items[0]["unit"]).status


def test_the_page_says_what_was_asked_and_what_was_taken(tenant, reviewed, sign_in):
    paid = payment_of(tenant, reviewed)
    text = unescape(sign_in(tenant, "manager").get(review_page(reviewed)).content.decode())
    for part in (
        "25.00 EUR",
        f"{paid.captured_amount / 100:.2f} EUR",
        paid.provider_reference,
        "Take it",
        "Give it back",
    ):
        assert part in text, part
    assert payment_of(tenant, reviewed).status == "needs_review"


def test_taking_it_confirms_the_order(tenant, reviewed, make_member):
    member = make_member(tenant, "manager")
    browser = browser_of(member.user)
    answer = decide(browser, tenant, reviewed, "take")
    assert "the order is confirmed" in said(answer)
    assert (order_of(tenant, id=reviewed.id).status, unit_of(tenant, reviewed)) == ("confirmed", "sold")
    with tenant_transaction(tenant.id):
        assert Ticket.objects.get(order=reviewed).status == "valid"
    assert ("Confirmed", f"{member.user.get_username()} (manager)") in timeline(browser, reviewed)


def test_giving_it_back_fails_the_order_and_a_worker_sends_the_money(tenant, reviewed, make_member, psp):
    member = make_member(tenant, "owner")
    browser = browser_of(member.user)
    paid = payment_of(tenant, reviewed)
    answer = decide(browser, tenant, reviewed, "give_back")
    assert "it is on its way" in said(answer)
    assert (order_of(tenant, id=reviewed.id).status, unit_of(tenant, reviewed)) == ("failed", "available")
    assert psp.refunds(paid.provider_reference) == []
    who = f"{member.user.get_username()} (owner)"
    told = timeline(browser, reviewed)
    assert ("Failed: refunded after review", who) in told
    assert (f"{paid.captured_amount / 100:.2f} EUR can't be kept and goes back", who) in told
    recovery.work_due()
    assert [refund["amount"] for refund in psp.refunds(paid.provider_reference)] == [paid.captured_amount]
    assert payment_of(tenant, reviewed).status == "refunded"


@pytest.mark.parametrize("second", ["take", "give_back"])
def test_what_was_decided_is_not_decided_again(second, tenant, reviewed, sign_in):
    browser = sign_in(tenant)
    decide(browser, tenant, reviewed, "take")
    answer = decide(browser, tenant, reviewed, second)
    assert (answer.status_code, answer["Location"]) == (302, page("reservations_order_change", reviewed.id))
    assert "No payment of this order is under review" in said(answer)
    assert (order_of(tenant, id=reviewed.id).status, payment_of(tenant, reviewed).status) == ("confirmed", "succeeded")


def test_money_of_another_currency_can_only_go_back(tenant, reviewed, sign_in):
    with tenant_transaction(tenant.id):
        Payment.objects.filter(order=reviewed).update(captured_currency="XQQ")
    browser = sign_in(tenant)
    text = browser.get(review_page(reviewed)).content.decode()
    assert "XQQ" in text
    assert 'value="take"' not in text
    assert "it can only go back" in said(decide(browser, tenant, reviewed, "take"))
    assert payment_of(tenant, reviewed).status == "needs_review"


@pytest.mark.parametrize("form", [{}, {"decision": "take"}, {"decision": "take", "payment": "nonsense"}])
def test_a_form_that_decides_nothing_shows_the_page_again(form, tenant, reviewed, sign_in):
    answer = sign_in(tenant).post(review_page(reviewed), form)
    assert (answer.status_code, b"review-form" in answer.content) == (200, True)
    assert payment_of(tenant, reviewed).status == "needs_review"


def test_an_unpaid_order_is_cancelled_and_its_units_are_free(tenant, event, make_order, sign_in):
    order = make_order(tenant, event, ["A-1"], "tok_declined")
    browser = sign_in(tenant, "manager")
    address = page("reservations_order_cancel", order.id)
    assert "cancel-form" in browser.get(address).content.decode()
    assert order_of(tenant, id=order.id).status == "pending"
    assert "The order is cancelled" in said(browser.post(address))
    assert (order_of(tenant, id=order.id).status, unit_of(tenant, order)) == ("cancelled", "available")
    assert timeline(browser, order)[-1][0] == "Cancelled"
    browser.cookies.pop("messages", None)
    assert "The order is cancelled." in said(browser.post(address))


@pytest.mark.parametrize("method", ["tok_ok", "tok_wrong_amount"])
def test_an_order_whose_money_was_taken_is_not_cancelled(method, tenant, event, make_order, sign_in):
    order = make_order(tenant, event, ["A-1"], method)
    browser = sign_in(tenant)
    address = page("reservations_order_cancel", order.id)
    assert browser.get(address)["Location"] == page("reservations_order_change", order.id)
    assert browser.post(address).status_code == 302
    assert order_of(tenant, id=order.id).status == order.status
    assert unit_of(tenant, order) in {"held", "sold"}
