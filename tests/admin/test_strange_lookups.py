"""A list takes the lookups that its filters offer; any other in its address is refused, and is no fault of ours."""

import pytest

from holdfast.admin import organizer_site
from tests.admin.conftest import page

STRANGE = {"year": "0", "regex": "("}
LISTS = sorted(organizer_site._registry.items(), key=lambda entry: entry[0].__name__)
EACH = pytest.mark.parametrize(("model", "admin"), LISTS, ids=[model.__name__ for model, _ in LISTS])


def offered(admin) -> set[str]:
    """The names that the filters ask by."""
    return {f"{entry}__exact" if isinstance(entry, str) else entry.parameter_name for entry in admin.list_filter}


def looks(browser, place, model, lookups: list[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """What the list answers to each."""
    browser.raise_request_exception = False
    address = page(f"{model._meta.app_label}_{model._meta.model_name}_changelist")
    event = {"event": place.event.id} if model.__name__ == "Unit" else {}  # that list is of one event
    return {(name, value): browser.get(address, event | {name: value}).status_code for name, value in lookups}


@EACH
def test_a_lookup_that_no_filter_offers_is_refused(model, admin, tenant, furnish, sign_in):
    names = [field.name for field in model._meta.fields]
    lookups = [(f"{name}__{lookup}", value) for name in names for lookup, value in STRANGE.items()]
    lookups += [(name, "x") for name in names if name not in offered(admin)]
    found = looks(sign_in(tenant), furnish(tenant), model, lookups)
    assert {lookup: status for lookup, status in found.items() if status != 400} == {}


@EACH
def test_what_the_filters_offer_is_taken_whatever_its_value(model, admin, tenant, furnish, sign_in):
    lookups = [(name, value) for name in offered(admin) - {"event"} for value in ("", "x", "(")]
    found = looks(sign_in(tenant), furnish(tenant), model, lookups)
    assert {lookup: status for lookup, status in found.items() if status != 200} == {}
