"""Payment accounts, for owners: secrets go in and never come out, and the callback address can be copied."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session

from reservations.credentials import opened
from reservations.models import PaymentAccount
from reservations.operations.payment_accounts import disable_account
from tenants.scope import tenant_transaction
from tests.admin.conftest import page, said

LIST, ADD = "reservations_paymentaccount_changelist", "reservations_paymentaccount_add"
CHANGE = "reservations_paymentaccount_change"
SECRETS = {"secret_key": "rk_live_4eC39HqLyjWDarjtT1zdp7dc", "webhook_secret": "whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6"}
STRIPE = {"provider": "stripe", **SECRETS}


def accounts_of(tenant) -> list[PaymentAccount]:
    with tenant_transaction(tenant.id):
        return list(PaymentAccount.objects.order_by("id"))


def shows_a_secret(text: str) -> bool:
    return any(secret in text for secret in SECRETS.values())


def kept_somewhere() -> bool:
    """Whether a secret is found in a session or in the history."""
    logged = " ".join(f"{entry.object_repr} {entry.change_message}" for entry in LogEntry.objects.all())
    return shows_a_secret(logged) or any(
        shows_a_secret(str(session.get_decoded())) for session in Session.objects.all()
    )


def test_an_owner_opens_an_account_and_is_shown_where_its_events_go(tenant, sign_in):
    browser = sign_in(tenant)
    answer = browser.post(page(ADD), STRIPE)
    first, second = accounts_of(tenant)
    address = f"http://127.0.0.1:8000/v1/payments/callbacks/stripe/{second.id}"

    assert answer.status_code == 302
    assert address in said(answer)
    assert (first.status, second.status, second.provider) == ("disabled", "enabled", "stripe")
    assert opened(second) == SECRETS
    for shown in (page(LIST), page(CHANGE, second.id)):
        text = browser.get(shown).content.decode()
        assert address in text
        assert not shows_a_secret(text)
    assert not kept_somewhere()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"secret_key": "pk_live_4eC39HqLyjWDarjtT1zdp7dc"}, "secret_key"),
        ({"secret_key": ""}, "secret_key"),
        ({"webhook_secret": "whsec_"}, "webhook_secret"),
        ({"provider": "paypal"}, "provider"),
        ({"provider": "mock"}, "__all__"),
    ],
)
def test_what_is_wrong_is_said_and_no_secret_is_shown_again(tenant, sign_in, change, field):
    answer = sign_in(tenant).post(page(ADD), STRIPE | change)
    assert field in answer.context["adminform"].form.errors
    assert not shows_a_secret(answer.content.decode())
    assert [account.provider for account in accounts_of(tenant)] == ["mock"]


def test_a_secret_that_was_pasted_with_its_line_end_is_taken(tenant, sign_in):
    sign_in(tenant).post(page(ADD), STRIPE | {"secret_key": f" {SECRETS['secret_key']}\n"})
    assert opened(accounts_of(tenant)[-1]) == SECRETS


def test_in_production_there_is_no_mock_provider(tenant, sign_in, settings):
    settings.MOCK_PROVIDER_ALLOWED = False
    answer = sign_in(tenant).post(page(ADD), {"provider": "mock"})
    assert "for development" in str(answer.context["adminform"].form.errors["provider"])
    assert len(accounts_of(tenant)) == 1


def press(browser, name: str, account: PaymentAccount):
    """A button on the account's page."""
    return browser.post(page(CHANGE, account.id), {"CHANGE_FORM-action": name, "_selected_action": account.id})


def statuses(tenant) -> list[str]:
    return [account.status for account in accounts_of(tenant)]


def test_an_account_is_disabled_from_its_page_and_from_the_list(tenant, sign_in):
    browser = sign_in(tenant)
    (account,) = accounts_of(tenant)
    change = page(CHANGE, account.id)
    assert [name for name, _ in browser.get(change).context["object_actions"]] == ["disable"]

    assert "is disabled" in said(press(browser, "disable", account))
    assert accounts_of(tenant)[0].status == "disabled"
    assert [name for name, _ in browser.get(change).context["object_actions"]] == ["enable"]
    browser.post(page(ADD), STRIPE)
    newest = accounts_of(tenant)[-1]
    browser.post(page(LIST), {"action": "disable", "_selected_action": [newest.id]})
    assert statuses(tenant) == ["disabled", "disabled"]


def test_an_account_is_enabled_again_from_its_page_and_from_the_list(tenant, sign_in):
    browser = sign_in(tenant)
    browser.post(page(ADD), STRIPE)
    mock, stripe = accounts_of(tenant)
    assert "is enabled: new payments go through it" in said(press(browser, "enable", mock))
    assert statuses(tenant) == ["enabled", "disabled"]
    browser.post(page(LIST), {"action": "enable", "_selected_action": [stripe.id]})
    assert statuses(tenant) == ["disabled", "enabled"]
    assert LogEntry.objects.filter(change_message="Enabled.", object_id__in=[mock.id, stripe.id]).count() == 2
    browser.cookies.pop("messages", None)
    both = browser.post(page(LIST), {"action": "enable", "_selected_action": [mock.id, stripe.id]})
    assert "only one account is enabled" in said(both)
    assert statuses(tenant) == ["disabled", "enabled"]


def test_in_production_the_mock_provider_is_not_enabled_again(tenant, sign_in, settings):
    browser = sign_in(tenant)
    browser.post(page(ADD), STRIPE)
    settings.MOCK_PROVIDER_ALLOWED = False
    browser.cookies.pop("messages", None)
    assert "for development" in said(press(browser, "enable", accounts_of(tenant)[0]))
    assert statuses(tenant) == ["disabled", "enabled"]


@pytest.mark.parametrize("role", ["manager", "support", "scanner", "viewer"])
def test_nobody_but_an_owner_touches_them(tenant, sign_in, role):
    browser = sign_in(tenant, role)
    (account,) = accounts_of(tenant)
    assert browser.post(page(ADD), STRIPE).status_code == 403
    assert press(browser, "disable", account).status_code == 403
    assert statuses(tenant) == ["enabled"]
    disable_account(tenant_id=tenant.id, account_id=account.id)
    assert press(browser, "enable", account).status_code == 403
    assert statuses(tenant) == ["disabled"]
    listed = browser.get(page("reservations_event_changelist"), follow=True).content.decode()
    assert page(LIST) not in listed
