"""NUL, which nobody types and no text in the database holds: refused plainly wherever it stands."""

import pytest
from django.test import Client

from tests.admin.conftest import page


@pytest.fixture
def place(tenant, furnish):
    return furnish(tenant)


@pytest.fixture
def browser(place) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(place.membership.user)
    return client


def refused(answer) -> bool:
    return answer.status_code == 400 and "can't be read" in answer.content.decode().replace("&#x27;", "'")


@pytest.mark.parametrize("query", ["section=%00", "state=%00", "label=%00", "q=a%00b", "%00=1"])
def test_in_a_list_of_units(query, place, browser):
    assert refused(browser.get(f"{page('reservations_unit_changelist', event=place.event.id)}&{query}"))


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("reservations_event_changelist", "status__exact=%00"),
        ("reservations_event_changelist", "q=%00"),
        ("reservations_hold_changelist", "state=%00"),
        ("tenants_membership_changelist", "role__exact=%00"),
        ("autocomplete", "app_label=reservations&model_name=unit&field_name=event&term=%00"),
        ("join", "x=%00"),
        ("login", "next=%00"),
    ],
)
def test_in_another_query(name, query, browser):
    assert refused(browser.get(f"{page(name)}?{query}"))


def test_in_an_address(browser):
    assert refused(browser.get("/admin/reservations/event/%00/change/"))


def test_in_a_form(place, browser):
    forms = {
        page("tenant"): {"tenant": "\0"},
        page("login"): {"username": "a\0", "password": "b"},
        page("join"): {"code": "\0"},
        page("password_change"): {"old_password": "\0"},
        page("reservations_event_add"): {"name": "a\0b"},
        page("reservations_event_add_units", place.event.id): {"section": "\0"},
        page("reservations_hold_release"): {"hold": place.hold.id, "reason": "a\0b"},
        page("reservations_event_changelist"): {"action": "pause", "_selected_action": "\0"},
    }
    for address, form in forms.items():
        assert refused(browser.post(address, form)), address


def test_a_session_key_that_can_not_be_one_is_no_session(client):
    client.cookies["sessionid"] = "aaaaaaaaaa\0b"
    assert client.get("/admin/login/").status_code == 200
