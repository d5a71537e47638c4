"""Which role opens which page, and what each may do there."""

import pytest

from reservations.models import Event
from tenants.scope import tenant_transaction
from tests.admin.conftest import page, said

ROLES = ("owner", "manager", "support", "scanner", "viewer")
READERS = {"owner", "manager", "support", "viewer"}
MANAGERS = {"owner", "manager"}

LISTS = {
    "reservations_event_changelist": READERS,
    "reservations_hold_changelist": READERS,
    "reservations_order_changelist": READERS,
    "reservations_ticket_changelist": READERS,
    "reservations_difference_changelist": READERS,
    "check_in": {"owner", "manager", "support", "scanner"},
    "reservations_paymentaccount_changelist": {"owner"},
    "tenants_membership_changelist": {"owner"},
    "tenants_apikey_changelist": {"owner"},
    "webhooks_endpoint_changelist": MANAGERS,
    "webhooks_delivery_changelist": MANAGERS,
}
ADD_PAGES = {
    "reservations_event_add": MANAGERS,
    "reservations_unit_add": set(),
    "reservations_hold_add": set(),
    "reservations_order_add": set(),
    "reservations_ticket_add": set(),
    "reservations_difference_add": set(),
    "reservations_paymentaccount_add": {"owner"},
    "tenants_membership_add": {"owner"},
    "tenants_apikey_add": {"owner"},
    "webhooks_endpoint_add": MANAGERS,
    "webhooks_delivery_add": set(),
}
ROW_PAGES = {
    "reservations_event_change": READERS,
    "reservations_event_delete": MANAGERS,
    "reservations_event_history": READERS,
    "reservations_event_add_units": MANAGERS,
    "reservations_unit_change": READERS,
    "reservations_unit_delete": MANAGERS,
    "reservations_hold_change": READERS,
    "reservations_hold_delete": set(),
    "reservations_order_change": READERS,
    "reservations_order_delete": set(),
    "reservations_order_history": READERS,
    "reservations_order_refund": MANAGERS,
    "reservations_difference_change": READERS,
    "reservations_difference_delete": set(),
    "reservations_ticket_change": READERS,
    "reservations_ticket_delete": set(),
    "reservations_ticket_history": READERS,
    "reservations_paymentaccount_change": {"owner"},
    "reservations_paymentaccount_delete": set(),
    "reservations_paymentaccount_history": {"owner"},
    "tenants_membership_change": {"owner"},
    "tenants_membership_delete": {"owner"},
    "tenants_apikey_change": {"owner"},
    "tenants_apikey_delete": set(),
    "webhooks_endpoint_change": MANAGERS,
    "webhooks_endpoint_delete": MANAGERS,
    "webhooks_endpoint_history": MANAGERS,
    "webhooks_endpoint_rotate": MANAGERS,
    "webhooks_endpoint_replay": MANAGERS,
    "webhooks_delivery_change": MANAGERS,
    "webhooks_delivery_delete": set(),
    "webhooks_delivery_history": MANAGERS,
}


@pytest.mark.parametrize("role", ROLES)
def test_a_role_opens_its_pages_and_no_others(role, tenant, furnish, sign_in):
    place = furnish(tenant, sold=True)
    browser = sign_in(tenant, role)
    rows = place.rows
    addresses = {page(name): allowed for name, allowed in (LISTS | ADD_PAGES).items()}
    addresses |= {
        page(name, rows[name.rsplit("_", 1)[0].removesuffix("_add")]): allowed for name, allowed in ROW_PAGES.items()
    }
    addresses[page("reservations_unit_changelist", event=place.event.id)] = READERS
    for address, allowed in addresses.items():
        expected = 200 if role in allowed else 403
        assert browser.get(address).status_code == expected, address


@pytest.mark.parametrize("role", sorted(set(ROLES) - MANAGERS))
def test_who_may_not_manage_changes_no_event(role, tenant, furnish, sign_in):
    place = furnish(tenant, sold=True)
    browser = sign_in(tenant, role)
    change = page("reservations_event_change", place.event.id)
    assert browser.post(change, {"name": "Other", "slug": "other"}).status_code == 403
    assert browser.post(page("reservations_event_delete", place.event.id), {"post": "yes"}).status_code == 403
    browser.post(
        page("reservations_event_changelist"), {"action": "close", "_selected_action": [place.event.id], "sure": "yes"}
    )
    units = page("reservations_unit_changelist", event=place.event.id)
    browser.post(units, {"action": "block", "_selected_action": [place.unit.id]})
    with tenant_transaction(tenant.id):
        place.event.refresh_from_db()
        place.unit.refresh_from_db()
    assert (place.event.name, place.event.status, place.unit.status) == ("A show", "on_sale", "available")


@pytest.mark.parametrize("role", sorted(set(ROLES) - {"owner"}))
def test_only_owners_touch_members_and_keys(role, tenant, furnish, sign_in):
    place = furnish(tenant, sold=True)
    browser = sign_in(tenant, role)
    assert browser.post(page("tenants_membership_add"), {"login": "eve", "role": "owner"}).status_code == 403
    assert browser.post(page("tenants_apikey_add"), {"name": "x", "scopes": ["admin"]}).status_code == 403
    key = page("tenants_apikey_change", place.rows["tenants_apikey"])
    pressed = {"CHANGE_FORM-action": "rotate", "_selected_action": place.rows["tenants_apikey"]}
    assert browser.post(key, pressed).status_code == 403
    member = page("tenants_membership_change", place.membership.id)
    assert browser.post(member, {"role": "viewer"}).status_code == 403


def test_the_sidebar_shows_what_the_role_may_open(tenant, sign_in):
    for_owners, for_viewers = (
        sign_in(tenant, role).get(page("reservations_event_changelist")).content.decode()
        for role in ("owner", "viewer")
    )
    assert "API keys" in for_owners
    assert "API keys" not in for_viewers


@pytest.mark.parametrize("role", sorted(MANAGERS))
def test_managers_make_events(role, tenant, sign_in):
    form = {"name": "New", "slug": f"new-{role}", "kind": "items", "currency": "JPY", "timezone": "Asia/Tokyo"}
    limits = {"hold_ttl_seconds": 60, "hold_extensions_max": 0, "units_per_hold_max": 4}
    answer = sign_in(tenant, role).post(page("reservations_event_add"), form | limits)
    assert answer.status_code == 302, answer.context["adminform"].form.errors
    assert "added successfully" in said(answer)
    with tenant_transaction(tenant.id):
        event = Event.objects.get()
    assert (event.name, event.currency, event.status) == ("New", "JPY", "draft")
