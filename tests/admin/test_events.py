"""Events: made and changed in their own zone, moved along by buttons, deleted while nothing was sold."""

import re
from datetime import UTC, datetime

import pytest

from reservations.admin.event_form import ZONES
from reservations.models import Event, Hold, Unit
from tenants.scope import tenant_transaction
from tests.admin.conftest import page, said
from tests.reservations.state import release, sell

FORM = {
    "name": "Gala",
    "slug": "gala",
    "kind": "seats",
    "currency": "EUR",
    "timezone": "Europe/Berlin",
    "hold_ttl_seconds": 600,
    "hold_extensions_max": 2,
    "units_per_hold_max": 10,
}


def form_of(browser, event) -> dict[str, object]:
    """What the form holds when it is sent as it was opened."""
    form = browser.get(page("reservations_event_change", event.id)).context["adminform"].form
    values = {bound.html_name: bound.value() for bound in form if not bound.field.disabled}
    return {name: value for name, value in values.items() if value is not None}


def errors(response) -> dict[str, list[str]]:
    return {name: list(texts) for name, texts in response.context["adminform"].form.errors.items()}


def press(browser, event, action: str):
    form = {"CHANGE_FORM-action": action, "_selected_action": event.id, "sure": "yes"}
    return browser.post(page("reservations_event_change", event.id), form)


def saved(tenant, **where) -> Event | None:
    with tenant_transaction(tenant.id):
        return Event.objects.filter(**where).first()


def test_times_are_taken_and_shown_in_the_events_zone(tenant, sign_in):
    browser = sign_in(tenant)
    browser.post(page("reservations_event_add"), FORM | {"starts_at": "2027-07-01T19:30"})
    event = saved(tenant)
    assert event.starts_at == datetime(2027, 7, 1, 17, 30, tzinfo=UTC)
    opened = browser.get(page("reservations_event_change", event.id)).content.decode()
    assert 'value="2027-07-01T19:30"' in opened
    assert "Starts (Europe/Berlin)" in opened
    assert "2027-07-01 19:30 CEST" in browser.get(page("reservations_event_changelist")).content.decode()


@pytest.mark.parametrize(
    ("wall", "reason"),
    [("2027-03-28T02:30", "does not exist in Europe/Berlin"), ("2027-10-31T02:30", "happens twice in Europe/Berlin")],
)
def test_a_time_that_is_none_or_two_is_refused(wall, reason, tenant, sign_in):
    answer = sign_in(tenant).post(page("reservations_event_add"), FORM | {"starts_at": wall})
    assert reason in errors(answer)["starts_at"][0]
    assert saved(tenant) is None


@pytest.mark.parametrize("hour", [0, 1])
def test_a_day_on_which_the_clocks_change_round_trips(hour, tenant, make_event, sign_in):
    starts_at = datetime(2027, 10, 31, hour, 30, 15, 250_000, tzinfo=UTC)  # 02:30 in Berlin, both times
    event = make_event(tenant, starts_at=starts_at)
    browser = sign_in(tenant)
    answer = browser.post(page("reservations_event_change", event.id), form_of(browser, event) | {"name": "Renamed"})
    assert answer.status_code == 302
    assert (saved(tenant).name, saved(tenant).starts_at) == ("Renamed", starts_at)


def test_another_zone_keeps_what_the_clock_shows(tenant, make_event, sign_in):
    event = make_event(tenant, starts_at=datetime(2027, 7, 1, 17, 30, tzinfo=UTC))
    browser = sign_in(tenant)
    browser.post(page("reservations_event_change", event.id), form_of(browser, event) | {"timezone": "Europe/London"})
    assert saved(tenant).starts_at == datetime(2027, 7, 1, 18, 30, tzinfo=UTC)


def test_the_zone_stays_once_units_are_held(tenant, furnish, sign_in):
    place = furnish(tenant)
    browser = sign_in(tenant)
    form = form_of(browser, place.event) | {"timezone": "Asia/Tokyo", "name": "Renamed"}
    browser.post(page("reservations_event_change", place.event.id), form)
    assert (saved(tenant).timezone, saved(tenant).name) == ("Europe/Berlin", "Renamed")


