"""Refunding an order in the admin: what it asks, what is claimed at once, and what a worker does after the commit."""

import re
from html import unescape

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connections

from reservations.checkout import recovery
from reservations.models import Payment, Refund, Ticket, Unit
from reservations.operations.tickets import redeem_ticket
from reservations.queries.tickets import token_maker
from tenants.scope import tenant_transaction
from tests.admin.conftest import browser_of, order_of, page, said
from tests.admin.test_orders import payment_of, shown, timeline

MANAGERS = ["owner", "manager"]


@pytest.fixture
def order(tenant, make_event, make_order):
    """Two seats at 25.00, paid."""
    return make_order(tenant, make_event(tenant), ["A-1", "A-2"])


def form_page(order) -> str:
    return page("reservations_order_refund", order.id)


def units_of(order, *labels: str) -> list[str]:
    return [item["unit"] for item in order.hold.items if item["label"] in labels]


def refunds_of(tenant) -> list[Refund]:
    with tenant_transaction(tenant.id):
        return list(Refund.objects.order_by("id"))


def statuses(tenant, model: type) -> dict[str, str]:
    with tenant_transaction(tenant.id):
        return dict(model.objects.order_by("label").values_list("label", "status"))


@pytest.mark.parametrize("role", MANAGERS)
def test_some_items_from_the_page_to_the_money(role, tenant, order, psp, make_member):
    member = make_member(tenant, role)
    browser = browser_of(member.user)
    asked = unescape(browser.get(form_page(order)).content.decode())
    for part in ("A-1, 25.00 EUR", "A-2, 25.00 EUR", "50.00 EUR at most", 'name="_tenant"', 'name="restock"'):
        assert part in asked, part

    form = {"units": units_of(order, "A-1"), "restock": "on", "reason": "She <called>"}
    answer = browser.post(form_page(order), form)
    assert (answer.status_code, answer["Location"]) == (302, page("reservations_order_change", order.id))
    assert "The refund of 25.00 EUR is on its way." in said(answer)
    charge = payment_of(tenant, order).provider_reference
    assert psp.refunds(charge) == []
    assert statuses(tenant, Ticket) == {"A-1": "void", "A-2": "valid"}
    assert statuses(tenant, Unit) == {"A-1": "sold", "A-2": "sold"}
    assert "A-1 (will be back on sale)" in shown(browser, order)

    assert recovery.work_due() >= 1
    assert [refund["amount"] for refund in psp.refunds(charge)] == [2500]
    assert statuses(tenant, Unit) == {"A-1": "available", "A-2": "sold"}
    assert order_of(tenant, id=order.id).status == "partially_refunded"
    told = timeline(browser, order)
    who = f"{member.user.get_username()} ({role})"
    assert ("Refund: A-1 for 25.00 EUR, She <called>", who) in told
    assert ("25.00 EUR is back", "Mock") in told
    assert "A-1 (back on sale)" in shown(browser, order)
    assert "Refunds 25.00 EUR" in LogEntry.objects.get(object_id=str(order.id)).change_message


def test_all_of_it_and_the_units_stay_off_sale(tenant, order, sign_in):
    browser = sign_in(tenant)
    browser.post(form_page(order), {"units": units_of(order, "A-1", "A-2")})
    recovery.work_due()
    assert order_of(tenant, id=order.id).status == "refunded"
    assert payment_of(tenant, order).status == "refunded"
    assert statuses(tenant, Unit) == {"A-1": "blocked", "A-2": "blocked"}
    assert browser.get(page("reservations_order_change", order.id)).context["object_links"] == []
    assert [line for line in timeline(browser, order) if line[1] == "Mock"] == [
        ("Paid: 50.00 EUR", "Mock"),
        ("50.00 EUR is back", "Mock"),
    ]


def test_the_page_says_who_was_let_in_already(tenant, order, sign_in):
    with tenant_transaction(tenant.id):
        used = Ticket.objects.get(order=order, label="A-1")
    redeem_ticket(tenant_id=tenant.id, token=token_maker()(used))
    form = sign_in(tenant).get(form_page(order)).context["form"]
    first, second = sorted(label for _, label in form.fields["units"].choices)
    assert re.fullmatch(r"A-1, 25\.00 EUR, let in already: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d CES?T", first)
    assert second == "A-2, 25.00 EUR"


