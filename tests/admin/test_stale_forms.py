"""A page that was opened before somebody else's change takes nothing back by being sent."""

import html
import re
from datetime import UTC, datetime

import pytest

from reservations.models import Event, Unit
from tenants.scope import tenant_transaction
from tests.admin.conftest import page
from tests.support.client import Api

INPUT = re.compile(r"<input[^>]*>")
SELECT = re.compile(r'<select name="(?P<name>\w+)".*?</select>', re.DOTALL)


def fields_of(text: str) -> dict[str, str]:
    """What a browser would send of the page's main form."""
    attributes = [dict(re.findall(r'([\w-]+)="([^"]*)"', tag)) for tag in INPUT.findall(text)]
    fields = {tag["name"]: html.unescape(tag.get("value", "")) for tag in attributes if "name" in tag}
    for select in SELECT.finditer(text):
        chosen = re.search(r'value="([^"]*)" selected', select[0])
        fields[select["name"]] = chosen[1] if chosen else ""
    return {name: value for name, value in fields.items() if name not in {"_selected_action", "CHANGE_FORM-action"}}


def opened(browser, address: str) -> dict[str, str]:
    return fields_of(browser.get(address).content.decode())


def errors(answer) -> dict[str, str]:
    return {name: str(texts) for name, texts in answer.context["adminform"].form.errors.items()}


@pytest.fixture
def event(tenant, make_event):
    return make_event(tenant, units_per_customer_max=4, starts_at=datetime(2027, 7, 1, 17, 30, tzinfo=UTC))


@pytest.fixture
def address(event) -> str:
    return page("reservations_event_change", event.id)


def now(tenant, row):
    with tenant_transaction(tenant.id):
        return type(row).objects.get(id=row.id)


def patch(tenant, event, **fields) -> None:
    assert Api(tenant.key).patch(f"/v1/events/{event.id}", fields).status_code == 200


def test_what_another_changed_meanwhile_stays(tenant, event, address, sign_in):
    browser = sign_in(tenant)
    form = opened(browser, address)
    patch(tenant, event, units_per_customer_max=2)
    assert browser.post(address, form | {"name": "Another name"}).status_code == 302
    assert (now(tenant, event).name, now(tenant, event).units_per_customer_max) == ("Another name", 2)


def test_where_both_changed_the_same_the_second_is_asked(tenant, event, address, sign_in):
    browser = sign_in(tenant)
    form = opened(browser, address) | {"units_per_customer_max": "8", "name": "Another name"}
    patch(tenant, event, units_per_customer_max=2)
    answer = browser.post(address, form)
    assert "from “4” to “2”" in errors(answer)["units_per_customer_max"]
    assert (now(tenant, event).name, now(tenant, event).units_per_customer_max) == (event.name, 2)
    again = fields_of(answer.content.decode())
    assert again["units_per_customer_max"] == "8"
    assert browser.post(address, again).status_code == 302
    assert (now(tenant, event).name, now(tenant, event).units_per_customer_max) == ("Another name", 8)


def test_a_form_that_is_sent_twice_is_no_conflict(tenant, event, address, sign_in):
    browser = sign_in(tenant)
    form = opened(browser, address) | {"name": "Another name", "starts_at": "2027-07-02T20:00"}
    assert [browser.post(address, form).status_code for _ in range(2)] == [302, 302]


def test_a_time_that_was_read_in_another_zone_is_asked_for_again(tenant, event, address, sign_in):
    browser = sign_in(tenant)
    form = opened(browser, address) | {"ends_at": "2027-07-01T22:00"}
    patch(tenant, event, timezone="Europe/London")
    assert "Europe/London" in errors(browser.post(address, form))["timezone"]
    assert now(tenant, event).ends_at is None


def test_another_zone_takes_no_time_back(tenant, event, address, sign_in):
    browser = sign_in(tenant)
    form = opened(browser, address) | {"timezone": "Europe/London"}
    patch(tenant, event, starts_at="2027-07-03T17:30:00Z")
    assert "starts_at" in errors(browser.post(address, form))
    assert now(tenant, event).starts_at == datetime(2027, 7, 3, 17, 30, tzinfo=UTC)


def test_a_unit_form_takes_nothing_back(tenant, event, make_units, sign_in):
    (unit,) = make_units(tenant, event, labels=["A-1"], section="Stalls", row="A", price_amount=2500)
    browser, address = sign_in(tenant), page("reservations_unit_change", unit.id)
    form = opened(browser, address)
    with tenant_transaction(tenant.id):
        Unit.objects.filter(id=unit.id).update(row="B", price_amount=3000)
    assert browser.post(address, form | {"number": "7"}).status_code == 302
    after = now(tenant, unit)
    assert (after.row, after.number, after.price_amount) == ("B", "7", 3000)
    assert "from “25.00” to “30.00”" in errors(browser.post(address, form | {"price_amount": "26"}))["price_amount"]
    assert now(tenant, unit).price_amount == 3000


def test_a_time_of_a_unit_that_was_read_in_another_zone_is_refused(tenant, event, make_units, sign_in):
    (unit,) = make_units(tenant, event, labels=["A-1"])
    browser, address = sign_in(tenant), page("reservations_unit_change", unit.id)
    form = opened(browser, address) | {"starts_at": "2027-07-01T20:00"}
    with tenant_transaction(tenant.id):
        Event.objects.filter(id=event.id).update(timezone="Europe/London")
    assert "Europe/London now" in errors(browser.post(address, form))["__all__"]
    assert now(tenant, unit).starts_at is None
