"""The list of orders, the page of one, and the ways to it from holds and tickets."""

import re
from html import unescape

import pytest

from reservations.models import Order, Payment, Refund, Ticket
from tenants.scope import tenant_transaction
from tests.admin.conftest import browser_of, make_difference, order_of, page, said

LIST, ONE = "reservations_order_changelist", "reservations_order_change"
LINE = re.compile(r"<li [^>]*><time[^>]*>(.*?)</time><span[^>]*>(.*?)</span><span>(.*?)</span></li>")


def listed(browser, **query) -> set[str]:
    """The customers that a list shows."""
    return {order.customer for order in browser.get(page(LIST, **query)).context["cl"].result_list}


def shown(browser, order) -> str:
    return unescape(browser.get(page(ONE, order.id)).content.decode())


def timeline(browser, order) -> list[tuple[str, str]]:
    """What and who, line by line."""
    return [(what, who) for _, what, who in LINE.findall(shown(browser, order))]


def payment_of(tenant, order) -> Payment:
    with tenant_transaction(tenant.id):
        return Payment.objects.get(order=order)


def test_it_is_searched_by_customer_label_and_reference_and_filtered_by_event_and_status(
    tenant, make_event, make_order, sign_in
):
    event, other = make_event(tenant), make_event(tenant)
    ada = make_order(tenant, event, ["A-1", "A-2"], customer="ada@example.org")
    make_order(tenant, event, ["A-11"], "tok_declined", customer="alan@example.org")
    make_order(tenant, other, ["B-1"], customer="grace@example.org")
    browser = sign_in(tenant, "viewer")
    paid = payment_of(tenant, ada)
    assert listed(browser) == {"ada@example.org", "alan@example.org", "grace@example.org"}
    assert listed(browser, q="ADA@") == {"ada@example.org"}
    assert listed(browser, q="A-1") == listed(browser, q="a-1") == {"ada@example.org"}
    assert listed(browser, q=paid.provider_reference) == listed(browser, q=paid.provider_key) == {"ada@example.org"}
    assert listed(browser, q=paid.provider_reference[:-1]) == listed(browser, q="hf-nonsense") == set()
    assert listed(browser, event=other.id) == {"grace@example.org"}
    assert listed(browser, status__exact="confirmed", event=event.id) == {"ada@example.org"}
    assert listed(browser, status__exact="pending") == {"alan@example.org"}
    text = browser.get(page(LIST, q="ada")).content.decode()
    for part in ("A-1, A-2", "50.00 EUR", "confirmed"):
        assert part in text, part


def test_it_is_found_by_ids_and_by_its_buyer_in_any_case(tenant, make_event, make_order, sign_in):
    event = make_event(tenant)
    ada = make_order(tenant, event, ["Row Ä 1"], customer="ada")
    alan = make_order(tenant, event, ["A-2"], "tok_declined", customer="alan")
    with tenant_transaction(tenant.id):
        Order.objects.filter(id=ada.id).update(buyer={"name": "Ada Lovelace", "email": "countess@example.org"})
    browser = sign_in(tenant, "viewer")
    for text in (ada.id, ada.hold_id, str(ada.id).upper(), "LOVELACE", "Countess@", "ROW Ä 1"):
        assert listed(browser, q=text) == {"ada"}, text
    assert listed(browser, q=alan.hold_id) == listed(browser, q="grace h") == {"alan"}
    for text in (str(ada.id)[:-1], event.id, "name", '"', "row_Ä_1", "row Ä"):
        assert listed(browser, q=text) == set(), text


def test_one_that_took_the_same_units_again_is_found_by_either_hold(tenant, make_event, make_order, sign_in):
    event = make_event(tenant)
    order, other = make_order(tenant, event, ["A-1"], customer="ada"), make_order(tenant, event, ["A-2"])
    with tenant_transaction(tenant.id):
        Order.objects.filter(id=order.id).update(retaken_hold_id=other.hold_id)
    assert listed(sign_in(tenant), q=order.hold_id) == {"ada"}
    assert listed(sign_in(tenant), q=other.hold_id) == {"ada", "grace@example.org"}


def test_a_page_shows_what_was_bought_how_it_was_paid_and_what_happened(tenant, make_event, make_order, sign_in):
    order = make_order(tenant, make_event(tenant), ["A-1", "A-2"])
    paid = payment_of(tenant, order)
    browser = sign_in(tenant, "support")
    text = shown(browser, order)
    for part in ("Grace H., grace@example.org", "50.00 EUR", "25.00 EUR", "Mock", paid.provider_reference):
        assert part in text, part
    for identity in (order.id, order.hold_id):
        assert re.search(rf">\s*{identity}\s*<", text), "it can be read and copied"
    with tenant_transaction(tenant.id):
        for ticket in Ticket.objects.filter(order=order):
            assert f'href="{page("reservations_ticket_change", ticket.id)}"' in text
    assert "refunded" not in text[text.index('id="order-items"') : text.index('id="order-payments"')]
    ordered, asked, paid_line, confirmed = timeline(browser, order)
    assert (ordered[0], asked[0], paid_line) == ("Ordered", "Payment of 50.00 EUR", ("Paid: 50.00 EUR", "Mock"))
    assert confirmed[0] == "Confirmed"
    assert re.fullmatch(r"API key .+ \(hf_\w+_…\)", confirmed[1])
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d CES?T", text)


