"""Another tenant's rows are as if they did not exist: on every page, action, filter and popup of the site."""

import re
from uuid import uuid4

import pytest
from django.urls import URLPattern, get_resolver

from holdfast.admin import organizer_site
from reservations.models import Difference, Event, Hold, Order, PaymentAccount, Refund, Ticket, Unit
from tenants.models import ApiKey, Membership
from tenants.scope import tenant_transaction
from tests.admin.conftest import page, said
from webhooks.models import Delivery, Endpoint, Replay

FORM_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="\w+"|data-seconds-left.*?<')
MODELS = ["reservations_event", "reservations_unit", "reservations_hold", "reservations_ticket"]
MODELS += [
    "reservations_order",
    "reservations_difference",
    "reservations_paymentaccount",
    "tenants_membership",
    "tenants_apikey",
    "webhooks_endpoint",
    "webhooks_delivery",
]
APPS = ("reservations_", "tenants_", "webhooks_")


def row_pages() -> list[str]:
    """The name of every page of the site that is about one row."""
    patterns, todo = [], list(get_resolver().url_patterns)
    while todo:
        entry = todo.pop()
        if isinstance(entry, URLPattern):
            patterns.append(entry)
        else:
            todo += entry.url_patterns
    named = [entry for entry in patterns if entry.name and entry.name.startswith(APPS)]
    return sorted({entry.name for entry in named if "object_id" in entry.pattern.converters})


def model_of(name: str) -> str:
    return next(model for model in MODELS if name.startswith(model))


def answers(browser, address: str, row: object, form: dict | None = None) -> tuple[object, ...]:
    """What one sees of a page: status, place and body, with the row's id left out."""
    browser.cookies.pop("messages", None)
    response = browser.get(address) if form is None else browser.post(address, form)
    text = said(response) + FORM_TOKEN.sub("", response.content.decode())
    return response.status_code, response.get("Location", ""), text.replace(str(row), "ID")


def everything(tenant_id) -> dict[str, list[dict]]:
    of_sales = (Event, Unit, Hold, Order, Refund, Ticket, Difference, PaymentAccount)
    with tenant_transaction(tenant_id):
        return {
            model.__name__: list(model.objects.order_by("id").values())
            for model in (*of_sales, ApiKey, Membership, Endpoint, Delivery, Replay)
        }


def test_the_walk_covers_every_page_of_every_model():
    pages = row_pages()
    assert (
        {model_of(name) for name in pages}
        == set(MODELS)
        == {f"{model._meta.app_label}_{model._meta.model_name}" for model in organizer_site._registry}
    )
    assert {"change", "delete", "history"} <= {name.rsplit("_", 1)[1] for name in pages}
    assert {"reservations_event_add_units", "reservations_order_refund", "reservations_order_review"} <= set(pages)
    assert {"webhooks_endpoint_rotate", "webhooks_endpoint_replay"} <= set(pages)


@pytest.mark.parametrize(
    "form",
    [
        None,
        {"post": "yes", "name": "Taken", "slug": "taken", "role": "viewer", "rows": "A"},
        {
            "overlap": "0",
            "since": "2026-01-01T00:00",
            "status": "all",
            "url": "https://example.org/",
            "events": "hold.*",
        },
    ],
)
def test_a_page_of_anothers_row_answers_as_that_of_an_unknown_one(form, make_tenant, furnish, sign_in):
    mine, other = make_tenant(), make_tenant()
    place = furnish(other, sold=True)
    before = everything(other.id)
    browser = sign_in(mine)
    for name in row_pages():
        theirs, unknown = place.rows[model_of(name)], uuid4()
        for popup in ({}, {"_popup": 1}, {"_to_field": "id"}):
            seen = [answers(browser, page(name, row, **popup), row, form) for row in (theirs, unknown)]
            assert seen[0] == seen[1], name
            assert seen[0][0] in {302, 403, 404}, name
    assert everything(other.id) == before


