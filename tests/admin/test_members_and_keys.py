"""Members and keys: who may act for a tenant; secrets are shown once."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.test import Client

from holdfast.kernel.errors import Conflict
from tenants.models import ApiKey, Membership, User
from tenants.operations.members import change_role, remove_member
from tenants.scope import tenant_transaction
from tests.admin.conftest import browser_of, page, said

KEY = {"name": "Shop", "scopes": ["holds", "read"]}


def secret_of(response) -> str:
    return re.search(r'<code id="secret"[^>]*>([^<]+)</code>', response.content.decode())[1]


def kept(secret: str) -> bool:
    """Whether the secret is found in a session or in the history."""
    logged = " ".join(f"{entry.object_repr} {entry.change_message}" for entry in LogEntry.objects.all())
    return secret in logged or any(secret in str(session.get_decoded()) for session in Session.objects.all())


def roles(tenant) -> dict[str, str]:
    with tenant_transaction(tenant.id):
        return {member.user.username: member.role for member in Membership.objects.select_related("user")}


def press(browser, key_id, action: str):
    form = {"CHANGE_FORM-action": action, "_selected_action": key_id}
    return browser.post(page("tenants_apikey_change", key_id), form)


def keys_named(tenant, name: str) -> list[ApiKey]:
    with tenant_transaction(tenant.id):
        return list(ApiKey.objects.filter(name=name))


def test_a_new_login_gets_a_password_that_is_shown_once_and_works(tenant, make_tenant, sign_in):
    browser = sign_in(tenant)
    login = f"new-{tenant.slug}@example.org"
    answer = browser.post(page("tenants_membership_add"), {"login": login, "role": "viewer"})
    password = secret_of(answer)
    assert roles(tenant)[login] == "viewer"
    assert not kept(password)
    assert password not in browser.get(page("tenants_membership_changelist")).content.decode()
    assert Client().post(page("login"), {"username": login, "password": password}).status_code == 302


def test_a_login_that_was_there_is_invited_and_keeps_its_password(tenant, make_tenant, make_member, sign_in):
    user = make_member(make_tenant(), "owner").user
    browser = sign_in(tenant)
    code = secret_of(browser.post(page("tenants_membership_add"), {"login": user.username, "role": "support"}))
    assert not kept(code)
    assert "invited" in browser.get(page("tenants_membership_changelist")).content.decode()
    assert roles(tenant)[user.username] == "support"
    assert User.objects.get(pk=user.pk).password == user.password


def test_a_member_is_not_added_twice(tenant, make_member, sign_in):
    user = make_member(tenant, "viewer").user
    answer = sign_in(tenant).post(page("tenants_membership_add"), {"login": user.username, "role": "owner"})
    assert "member already" in str(answer.context["adminform"].form.errors["login"])
    assert roles(tenant)[user.username] == "viewer"


def test_a_role_is_changed_and_a_member_removed(tenant, make_member, sign_in):
    membership = make_member(tenant, "viewer")
    browser = sign_in(tenant)
    browser.post(page("tenants_membership_change", membership.id), {"role": "manager"})
    assert roles(tenant)[membership.user.username] == "manager"
    browser.post(page("tenants_membership_delete", membership.id), {"post": "yes"})
    assert membership.user.username not in roles(tenant)


def test_the_last_owner_stays(tenant, make_member):
    membership = make_member(tenant, "owner")
    make_member(tenant, "manager")
    browser = browser_of(membership.user)
    answer = browser.post(page("tenants_membership_change", membership.id), {"role": "viewer"})
    assert "is the last owner" in str(answer.context["adminform"].form.errors)
    assert "is the last owner" in said(browser.post(page("tenants_membership_delete", membership.id), {"post": "yes"}))
    form = {"action": "delete_selected", "post": "yes", "_selected_action": [membership.id]}
    assert "is the last owner" in said(browser.post(page("tenants_membership_changelist"), form))
    assert roles(tenant)[membership.user.username] == "owner"


@pytest.mark.parametrize("round_", range(10))
def test_two_owners_who_end_each_other_at_once_leave_one(round_, tenant, make_member, run_together):
    first, second = make_member(tenant, "owner"), make_member(tenant, "owner")

    def refused(call) -> bool:
        try:
            call()
        except Conflict:
            return True
        return False

    outcomes = run_together(
        [
            lambda: refused(lambda: change_role(tenant_id=tenant.id, membership_id=first.id, role="viewer")),
            lambda: refused(lambda: remove_member(tenant_id=tenant.id, membership_id=second.id)),
        ]
    )
    assert sorted(outcomes) == [False, True]
    assert list(roles(tenant).values()).count("owner") == 1


def test_a_new_key_is_shown_once_and_works(tenant, sign_in, api):
    browser = sign_in(tenant)
    secret = secret_of(browser.post(page("tenants_apikey_add"), KEY))
    assert api(secret).get("/v1/events").status_code == 200
    (key,) = keys_named(tenant, "Shop")
    assert key.scopes == ["holds", "read"]
    assert not kept(secret)
    for address in (page("tenants_apikey_changelist"), page("tenants_apikey_change", key.id)):
        assert secret not in browser.get(address).content.decode()


def test_a_key_is_rotated_and_revoked(tenant, sign_in, api):
    browser = sign_in(tenant)
    first = secret_of(browser.post(page("tenants_apikey_add"), KEY))
    (key,) = keys_named(tenant, "Shop")
    second = secret_of(press(browser, key.id, "rotate"))
    assert second != first
    assert api(second).get("/v1/events").status_code == 200
    assert not kept(second)
    press(browser, key.id, "revoke")
    (key,) = keys_named(tenant, "Shop")
    assert key.revoked_at
    assert browser.get(page("tenants_apikey_change", key.id)).context["object_actions"] == []
    assert "can't be rotated" in said(press(browser, key.id, "rotate"))


@pytest.mark.parametrize(
    ("change", "field"),
    [({"scopes": ["root"]}, "scopes"), ({"scopes": []}, "scopes"), ({"expires_at": "2020-01-01T00:00"}, "expires_at")],
)
def test_a_key_that_makes_no_sense_is_refused(change, field, tenant, sign_in):
    answer = sign_in(tenant).post(page("tenants_apikey_add"), KEY | change)
    assert field in answer.context["adminform"].form.errors
    assert keys_named(tenant, "Shop") == []
