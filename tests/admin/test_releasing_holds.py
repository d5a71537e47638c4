"""Releasing holds in the admin: who may, what it asks for, and what is said when it can't be."""

from uuid import uuid4

import pytest

from reservations.admin.release import RELEASED_MAX
from reservations.models import Hold, Unit
from tenants.scope import tenant_transaction
from tests.admin.conftest import page, said
from tests.reservations.state import sell

RELEASERS = {"owner", "manager", "support"}
RELEASE, LIST = "reservations_hold_release", "reservations_hold_changelist"


def button(hold) -> dict:
    return {"CHANGE_FORM-action": "release", "_selected_action": hold.id}


def state(tenant, hold) -> tuple[str, str, list[str]]:
    """The hold's status and reason, and the labels that it still has."""
    with tenant_transaction(tenant.id):
        row = Hold.objects.get(id=hold.id)
        return row.status, row.release_reason, sorted(Unit.objects.filter(hold=row).values_list("label", flat=True))


@pytest.mark.parametrize("role", ["owner", "manager", "support", "viewer", "scanner"])
def test_only_some_roles_see_it_and_can_do_it(role, tenant, furnish, sign_in):
    place = furnish(tenant)
    browser = sign_in(tenant, role)
    address = page("reservations_hold_change", place.hold.id)
    seen = browser.get(address).content.decode()
    assert ('value="release"' in seen) is (role in RELEASERS)
    assert ('value="release"' in browser.get(page(LIST)).content.decode()) is (role in RELEASERS)
    asked = browser.post(address, button(place.hold))
    assert ("release-form" in asked.content.decode()) is (role in RELEASERS)
    assert state(tenant, place.hold) == ("active", "", ["A-1"])
    answer = browser.post(page(RELEASE), {"hold": place.hold.id, "reason": "a reason"})
    assert answer.status_code == (302 if role in RELEASERS else 403)
    assert state(tenant, place.hold) == (("released", "a reason", []) if role in RELEASERS else ("active", "", ["A-1"]))


def test_from_the_button_to_the_page_of_the_released_hold(tenant, furnish, sign_in):
    place = furnish(tenant)
    browser = sign_in(tenant, "support")
    address = page("reservations_hold_change", place.hold.id)
    asked = browser.post(address, button(place.hold)).content.decode()
    for part in ("grace@example.org (A-1)", f'name="hold" value="{place.hold.id}"', 'name="_tenant"', 'name="reason"'):
        assert part in asked, part
    answer = browser.post(page(RELEASE), {"hold": place.hold.id, "reason": "  She <b>called</b>  "})
    assert (answer.status_code, answer["Location"]) == (302, address)
    shown = browser.get(address).content.decode()
    assert "The hold was released." in shown
    assert "She &lt;b&gt;called&lt;/b&gt;" in shown
    assert 'value="release"' not in shown
    with tenant_transaction(tenant.id):
        assert Hold.objects.get().ended_at is not None


def test_a_reason_may_stay_empty(tenant, furnish, sign_in):
    place = furnish(tenant)
    sign_in(tenant).post(page(RELEASE), {"hold": place.hold.id})
    assert state(tenant, place.hold) == ("released", "", [])


@pytest.mark.parametrize("reason", ["x" * 201, "two\nlines", "a\x07b"])
def test_a_reason_that_is_none_is_asked_for_again(reason, tenant, furnish, sign_in):
    place = furnish(tenant)
    answer = sign_in(tenant).post(page(RELEASE), {"hold": place.hold.id, "reason": reason})
    assert answer.status_code == 200
    assert answer.context["form"].errors["reason"]
    assert state(tenant, place.hold) == ("active", "", ["A-1"])


def test_an_expired_hold_is_refused_in_words(tenant, furnish, sign_in, shift_clock):
    place = furnish(tenant)
    shift_clock(601)
    browser = sign_in(tenant)
    address = page("reservations_hold_change", place.hold.id)
    assert 'value="release"' not in browser.get(address).content.decode()
    answer = browser.post(page(RELEASE), {"hold": place.hold.id})
    assert said(answer) == "Not released. grace@example.org (A-1): The hold's time has passed."
    assert state(tenant, place.hold)[0] == "active"


