"""Events that a check has paused: what their pages say, and who may resume them."""

import pytest

from reservations.admin.events import PAUSED_BY_A_CHECK
from reservations.models import Event
from reservations.operations.events import pause_event, pause_event_for_invariant
from tenants.scope import tenant_transaction
from tests.admin.conftest import page

MANAGERS = {"owner", "manager"}
LIST = "reservations_event_changelist"


@pytest.fixture
def stopped(tenant, make_event) -> Event:
    return pause_event_for_invariant(tenant_id=tenant.id, event_id=make_event(tenant).id)


def status(tenant, event) -> tuple[str, str | None]:
    with tenant_transaction(tenant.id):
        row = Event.objects.get(id=event.id)
    return row.status, row.paused_reason


@pytest.mark.parametrize("role", ["owner", "manager", "support", "scanner", "viewer"])
def test_only_an_owner_or_a_manager_resumes_it(role, tenant, stopped, sign_in):
    browser = sign_in(tenant, role)
    address = page("reservations_event_change", stopped.id)
    assert ('value="resume"' in browser.get(address).content.decode()) is (role in MANAGERS)
    if role not in MANAGERS:
        browser.post(page(LIST), {"action": "resume", "_selected_action": [stopped.id]})
        browser.post(address, {"CHANGE_FORM-action": "resume", "_selected_action": stopped.id})
        assert status(tenant, stopped) == ("paused", "invariant")
        return
    browser.post(address, {"CHANGE_FORM-action": "resume", "_selected_action": stopped.id})
    assert status(tenant, stopped) == ("on_sale", None)
    shown = browser.get(address).content.decode()
    assert "object-warning" not in shown
    assert PAUSED_BY_A_CHECK not in shown


@pytest.mark.parametrize("role", ["owner", "viewer"])
def test_both_pages_say_why_it_is_paused(role, tenant, stopped, sign_in):
    browser = sign_in(tenant, role)
    shown = browser.get(page("reservations_event_change", stopped.id)).content.decode()
    assert "HoldFast paused this event by itself" in shown
    assert PAUSED_BY_A_CHECK in shown
    assert PAUSED_BY_A_CHECK in browser.get(page(LIST)).content.decode()


def test_one_that_an_organizer_paused_is_just_paused(tenant, make_event, sign_in):
    event = pause_event(tenant_id=tenant.id, event_id=make_event(tenant).id)
    browser = sign_in(tenant)
    for address in (page("reservations_event_change", event.id), page(LIST)):
        shown = browser.get(address).content.decode()
        assert "Paused" in shown
        assert PAUSED_BY_A_CHECK not in shown
        assert "object-warning" not in shown