@pytest.mark.parametrize(
    "pressed",
    ["publish", "pause", "close", "rotate", "revoke", "release", "reissue", "disable", "enable", "ping", "retry"],
)
def test_a_button_does_nothing_to_anothers_row(pressed, make_tenant, furnish, sign_in):
    mine, other = make_tenant(), make_tenant()
    place = furnish(other, sold=True)
    before = everything(other.id)
    browser = sign_in(mine)
    for model in MODELS:
        for row in (place.rows[model], uuid4()):
            form = {"CHANGE_FORM-action": pressed, "_selected_action": row, "sure": "yes"}
            assert browser.post(page(f"{model}_change", row), form).status_code == 302
    assert everything(other.id) == before


def test_a_bulk_action_on_anothers_rows_finds_none(make_tenant, furnish, sign_in):
    mine, other = make_tenant(), make_tenant()
    place, own = furnish(other, sold=True), furnish(mine, sold=True)
    before = everything(other.id)
    browser = sign_in(mine)
    for model in MODELS:
        address = page(f"{model}_changelist", **({"event": own.event.id} if model == "reservations_unit" else {}))
        for action in (
            "delete_selected",
            "close",
            "pause",
            "block",
            "unblock",
            "revoke",
            "release",
            "reissue",
            "disable",
            "enable",
            "retry",
        ):
            seen = [
                answers(
                    browser, address, row, {"action": action, "post": "yes", "sure": "yes", "_selected_action": [row]}
                )
                for row in (place.rows[model], uuid4())
            ]
            assert seen[0] == seen[1], (model, action)
    assert everything(other.id) == before


def test_an_id_that_is_none_is_a_message_and_no_fault(tenant, furnish, sign_in):
    place = furnish(tenant, sold=True)
    browser = sign_in(tenant)
    for model in MODELS:
        query = {"event": place.event.id} if model == "reservations_unit" else {}
        for action in ("delete_selected", "close", "block", "revoke", "release"):
            form = {"action": action, "_selected_action": ["nonsense"]}
            assert browser.post(page(f"{model}_changelist", **query), form).status_code < 500, (model, action)


def test_a_filter_by_anothers_event_shows_nothing(make_tenant, furnish, sign_in):
    mine, other = make_tenant(), make_tenant()
    place = furnish(other, sold=True)
    furnish(mine, sold=True)
    browser = sign_in(mine)
    for row in (place.event.id, uuid4(), "nonsense"):
        units = browser.get(page("reservations_unit_changelist", event=row))
        assert (units.status_code, units["Location"]) == (302, page("reservations_event_changelist"))
        holds = browser.get(page("reservations_hold_changelist", event=row))
        assert holds.context["cl"].result_count == 0


def test_lists_show_ones_own_rows_alone(make_tenant, furnish, sign_in):
    mine, other = make_tenant(), make_tenant()
    own, place = furnish(mine, sold=True), furnish(other, sold=True)
    browser = sign_in(mine)
    for model in MODELS:
        query = {"event": own.event.id} if model == "reservations_unit" else {}
        text = browser.get(page(f"{model}_changelist", **query)).content.decode()
        assert str(own.rows[model]) in text, model
        assert str(place.rows[model]) not in text, model


def test_autocomplete_finds_ones_own_events_alone(make_tenant, furnish, sign_in):
    mine, other = make_tenant(), make_tenant()
    own, place = furnish(mine, sold=True), furnish(other, sold=True)
    query = {"app_label": "reservations", "model_name": "unit", "field_name": "event", "term": "show"}
    found = sign_in(mine).get(page("autocomplete", **query))
    assert found.status_code == 200
    assert str(own.event.id) in found.content.decode()
    assert str(place.event.id) not in found.content.decode()


def test_the_pages_that_look_across_everything_are_not_there(tenant, furnish, sign_in):
    browser = sign_in(tenant)
    for path in ("search/?s=show", "r/1/1/", "auth/user/", "auth/group/", "tenants/user/", "tenants/tenant/"):
        assert browser.get(f"/admin/{path}").status_code == 404, path


def test_the_history_of_another_tenant_is_not_on_the_first_page(make_tenant, furnish, make_event, sign_in):
    mine, other = make_tenant(), make_tenant()
    theirs = make_event(other, name="Their secret show")
    sign_in(other).post(
        page("reservations_event_change", theirs.id), {"CHANGE_FORM-action": "pause", "_selected_action": theirs.id}
    )
    for address in (page("index"), page("app_list", "reservations")):
        assert "Their secret show" not in sign_in(mine).get(address, follow=True).content.decode()
