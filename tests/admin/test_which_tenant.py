"""One tenant at a time: who gets in, how they change it, and what ends it."""

import secrets

import pytest
from django.test import Client
from django.urls import reverse

from holdfast.admin import organizer_site
from reservations.models import Event
from tenants.models import Membership, User
from tenants.operations.members import remove_member
from tenants.scope import tenant_transaction
from tests.admin.conftest import browser_of, page, said

EVENTS = "reservations_event_changelist"


def log_in(login: str, password: str):
    browser = Client()
    return browser.post(page("login"), {"username": login, "password": password})


@pytest.fixture
def superuser(database_name) -> User:
    return User.objects.create_superuser(f"root-{secrets.token_hex(6)}", password="a long password")


@pytest.fixture
def in_two(make_tenant, make_member, make_event):
    """A viewer of one tenant who owns another, each with an event."""
    first, second = sorted((make_tenant(), make_tenant()), key=lambda tenant: tenant.slug)
    user = make_member(first, "viewer").user
    make_member(second, "owner", login=user.username)
    make_event(first, name="Event of the first")
    make_event(second, name="Event of the second")
    return user, first, second


def test_a_member_logs_in_without_being_staff(tenant, make_member):
    user = make_member(tenant, "viewer").user
    user.set_password("a long password")
    user.save()
    assert not user.is_staff
    assert log_in(user.username, "a long password").status_code == 302


def test_a_login_without_a_tenant_is_refused(database_name):
    user = User.objects.create_user("lonely@example.org", password="a long password", is_staff=True)
    answer = log_in(user.username, "a long password")
    assert answer.status_code == 200
    assert "belongs to no organizer" in answer.content.decode()


def test_platform_staff_without_any_tenant_are_told_how_to_make_one(superuser, rf, tenant, make_member):
    def told(user) -> str:
        request = rf.get("/admin/")
        request.user = user
        return organizer_site._no_tenant(request).render().content.decode()

    assert "create_tenant" in told(superuser)
    assert "Ask an owner" not in told(superuser)
    assert "create_tenant" not in told(make_member(tenant, "owner").user), "they have no server"


def test_a_login_that_is_switched_off_is_refused(tenant, make_member):
    user = make_member(tenant, "owner").user
    user.set_password("a long password")
    user.is_active = False
    user.save()
    assert log_in(user.username, "a long password").status_code == 200


def test_a_stranger_is_sent_to_the_login(client, database_name):
    assert client.get(page(EVENTS))["Location"].startswith(reverse("admin:login"))
    assert client.post(page("tenant"), {"tenant": "x"})["Location"] == reverse("admin:login")


def test_the_front_page_leads_to_the_admin(client, database_name):
    assert client.get("/")["Location"] == reverse("admin:index")


def test_a_member_of_two_changes_from_one_to_the_other(in_two):
    user, first, second = in_two
    browser = browser_of(user)
    assert "Event of the first" in browser.get(page(EVENTS)).content.decode()
    assert browser.get(page("reservations_event_add")).status_code == 403
    assert browser.post(page("tenant"), {"tenant": second.slug}).status_code == 302
    shown = browser.get(page(EVENTS)).content.decode()
    assert "Event of the second" in shown
    assert "Event of the first" not in shown
    assert browser.get(page("reservations_event_add")).status_code == 200
    assert browser.post(page("tenant"), {"tenant": first.slug}).status_code == 302
    assert browser.get(page("reservations_event_add")).status_code == 403


def test_the_change_needs_a_post_with_a_token(in_two):
    user, _, second = in_two
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(user)
    assert browser.get(page("tenant"), {"tenant": second.slug}).status_code == 405
    assert browser.post(page("tenant"), {"tenant": second.slug}).status_code == 403