def test_a_form_that_is_sent_twice_refunds_once(tenant, order, psp, sign_in):
    browser = sign_in(tenant)
    form = {"units": units_of(order, "A-1"), "restock": "on"}
    assert browser.post(form_page(order), form).status_code == 302
    second = browser.post(form_page(order), form)
    assert second.status_code == 200
    assert "went back meanwhile" in second.content.decode()
    recovery.work_due()
    assert browser.post(form_page(order), form).status_code == 200
    assert [refund.amount for refund in refunds_of(tenant)] == [2500]
    assert len(psp.refunds(payment_of(tenant, order).provider_reference)) == 1


def test_a_form_of_all_that_is_sent_twice_leads_back_and_says_so(tenant, order, sign_in):
    browser = sign_in(tenant)
    form = {"units": units_of(order, "A-1", "A-2")}
    browser.post(form_page(order), form)
    again = browser.post(form_page(order), form)
    assert (again.status_code, again["Location"]) == (302, page("reservations_order_change", order.id))
    assert "Nothing of this order can go back" in said(again)
    assert len(refunds_of(tenant)) == 1


def test_people_who_refund_the_same_at_once_refund_it_once(tenant, order, sign_in, run_together):
    browsers = [sign_in(tenant, "manager") for _ in range(4)]
    form = {"units": units_of(order, "A-1"), "restock": "on"}

    def send(browser) -> int:
        try:
            return browser.post(form_page(order), form).status_code
        finally:
            connections.close_all()

    sent = run_together([lambda browser=browser: send(browser) for browser in browsers])
    assert sorted(sent) == [200, 200, 200, 302]
    assert [refund.amount for refund in refunds_of(tenant)] == [2500]


@pytest.mark.parametrize(
    ("change", "field"),
    [({"units": []}, "units"), ({"units": ["nonsense"]}, "units"), ({"reason": "x" * 201}, "reason")],
)
def test_what_is_wrong_is_asked_for_again(change, field, tenant, order, sign_in):
    answer = sign_in(tenant).post(form_page(order), {"units": units_of(order, "A-1")} | change)
    assert answer.status_code == 200
    assert answer.context["form"].errors[field]
    assert refunds_of(tenant) == []
    assert statuses(tenant, Ticket) == {"A-1": "valid", "A-2": "valid"}


def test_a_free_order_gives_its_units_back_at_once(tenant, make_event, make_order, sign_in):
    order = make_order(tenant, make_event(tenant), ["F-1"], price=0)
    browser = sign_in(tenant)
    assert "no money goes back" in browser.get(form_page(order)).content.decode()
    answer = browser.post(form_page(order), {"units": units_of(order, "F-1"), "restock": "on"})
    assert "No money was due" in said(answer)
    assert order_of(tenant, id=order.id).status == "refunded"
    assert statuses(tenant, Unit) == {"F-1": "available"}


def test_a_provider_that_is_away_leaves_it_on_its_way(tenant, order, sign_in, settings, shift_clock):
    browser = sign_in(tenant)
    url, settings.MOCK_PSP_URL = settings.MOCK_PSP_URL, "http://127.0.0.1:9"
    assert browser.post(form_page(order), {"units": units_of(order, "A-1")}).status_code == 302
    recovery.work_due()
    assert [refund.status for refund in refunds_of(tenant)] == ["pending"]
    assert statuses(tenant, Ticket)["A-1"] == "void"
    settings.MOCK_PSP_URL = url
    shift_clock(4000)
    recovery.work_due()
    assert [refund.status for refund in refunds_of(tenant)] == ["succeeded"]
    with tenant_transaction(tenant.id):
        assert Payment.objects.get(order=order).refunded_amount == 2500


def test_a_form_from_another_tenant_refunds_nothing(tenant, order, sign_in):
    answer = sign_in(tenant).post(form_page(order), {"units": units_of(order, "A-1"), "_tenant": "some-other"})
    assert "nothing was changed" in said(answer)
    assert refunds_of(tenant) == []
