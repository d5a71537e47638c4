"""Units: what is held or sold keeps its name, place, price and times, and stays."""

from datetime import UTC, datetime

import pytest

from holdfast.kernel.errors import Refusal
from reservations.models import Unit
from reservations.operations.unit_changes import change_unit, delete_units
from tenants.scope import tenant_transaction
from tests.admin.conftest import page, said
from tests.reservations.state import release, sell

STARTS_AT = datetime(2027, 10, 31, 0, 30, tzinfo=UTC)  # the first of two 02:30 in Berlin
FORM = {"label": "A-1", "section": "Stalls", "row": "A", "number": "1", "price_amount": "25.00"}
CHANGES = {
    "label": "Z-9",
    "section": "Circle",
    "row": "B",
    "number": "2",
    "price_amount": "1.00",
    "starts_at": "2027-07-01T10:00",
    "ends_at": "2027-07-01T11:00",
}


@pytest.fixture
def event(tenant, make_event):
    return make_event(tenant)


@pytest.fixture
def unit(tenant, event, make_units):
    (unit,) = make_units(
        tenant, event, labels=["A-1"], section="Stalls", row="A", number="1", price_amount=2500, starts_at=STARTS_AT
    )
    return unit


def stored(tenant, unit) -> dict[str, object] | None:
    with tenant_transaction(tenant.id):
        return Unit.objects.filter(id=unit.id).values().first()


def claimed(tenant, event, make_hold, how: str) -> None:
    hold = make_hold(tenant, event, ["A-1"])
    if how == "sold":
        sell(tenant.id, hold.id)


def act(browser, event, action: str, *units, **more):
    form = {"action": action, "_selected_action": [unit.id for unit in units], **more}
    return browser.post(page("reservations_unit_changelist", event=event.id), form)


@pytest.mark.parametrize("field", CHANGES)
def test_a_free_unit_can_be_changed(field, tenant, event, unit, sign_in):
    form = FORM | {"starts_at": "2027-10-31T02:30"} | {field: CHANGES[field]}
    if field == "ends_at":
        form |= {"starts_at": "2027-07-01T10:00"}
    answer = sign_in(tenant).post(page("reservations_unit_change", unit.id), form)
    assert answer["Location"] == page("reservations_unit_changelist", event=event.id)
    after = stored(tenant, unit)
    assert {"price_amount": after["price_amount"] == 100}.get(field, after[field] != getattr(unit, field))
    if field not in {"starts_at", "ends_at"}:
        assert after["starts_at"] == STARTS_AT


@pytest.mark.parametrize("how", ["held", "sold"])
def test_a_claimed_unit_is_shown_without_a_form(how, tenant, event, unit, make_hold, sign_in):
    claimed(tenant, event, make_hold, how)
    opened = sign_in(tenant).get(page("reservations_unit_change", unit.id))
    assert 'name="label"' not in opened.content.decode()
    assert 'name="_save"' not in opened.content.decode()


@pytest.mark.parametrize("field", CHANGES)
@pytest.mark.parametrize("how", ["held", "sold"])
def test_a_unit_that_was_claimed_since_the_form_was_opened_stays(how, field, tenant, event, unit, make_hold, sign_in):
    browser = sign_in(tenant)
    assert 'name="label"' in browser.get(page("reservations_unit_change", unit.id)).content.decode()
    claimed(tenant, event, make_hold, how)
    before = stored(tenant, unit)
    answer = browser.post(page("reservations_unit_change", unit.id), FORM | {field: CHANGES[field]})
    assert answer.status_code == 200
    assert f"A-1 is {how}" in answer.content.decode()
    assert stored(tenant, unit) == before


def test_a_label_that_another_unit_has_is_refused_and_nothing_kept(tenant, event, unit, make_units, sign_in):
    make_units(tenant, event, labels=["A-2"])
    before = stored(tenant, unit)
    answer = sign_in(tenant).post(page("reservations_unit_change", unit.id), FORM | {"label": "A-2", "row": "B"})
    assert "label" in answer.context["adminform"].form.errors
    assert stored(tenant, unit) == before