def test_a_declined_payment_is_told_with_its_code(tenant, make_event, make_order, sign_in):
    order = make_order(tenant, make_event(tenant), ["A-1"], "tok_declined")
    code = payment_of(tenant, order).decline_code
    browser = sign_in(tenant, "viewer")
    assert code in shown(browser, order)
    assert timeline(browser, order)[-1] == (f"Declined: {code}", "Mock")


def test_what_was_taken_is_told_where_it_differs(tenant, make_event, make_order, sign_in):
    order = make_order(tenant, make_event(tenant), ["A-1"], "tok_wrong_amount")
    paid = payment_of(tenant, order)
    assert paid.status == "needs_review"
    taken = f"{paid.captured_amount / 100:.2f} EUR"
    browser = sign_in(tenant, "viewer")
    text = shown(browser, order)
    assert f"{taken} was taken where 25.00 EUR was asked" in text
    assert timeline(browser, order)[-1][0] == f"Under review: 25.00 EUR asked, {taken} taken"


def test_holds_and_tickets_lead_to_their_order(tenant, make_event, make_order, make_units, make_hold, sign_in):
    event = make_event(tenant)
    order = make_order(tenant, event, ["A-1"])
    browser = sign_in(tenant, "viewer")
    with tenant_transaction(tenant.id):
        ticket = Ticket.objects.get(order=order)
    link = f'href="{page(ONE, order.id)}"'
    assert link in browser.get(page("reservations_ticket_change", ticket.id)).content.decode()
    assert link in browser.get(page("reservations_hold_change", order.hold_id)).content.decode()
    assert f'href="{page("reservations_hold_change", order.hold_id)}"' in shown(browser, order)
    make_units(tenant, event, labels=["A-2"])
    unpaid = make_hold(tenant, event, ["A-2"])
    assert browser.get(page("reservations_hold_change", unpaid.id)).context["object_links"] == []


@pytest.mark.parametrize("role", ["owner", "manager", "support", "viewer"])
def test_only_some_roles_are_shown_what_can_be_done(role, tenant, make_event, make_order, sign_in):
    event = make_event(tenant)
    browser = sign_in(tenant, role)
    offered = {
        "tok_ok": ["Refund"],
        "tok_declined": ["Cancel"],
        "tok_wrong_amount": ["Review the payment"],
    }
    for number, method in enumerate(offered):
        order = make_order(tenant, event, [f"A-{number}"], method)
        links = browser.get(page(ONE, order.id)).context["object_links"]
        assert [label for label, _ in links] == (offered[method] if role in {"owner", "manager"} else []), method


@pytest.mark.parametrize("role", ["support", "viewer", "scanner"])
def test_nobody_else_refunds_cancels_or_decides(role, tenant, make_event, make_order, sign_in):
    event = make_event(tenant)
    browser = sign_in(tenant, role)
    asked = {
        "tok_ok": ("refund", {"units": []}),
        "tok_declined": ("cancel", {}),
        "tok_wrong_amount": ("review", {"decision": "give_back"}),
    }
    for number, (method, (name, form)) in enumerate(asked.items()):
        order = make_order(tenant, event, [f"A-{number}"], method)
        form |= {"units": [order.hold.items[0]["unit"]], "payment": payment_of(tenant, order).id}
        address = page(f"reservations_order_{name}", order.id)
        assert (browser.get(address).status_code, browser.post(address, form).status_code) == (403, 403)
        assert order_of(tenant, id=order.id).status == order.status
    with tenant_transaction(tenant.id):
        assert not Refund.objects.exists()
    if role == "scanner":
        assert browser.get(page(LIST)).status_code == browser.get(page(ONE, order.id)).status_code == 403


def test_another_tenants_order_is_unknown_to_every_page(make_tenant, make_event, make_order, make_member):
    mine, other = make_tenant(), make_tenant()
    order = make_order(other, make_event(other), ["A-1"])
    browser = browser_of(make_member(mine, "owner").user)
    for name in ("change", "refund", "cancel", "review"):
        address = page(f"reservations_order_{name}", order.id)
        form = {"units": [order.hold.items[0]["unit"]], "payment": payment_of(other, order).id, "decision": "give_back"}
        for answer in (browser.get(address), browser.post(address, form)):
            assert answer.status_code in {302, 403}
            assert "grace" not in said(answer) + answer.content.decode()
    assert order_of(other, id=order.id).status == "confirmed"
    for text in (payment_of(other, order).provider_reference, order.id, order.hold_id, "Grace", "a-1"):
        assert listed(browser, q=text) == set(), text


def test_differences_are_read_and_filtered(tenant, make_event, make_order, sign_in):
    order = make_order(tenant, make_event(tenant), ["A-1"])
    found = make_difference(tenant, order.id, reference="ch_open")
    make_difference(tenant, None, reference="ch_gone", kind="order_missing", here="nothing", resolved_at=found.found_at)
    browser = sign_in(tenant, "viewer")

    def references(**query) -> set[str]:
        rows = browser.get(page("reservations_difference_changelist", **query)).context["cl"].result_list
        return {difference.reference for difference in rows}

    assert references() == {"ch_open", "ch_gone"}
    assert (references(state="open"), references(state="resolved")) == ({"ch_open"}, {"ch_gone"})
    assert references(kind__exact="order_missing") == references(q="gone") == {"ch_gone"}
    text = browser.get(page("reservations_difference_change", found.id)).content.decode()
    for part in ("24.00 EUR", "Another amount or currency", f'href="{page(ONE, order.id)}"'):
        assert part in text, part
    assert 'name="_save"' not in text