def test_a_converted_hold_is_refused_in_words(tenant, furnish, sign_in):
    place = furnish(tenant)
    sell(tenant.id, place.hold.id)
    answer = sign_in(tenant).post(page(RELEASE), {"hold": place.hold.id})
    assert said(answer) == "Not released. grace@example.org (A-1): The hold has become an order."
    assert state(tenant, place.hold) == ("converted", "", ["A-1"])


def test_a_second_release_changes_no_reason_and_says_so(tenant, furnish, sign_in):
    place = furnish(tenant)
    browser = sign_in(tenant)
    browser.post(page(RELEASE), {"hold": place.hold.id, "reason": "first"})
    answer = browser.post(page(RELEASE), {"hold": place.hold.id, "reason": "second"})
    assert said(answer).endswith("Not released. grace@example.org (A-1): it was released already.")
    assert state(tenant, place.hold)[1] == "first"


def test_many_at_once_and_one_that_ended_keeps_no_other(tenant, make_event, make_units, make_hold, sign_in):
    event = make_event(tenant)
    make_units(tenant, event, labels=["A-1", "A-2", "A-3"])
    holds = [make_hold(tenant, event, [label]) for label in ("A-1", "A-2", "A-3")]
    sell(tenant.id, holds[1].id)
    browser = sign_in(tenant)
    asked = browser.post(page(LIST), {"action": "release", "_selected_action": [hold.id for hold in holds]})
    assert asked.content.decode().count('name="hold"') == 3
    answer = browser.post(page(RELEASE), {"hold": [hold.id for hold in holds], "reason": "the show is off"})
    assert (answer.status_code, answer["Location"]) == (302, page(LIST))
    assert "2 holds were released." in said(answer)
    assert "Not released. grace@example.org (A-2): The hold has become an order." in said(answer)
    assert [state(tenant, hold)[0] for hold in holds] == ["released", "converted", "released"]


def test_a_hold_that_left_the_list_and_too_many_are_messages(tenant, furnish, make_units, make_hold, sign_in):
    place = furnish(tenant)
    browser = sign_in(tenant)
    gone = browser.post(page(LIST, state="expired"), {"action": "release", "_selected_action": place.hold.id})
    assert (gone.status_code, said(gone)) == (302, "These holds are not in this list any more.")
    labels = [f"B-{number}" for number in range(RELEASED_MAX)]
    make_units(tenant, place.event, labels=labels)
    holds = [place.hold, *(make_hold(tenant, place.event, [label]) for label in labels)]
    many = browser.post(page(RELEASE), {"hold": [hold.id for hold in holds]})
    assert said(many).endswith(f"Release at most {RELEASED_MAX} at a time.")
    assert browser.get(many["Location"])["Location"] == page(LIST)
    assert state(tenant, place.hold)[0] == "active"


def test_anothers_hold_answers_as_an_unknown_one(make_tenant, furnish, sign_in):
    mine, other = make_tenant(), make_tenant()
    place = furnish(other)
    browser = sign_in(mine)
    for row in (place.hold.id, uuid4()):
        answer = browser.post(page(RELEASE), {"hold": row, "reason": "mine now"})
        assert (answer.status_code, said(answer)) == (302, "These holds are not in this list any more.")
        browser.cookies.pop("messages", None)
    assert browser.post(page(RELEASE), {"hold": "nonsense"}).status_code == 302
    assert state(other, place.hold) == ("active", "", ["A-1"])


def test_a_form_from_another_tenant_releases_nothing(tenant, furnish, sign_in):
    place = furnish(tenant)
    answer = sign_in(tenant).post(page(RELEASE), {"hold": place.hold.id, "_tenant": "some-other"})
    assert "nothing was changed" in said(answer)
    assert state(tenant, place.hold)[0] == "active"