def test_a_hold_and_a_renaming_at_once_end_with_the_same_label(
    tenant, event, unit, make_units, make_hold, run_together
):
    for number in range(20):
        (unit,) = make_units(tenant, event, labels=[f"R-{number}"])

        def rename(unit=unit):
            return change_unit(tenant_id=tenant.id, unit_id=unit.id, label=f"New {unit.label}")

        def hold(unit=unit):
            return make_hold(tenant, event, [unit.label])

        def tried(call):
            def outcome():
                try:
                    return call()
                except (Refusal, AssertionError) as refusal:
                    return refusal

            return outcome

        renamed, held = run_together([tried(rename), tried(hold)])
        with tenant_transaction(tenant.id):
            now = Unit.objects.select_related("hold").get(id=unit.id)
        if now.hold is not None:
            assert now.hold.items[0]["label"] == now.label, (renamed, held)


@pytest.mark.parametrize("bulk", [True, False])
@pytest.mark.parametrize("how", ["held", "sold", "released"])
def test_a_unit_that_a_hold_names_is_not_deleted(how, bulk, tenant, event, unit, make_units, make_hold, sign_in):
    (other,) = make_units(tenant, event, labels=["A-2"])
    hold = make_hold(tenant, event, ["A-1"])
    {"held": lambda *_: None, "sold": sell, "released": release}[how](tenant.id, hold.id)
    browser = sign_in(tenant)
    if bulk:
        answer = act(browser, event, "delete_selected", unit, other, post="yes")
    else:
        answer = browser.post(page("reservations_unit_delete", unit.id), {"post": "yes"})
    assert "A-1" in said(answer)
    assert "deleted successfully" not in said(answer)
    assert stored(tenant, unit)
    assert stored(tenant, other)


def test_free_units_are_deleted_together(tenant, event, make_units, sign_in):
    units = make_units(tenant, event, 3)
    act(sign_in(tenant), event, "delete_selected", *units, post="yes")
    assert [stored(tenant, unit) for unit in units] == [None] * 3


def test_a_hold_and_a_deletion_at_once_leave_no_hold_without_its_unit(
    tenant, event, make_units, make_hold, run_together
):
    for _ in range(20):
        (unit,) = make_units(tenant, event, 1)

        def remove(unit=unit):
            try:
                return delete_units(tenant_id=tenant.id, unit_ids=[unit.id])
            except Refusal:
                return 0

        def hold(unit=unit):
            try:
                return make_hold(tenant, event, [unit.label])
            except AssertionError:
                return None

        removed, held = run_together([remove, hold])
        assert bool(removed) != bool(held)
        assert bool(stored(tenant, unit)) == bool(held)


def test_blocking_is_all_or_none_and_names_what_stands_in_the_way(tenant, event, unit, make_units, make_hold, sign_in):
    (other,) = make_units(tenant, event, labels=["A-2"])
    make_hold(tenant, event, ["A-1"])
    assert "A-1 is held" in said(act(sign_in(tenant), event, "block", unit, other))
    assert stored(tenant, other)["status"] == "available"


def test_units_are_blocked_and_put_back_on_sale(tenant, event, unit, sign_in):
    browser = sign_in(tenant)
    act(browser, event, "block", unit)
    assert stored(tenant, unit)["status"] == "blocked"
    act(browser, event, "unblock", unit)
    assert stored(tenant, unit)["status"] == "available"


def test_a_lapsed_hold_reads_available_and_lets_go(tenant, event, unit, make_hold, sign_in, shift_clock):
    make_hold(tenant, event, ["A-1"])
    shift_clock(601)
    browser = sign_in(tenant)
    address = page("reservations_unit_changelist", event=event.id)
    assert browser.get(f"{address}&state=available").context["cl"].result_count == 1
    assert browser.get(f"{address}&state=held").context["cl"].result_count == 0
    answer = browser.post(
        page("reservations_unit_change", unit.id), FORM | {"starts_at": "2027-10-31T02:30", "row": "Z"}
    )
    assert answer.status_code == 302
    assert (stored(tenant, unit)["row"], stored(tenant, unit)["status"]) == ("Z", "available")


def test_more_than_the_most_at_a_time_is_refused(tenant, event, make_units, sign_in):
    units = make_units(tenant, event, 5_001)
    answer = act(sign_in(tenant), event, "block", units[0], select_across="1")
    assert "at most 5,000 at a time" in said(answer)
    assert stored(tenant, units[0])["status"] == "available"
