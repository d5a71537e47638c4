"""From an account to its provider, which is never asked inside a transaction."""

from datetime import UTC, datetime

import pytest
from django.db import transaction

from reservations.checkout.accounts import callback_url, enabled_account, provider_of
from reservations.checkout.calls import CallInTransaction
from reservations.checkout.provider import ChargeOutcome, ProviderAway, RefundOrder, RefundOutcome
from reservations.operations.payment_accounts import disable_account, open_account
from tenants.scope import tenant_transaction
from tests.checkout.at_stripe import order
from tests.support.stripe_server import KEY, WEBHOOK_SECRET, event, signed
from tests.support.web import free_port

BACK = RefundOrder("hf-r", "any", 1, "EUR", "")


def current(tenant):
    with tenant_transaction(tenant.id):
        return enabled_account()


@pytest.fixture
def at_mock(tenant, settings, psp):
    settings.MOCK_PSP_URL = psp.url
    return provider_of(current(tenant))


def test_the_first_account_charges_at_the_mock_provider(at_mock, psp, key):
    assert at_mock.charge(order(key, "tok_ok")).outcome == ChargeOutcome.SUCCEEDED
    (charge,) = psp.charges(key)
    assert charge["amount"] == 2500


def test_each_account_has_books_of_its_own(at_mock, make_tenant, key):
    at_mock.charge(order(key, "tok_ok"))
    other = provider_of(current(make_tenant()))
    assert at_mock.lookup(key, None).outcome == ChargeOutcome.SUCCEEDED
    assert other.lookup(key, None).outcome == ChargeOutcome.ABSENT


def test_a_stripe_account_is_read_with_its_own_secrets(tenant):
    credentials = {"secret_key": KEY, "webhook_secret": WEBHOOK_SECRET}
    account = open_account(tenant_id=tenant.id, provider="stripe", credentials=credentials)
    body = event("charge.updated", {"id": "ch_1"})
    assert provider_of(current(tenant)).verify_callback(body, signed(body)).reference == "ch_1"
    assert callback_url(account) == f"http://127.0.0.1:8000/v1/payments/callbacks/stripe/{account.id}"


def test_a_tenant_whose_account_was_disabled_has_none(tenant):
    disable_account(tenant_id=tenant.id, account_id=current(tenant).id)
    assert current(tenant) is None


@pytest.mark.parametrize("alias", ["default", "maintenance"])
def test_no_call_leaves_inside_a_transaction(at_mock, psp, key, alias):
    with transaction.atomic(using=alias):
        for ask in (
            lambda: at_mock.charge(order(key, "tok_ok")),
            lambda: at_mock.lookup(key, None),
            lambda: at_mock.refund(BACK),
            lambda: list(at_mock.charges(datetime.now(UTC), datetime.now(UTC))),
        ):
            with pytest.raises(CallInTransaction, match=alias):
                ask()
    assert psp.charges(key) == []


def test_outside_of_one_nothing_is_raised_for_what_the_world_does(tenant, settings, key):
    settings.MOCK_PSP_URL = f"http://127.0.0.1:{free_port()}"
    nowhere = provider_of(current(tenant))
    assert nowhere.charge(order(key, "tok_ok")).outcome == ChargeOutcome.UNKNOWN
    assert nowhere.refund(BACK).outcome == RefundOutcome.UNKNOWN
    with pytest.raises(ProviderAway):
        list(nowhere.charges(datetime.now(UTC), datetime.now(UTC)))
