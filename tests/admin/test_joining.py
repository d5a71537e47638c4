"""A login is the platform's, its first password was shown to whoever added it: neither opens another tenant's space."""

import hashlib
import re

import pytest
from django.db import IntegrityError
from django.test import Client

from holdfast.kernel.errors import Conflict, Invalid
from tenants.models import Membership, User
from tenants.operations.members import add_member, change_role, join, remove_member
from tenants.scope import tenant_transaction
from tests.admin.conftest import browser_of, page, said, settle

OWN = "a password of my own"
EVENTS = "reservations_event_changelist"


def secret_of(response) -> str:
    return re.search(r'<code id="secret"[^>]*>([^<]+)</code>', response.content.decode())[1]


def logged_in(login: str, password: str) -> Client:
    browser = Client()
    assert browser.post(page("login"), {"username": login, "password": password}).status_code == 302
    return browser


def change_password(browser, old: str, new: str):
    return browser.post(page("password_change"), {"old_password": old, "new_password1": new, "new_password2": new})


def enter(browser, code: str):
    return browser.post(page("join"), {"code": code})


def fault(answer) -> str:
    return str(answer.context["form"].errors)


@pytest.fixture
def invited(tenant, make_tenant, make_member):
    """A person who is at home in another tenant and invited to `tenant` as a manager, and their code."""
    user = make_member(make_tenant(), "viewer").user
    membership, code = add_member(tenant_id=tenant.id, login=user.username, role="manager")
    return membership, user, code


@pytest.fixture
def newcomer(tenant):
    """A new login, and the first password that its maker was shown."""
    membership, password = add_member(tenant_id=tenant.id, login=f"bea-{tenant.slug}@example.org", role="manager")
    return membership.user, password


@pytest.mark.parametrize("changes_it", [True, False])
def test_the_maker_of_a_login_does_not_get_into_the_next_tenant_that_adds_it(changes_it, tenant, make_tenant, sign_in):
    victim = make_tenant()
    login = f"bea-{tenant.slug}@example.org"
    password = secret_of(sign_in(tenant).post(page("tenants_membership_add"), {"login": login, "role": "viewer"}))
    code = secret_of(sign_in(victim).post(page("tenants_membership_add"), {"login": login, "role": "owner"}))
    thief = logged_in(login, password)
    if changes_it:
        change_password(thief, password, OWN)
    thief.post(page("tenant"), {"tenant": victim.slug})
    assert victim.slug not in thief.get(page("tenants_apikey_changelist"), follow=True).content.decode()
    made = thief.post(page("tenants_apikey_add"), {"_tenant": victim.slug, "name": "Stolen", "scopes": ["admin"]})
    assert b'id="secret"' not in made.content
    if not changes_it:
        assert enter(thief, code)["Location"] == page("password_change")
    with tenant_transaction(victim.id):
        assert Membership.objects.get(user__username=login).is_invited


def test_a_first_password_is_changed_before_any_page(tenant, newcomer, make_event):
    user, password = newcomer
    event = make_event(tenant)
    browser = logged_in(user.username, password)
    addresses = [page("index"), page(EVENTS), page("join"), page("jobs"), page("reservations_event_change", event.id)]
    for address in addresses:
        for answer in (browser.get(address), browser.post(address, {"code": "x"})):
            assert answer["Location"] == page("password_change"), address
    assert "Choose a password of your own" in browser.get(page("password_change")).content.decode()
    assert "choose another" in fault(change_password(browser, password, password))
    assert browser.get(page(EVENTS)).status_code == 302
    assert change_password(browser, password, OWN)["Location"] == page("password_change_done")
    assert browser.get(page("password_change_done")).status_code == 200
    assert browser.get(page(EVENTS)).status_code == 200
    assert not User.objects.get(pk=user.pk).must_change_password


def test_a_first_password_that_was_changed_opens_nothing_for_who_was_shown_it(newcomer):
    user, password = newcomer
    thief, person = logged_in(user.username, password), logged_in(user.username, password)
    change_password(person, password, OWN)
    assert thief.get(page(EVENTS))["Location"].startswith(page("login"))
    assert Client().post(page("login"), {"username": user.username, "password": password}).status_code == 200


def test_who_owes_a_password_can_log_out(newcomer):
    browser = logged_in(*((newcomer[0].username, newcomer[1])))
    assert browser.post(page("logout")).status_code == 200
    assert browser.get(page(EVENTS))["Location"].startswith(page("login"))


def test_an_invitation_counts_for_nothing(tenant, invited, make_event):
    _, user, _ = invited
    make_event(tenant, name="Not yet theirs")
    browser = browser_of(user)
    assert "Not yet theirs" not in browser.get(page(EVENTS)).content.decode()
    assert "no such organizer" in said(browser.post(page("tenant"), {"tenant": tenant.slug}))


