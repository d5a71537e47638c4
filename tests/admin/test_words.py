"""What people read: the same names everywhere, a zone with each time, and one thing called one thing."""

import re

import pytest

from tests.admin.conftest import page, said

A_TIME = re.compile(r"20\d\d-\d\d-\d\d \d\d:\d\d(?::\d\d)?+(?! [A-Z]{3,4}\b| [+-]\d\d)")


@pytest.mark.parametrize(
    "name",
    [
        "tenants_apikey_changelist",
        "tenants_membership_changelist",
        "reservations_hold_changelist",
        "webhooks_delivery_changelist",
    ],
)
def test_every_time_in_a_list_has_its_zone(name, tenant, furnish, sign_in):
    furnish(tenant)
    shown = sign_in(tenant).get(page(name)).content.decode()
    assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d", shown)
    assert not A_TIME.findall(shown)


def test_every_time_of_a_history_has_its_zone(tenant, make_event, sign_in):
    event, browser = make_event(tenant), sign_in(tenant)
    address = page("reservations_event_change", event.id)
    browser.post(address, {"CHANGE_FORM-action": "pause", "_selected_action": event.id})
    shown = browser.get(page("reservations_event_history", event.id)).content.decode()
    assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d UTC", shown)
    assert not A_TIME.findall(shown)


@pytest.mark.parametrize(("count", "words"), [(1, "1 unit was blocked."), (2, "2 units were blocked.")])
def test_one_unit_is_no_units(count, words, tenant, make_event, make_units, sign_in):
    event = make_event(tenant)
    chosen = make_units(tenant, event, count)
    form = {"action": "block", "_selected_action": [unit.id for unit in chosen]}
    address = f"{page('reservations_unit_changelist')}?event={event.id}"
    assert words in said(sign_in(tenant).post(address, form))


def test_members_and_logins_are_called_so(tenant, client, sign_in):
    assert "Members" in sign_in(tenant).get(page("tenants_membership_changelist")).context["title"]
    shown = client.get(page("login")).content.decode()
    assert "Login" in shown
    assert "Username" not in shown


def test_a_list_with_nothing_in_it_says_so(tenant, sign_in):
    browser = sign_in(tenant)
    shown = browser.get(page("reservations_event_changelist")).content.decode()
    assert "There is nothing here yet." in shown
    assert "yielded" not in shown
    looked_for = browser.get(page("reservations_event_changelist") + "?q=nowhere").content.decode()
    assert "Nothing here is like that." in looked_for
    assert "Reset filters" in looked_for


def test_who_only_reads_an_event_reads_the_names_that_the_form_has(tenant, make_event, sign_in):
    event = make_event(tenant)
    address = page("reservations_event_change", event.id)
    for role in ("support", "manager"):
        shown = sign_in(tenant, role).get(address).content.decode()
        for label in (
            "A hold lasts (seconds)",
            "Extensions of a hold",
            "Units per hold",
            "Units per customer",
            "Time zone",
        ):
            assert label in shown, role
        assert "ttl seconds" not in shown


def test_there_is_an_icon(client, database_name):
    answer = client.get("/favicon.ico", follow=True)
    answer.close()  # it is a file
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/svg+xml")
    assert answer.redirect_chain[0][0] in client.get(page("login")).content.decode()