def test_refusals_of_the_operation_stand_at_their_fields(tenant, make_event, sign_in):
    make_event(tenant, slug="gala")
    browser = sign_in(tenant)
    assert "slug" in errors(browser.post(page("reservations_event_add"), FORM))
    times = {"starts_at": "2027-07-01T19:30", "ends_at": "2027-07-01T18:30"}
    assert "ends_at" in errors(browser.post(page("reservations_event_add"), FORM | {"slug": "other"} | times))
    assert saved(tenant, slug="other") is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("hold_ttl_seconds", value) for value in ("", "4", "7201", "-1", "x")],
        *[("units_per_hold_max", value) for value in ("0", "101", "")],
        *[("units_per_customer_max", value) for value in ("0", "-1", "10001")],
        ("hold_extensions_max", "11"),
        ("currency", "XAU"),
        ("timezone", "Mars/Olympus"),
        ("slug", "not a slug"),
        ("name", "two\nlines"),
        ("starts_at", "tomorrow"),
        ("starts_at", "2027-07-01T19:30+02:00"),
        ("starts_at", "1999-07-01T19:30"),
    ],
)
def test_a_value_out_of_range_is_refused_at_its_field(name, value, tenant, make_event, sign_in):
    browser = sign_in(tenant)
    assert list(errors(browser.post(page("reservations_event_add"), FORM | {name: value}))) == [name]
    event = make_event(tenant, status="draft")
    before = saved(tenant)
    form = form_of(browser, event) | {name: value}
    assert list(errors(browser.post(page("reservations_event_change", event.id), form))) == [name]
    assert before.__dict__ | {"_state": 0} == saved(tenant).__dict__ | {"_state": 0}


def test_a_change_leaves_what_was_not_touched_to_others(tenant, make_event, sign_in):
    event = make_event(tenant)
    browser = sign_in(tenant)
    opened = form_of(browser, event)
    with tenant_transaction(tenant.id):
        Event.objects.update(hold_ttl_seconds=77)
    browser.post(page("reservations_event_change", event.id), opened | {"name": "Renamed", "hold_ttl_seconds": 77})
    assert (saved(tenant).name, saved(tenant).hold_ttl_seconds) == ("Renamed", 77)


def test_an_event_is_published_paused_resumed_and_closed(tenant, make_event, sign_in):
    event = make_event(tenant, status="draft")
    browser = sign_in(tenant)
    moves = {"publish": "on_sale", "pause": "paused", "resume": "on_sale", "close": "closed"}
    for action, status in moves.items():
        assert press(browser, event, action).status_code == 302
        assert saved(tenant).status == status
    history = browser.get(page("reservations_event_history", event.id)).content.decode()
    assert "Now closed." in history


@pytest.mark.parametrize("by_list", [True, False])
def test_closing_is_asked_first_since_it_is_for_good(by_list, tenant, make_event, sign_in):
    event = make_event(tenant)
    browser = sign_in(tenant)
    address = page("reservations_event_changelist") if by_list else page("reservations_event_change", event.id)
    form = {"action" if by_list else "CHANGE_FORM-action": "close", "_selected_action": event.id}
    asked = browser.post(address, form).content.decode()
    assert "Close for good" in asked
    assert saved(tenant).status == "on_sale"
    hidden = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', asked)
    assert browser.post(address, dict(hidden)).status_code == 302
    assert saved(tenant).status == "closed"


def test_no_zone_is_offered_that_is_no_place():
    assert not {"localtime", "Factory"} & set(ZONES)


def test_a_page_without_a_form_has_no_button_called_close(tenant, furnish, sign_in):
    place = furnish(tenant)
    browser = sign_in(tenant, "viewer")
    for name in ("reservations_event_change", "reservations_hold_change"):
        shown = browser.get(page(name, place.rows[name.removesuffix("_change")])).content.decode()
        assert "Back to the list" in shown
        assert not re.search(r">\s*Close\s*<", shown)