def test_a_code_opens_the_tenant_that_gave_it_once(tenant, invited, make_event, sign_in):
    membership, user, code = invited
    make_event(tenant, name="Theirs now")
    browser = browser_of(user)
    assert "You belong to" in said(enter(browser, f" {code} "))
    assert "Theirs now" in browser.get(page(EVENTS)).content.decode()
    assert browser.get(page("reservations_event_add")).status_code == 200
    assert "was used" in fault(enter(browser, code))
    remove_member(tenant_id=tenant.id, membership_id=membership.id)
    assert "was used" in fault(enter(browser, code))


def test_a_code_is_stored_as_its_hash(tenant, invited):
    membership, _, code = invited
    with tenant_transaction(tenant.id):
        stored = Membership.objects.filter(id=membership.id).values().get()
    assert bytes(stored["join_code_sha256"]) == hashlib.sha256(code.encode()).digest()
    assert code not in str(stored)


def test_a_code_is_good_for_the_invited_login_alone(tenant, make_tenant, make_member, invited):
    _, _, code = invited
    for other in (make_member(make_tenant(), "owner").user, make_member(tenant, "viewer").user):
        assert "not for your login" in fault(enter(browser_of(other), code))


@pytest.mark.parametrize("code", ["", "x", "\N{SNOWMAN}" * 50, "y" * 101])
def test_a_code_that_is_none_is_refused(code, invited):
    assert "code" in enter(browser_of(invited[1]), code).context["form"].errors


def test_a_code_ends_after_seven_days(tenant, invited, sign_in, shift_clock):
    _, user, code = invited
    owner = sign_in(tenant)
    shift_clock(7 * 24 * 3600 + 1)
    with pytest.raises(Invalid):
        join(user=user, code=code)
    assert "invitation over" in owner.get(page("tenants_membership_changelist")).content.decode()


def test_an_invitation_that_was_taken_back_is_over_and_a_new_one_has_another_code(tenant, invited):
    membership, user, code = invited
    remove_member(tenant_id=tenant.id, membership_id=membership.id)
    _, renewed = add_member(tenant_id=tenant.id, login=user.username, role="viewer")
    with pytest.raises(Invalid):
        join(user=user, code=code)
    assert join(user=user, code=renewed).role == "viewer"


def test_no_code_is_taken_while_the_password_is_a_shown_one(make_tenant, newcomer):
    user, _ = newcomer
    _, code = add_member(tenant_id=make_tenant().id, login=user.username, role="owner")
    with pytest.raises(Conflict, match="password of your own"):
        join(user=user, code=code)
    settle(user, OWN)
    assert join(user=user, code=code).role == "owner"


def test_of_two_who_enter_a_code_at_once_one_is_told_that_it_was_used(invited, run_together):
    _, user, code = invited

    def tried() -> bool:
        try:
            return bool(join(user=user, code=code))
        except Invalid:
            return False

    assert sorted(run_together([tried] * 4)) == [False, False, False, True]


def test_an_invited_owner_is_none_yet(tenant, make_tenant, make_member):
    owner = make_member(tenant, "owner")
    other = make_member(make_tenant(), "viewer").user
    invitation, _ = add_member(tenant_id=tenant.id, login=other.username, role="owner")
    with pytest.raises(Conflict, match="last owner"):
        remove_member(tenant_id=tenant.id, membership_id=owner.id)
    with pytest.raises(Conflict, match="last owner"):
        change_role(tenant_id=tenant.id, membership_id=owner.id, role="viewer")
    remove_member(tenant_id=tenant.id, membership_id=invitation.id)


def test_who_is_only_invited_can_log_in_to_join(tenant, make_tenant, make_member):
    home = make_tenant()
    membership = make_member(home, "viewer")
    settle(membership.user, OWN)
    _, code = add_member(tenant_id=tenant.id, login=membership.user.username, role="viewer")
    remove_member(tenant_id=home.id, membership_id=membership.id)
    browser = logged_in(membership.user.username, OWN)
    answer = browser.get(page(EVENTS))
    assert answer.status_code == 403
    assert page("join") in answer.content.decode()
    assert browser.get(page("join")).status_code == 200
    assert enter(browser, code).status_code == 302
    assert browser.get(page(EVENTS)).status_code == 200


@pytest.mark.parametrize("field", ["join_code_sha256", "join_code_expires_at"])
def test_the_database_keeps_no_code_without_its_end(field, tenant, invited):
    with pytest.raises(IntegrityError, match="membership_join_code_has_an_end"), tenant_transaction(tenant.id):
        Membership.objects.filter(id=invited[0].id).update(**{field: None})