def test_one_cant_change_to_anothers_tenant(in_two, make_tenant):
    user, _, _ = in_two
    browser = browser_of(user)
    for slug in (make_tenant().slug, "there-is-none", ""):
        assert "no such organizer" in said(browser.post(page("tenant"), {"tenant": slug}))
        browser.cookies.pop("messages", None)
    assert "Event of the first" in browser.get(page(EVENTS)).content.decode()


def test_a_forged_session_is_judged_anew(in_two, make_tenant):
    user, _, _ = in_two
    browser = browser_of(user)
    session = browser.session
    session["tenant_id"] = str(make_tenant().id)
    session.save()
    assert browser.get(page(EVENTS))["Location"] == page("index")
    assert "Event of the first" in browser.get(page(EVENTS)).content.decode()


def test_a_membership_that_ends_takes_effect_at_once(tenant, make_member, make_event):
    make_member(tenant, "owner")
    membership = make_member(tenant, "owner")
    event = make_event(tenant, name="Still here")
    browser = browser_of(membership.user)
    assert browser.get(page(EVENTS)).status_code == 200
    remove_member(tenant_id=tenant.id, membership_id=membership.id)
    answer = browser.get(page(EVENTS))
    assert answer.status_code == 403
    assert "no organizer here that you belong to" in answer.content.decode()
    form = {"CHANGE_FORM-action": "close", "_selected_action": event.id, "sure": "yes"}
    assert browser.post(page("reservations_event_change", event.id), form).status_code == 403
    with tenant_transaction(tenant.id):
        assert Event.objects.get().status == "on_sale"
    assert browser.post(page("logout")).status_code == 200


def test_a_write_after_a_membership_ended_does_not_land_in_the_other_tenant(in_two):
    user, first, second = in_two
    browser = browser_of(user)
    browser.post(page("tenant"), {"tenant": second.slug})
    with tenant_transaction(second.id):
        Membership.objects.filter(user=user).delete()
    assert browser.post(page("reservations_event_add"), {"name": "Lost"})["Location"] == page("index")
    with tenant_transaction(first.id):
        assert [event.name for event in Event.objects.all()] == ["Event of the first"]


def test_a_role_that_changes_takes_effect_at_once(tenant, make_member):
    make_member(tenant, "owner")
    membership = make_member(tenant, "owner")
    browser = browser_of(membership.user)
    assert browser.get(page("tenants_apikey_changelist")).status_code == 200
    with tenant_transaction(tenant.id):
        Membership.objects.filter(id=membership.id).update(role="viewer")
    assert browser.get(page("tenants_apikey_changelist")).status_code == 403


def test_a_form_that_was_opened_in_another_tenant_is_not_taken(in_two, superuser):
    _, first, second = in_two
    browser = browser_of(superuser)
    browser.post(page("tenant"), {"tenant": first.slug})
    opened = browser.get(page("reservations_event_add")).content.decode()
    assert f'name="_tenant" value="{first.slug}"' in opened
    browser.post(page("tenant"), {"tenant": second.slug})
    form = {"_tenant": first.slug, "name": "Stray", "slug": "stray", "kind": "seats", "currency": "EUR"}
    form |= {"timezone": "UTC", "hold_ttl_seconds": 60, "hold_extensions_max": 0, "units_per_hold_max": 4}
    assert browser.post(page("reservations_event_add"), form)["Location"] == page("index")
    for tenant in (first, second):
        with tenant_transaction(tenant.id):
            assert not Event.objects.filter(slug="stray").exists()


def test_platform_staff_act_as_owner_in_any_tenant(in_two, superuser):
    _, first, second = in_two
    browser = browser_of(superuser)
    for tenant, name in ((first, "Event of the first"), (second, "Event of the second")):
        browser.post(page("tenant"), {"tenant": tenant.slug})
        assert name in browser.get(page(EVENTS)).content.decode()
        assert browser.get(page("tenants_apikey_add")).status_code == 200


def test_a_page_is_kept_by_no_cache(tenant, sign_in):
    assert "no-store" in sign_in(tenant).get(page(EVENTS))["Cache-Control"]