def test_buttons_are_those_that_the_state_allows(tenant, make_event, sign_in):
    browser = sign_in(tenant)
    shown = {
        status: [
            name
            for name, _ in browser.get(page("reservations_event_change", make_event(tenant, status=status).id)).context[
                "object_actions"
            ]
        ]
        for status in ("draft", "on_sale", "paused", "closed")
    }
    assert shown == {"draft": ["publish"], "on_sale": ["pause", "close"], "paused": ["resume", "close"], "closed": []}


def test_a_move_that_is_not_allowed_is_a_message_and_moves_none(tenant, make_event, sign_in):
    first, second = make_event(tenant, name="First"), make_event(tenant, name="Second", status="draft")
    browser = sign_in(tenant)
    form = {"action": "pause", "_selected_action": [first.id, second.id]}
    refusal = said(browser.post(page("reservations_event_changelist"), form))
    assert "Second" in refusal
    assert "An event that is draft can't be paused." in refusal
    assert {saved(tenant, id=event.id).status for event in (first, second)} == {"on_sale", "draft"}


def test_deletion_is_offered_for_a_draft_alone(tenant, make_event, sign_in):
    browser = sign_in(tenant)
    offered = {
        status: "Delete event" in browser.get(page("reservations_event_change", event.id)).content.decode()
        for status in ("draft", "on_sale", "paused", "closed")
        for event in [make_event(tenant, status=status)]
    }
    assert offered == {"draft": True, "on_sale": False, "paused": False, "closed": False}


def test_counts_read_a_lapsed_hold_as_available(tenant, furnish, sign_in, shift_clock):
    place = furnish(tenant)
    browser = sign_in(tenant)
    address = page("reservations_event_changelist")

    def counts() -> dict[str, int]:
        (event,) = browser.get(address).context["cl"].result_list
        return {state: event.counts[state] for state in ("total", "available", "held", "sold", "blocked")}

    assert counts() == {"total": 2, "available": 1, "held": 1, "sold": 0, "blocked": 0}
    shift_clock(601)
    assert counts() == {"total": 2, "available": 2, "held": 0, "sold": 0, "blocked": 0}
    assert place.hold


def delete(browser, event):
    return browser.post(page("reservations_event_delete", event.id), {"post": "yes"})


def delete_many(browser, *events):
    form = {"action": "delete_selected", "post": "yes", "_selected_action": [event.id for event in events]}
    return browser.post(page("reservations_event_changelist"), form)


def test_a_draft_goes_with_its_units(tenant, make_event, make_units, sign_in):
    event = make_event(tenant, status="draft")
    make_units(tenant, event, 3)
    assert "deleted successfully" in said(delete(sign_in(tenant), event))
    with tenant_transaction(tenant.id):
        assert (Event.objects.count(), Unit.objects.count()) == (0, 0)


@pytest.mark.parametrize("remove", [delete, delete_many])
@pytest.mark.parametrize(
    ("what", "named"),
    [("none", "it is on sale"), ("held", "1 held"), ("sold", "1 sold"), ("released", "1 hold on record")],
)
def test_what_sold_or_may_have_sold_stays(remove, what, named, tenant, make_event, make_units, make_hold, sign_in):
    event = make_event(tenant)
    make_units(tenant, event, labels=["A-1"])
    if what != "none":
        hold = make_hold(tenant, event, ["A-1"])
        {"held": lambda *_: None, "sold": sell, "released": release}[what](tenant.id, hold.id)
    answer = remove(sign_in(tenant), event)
    assert named in said(answer)
    assert "Close it instead" in said(answer)
    with tenant_transaction(tenant.id):
        assert (Event.objects.count(), Unit.objects.count()) == (1, 1)
        assert Hold.objects.count() == (what != "none")


def test_a_bulk_deletion_is_all_or_none(tenant, make_event, sign_in):
    draft, on_sale = make_event(tenant, status="draft"), make_event(tenant)
    assert "can't be deleted" in said(delete_many(sign_in(tenant), draft, on_sale))
    with tenant_transaction(tenant.id):
        assert Event.objects.count() == 2
