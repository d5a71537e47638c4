"""Payment accounts: one enabled of each tenant, credentials that are right and that nobody reads."""

from functools import partial
from typing import Any

import pytest

from holdfast.demo import make_demo
from holdfast.kernel.encryption import CannotDecrypt
from holdfast.kernel.errors import Invalid, NotFound
from reservations.credentials import opened
from reservations.models import PaymentAccount
from reservations.operations.payment_accounts import (
    disable_account,
    enable_account,
    open_account,
    open_first_account,
)
from tenants.scope import tenant_transaction

SECRET_KEY, WEBHOOK_SECRET = "sk_test_4eC39HqLyjWDarjtT1zdp7dc", "whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6e8FH"
STRIPE = {"secret_key": SECRET_KEY, "webhook_secret": WEBHOOK_SECRET}


def accounts_of(tenant: Any) -> list[tuple[str, str]]:
    """Provider and status of each, the oldest first."""
    with tenant_transaction(tenant.id):
        return list(PaymentAccount.objects.order_by("id").values_list("provider", "status"))


def open_stripe(tenant: Any, **changed: Any) -> PaymentAccount:
    return open_account(tenant_id=tenant.id, provider="stripe", credentials=STRIPE | changed)


def test_a_new_tenant_can_be_paid_at_once_in_development(tenant):
    assert accounts_of(tenant) == [("mock", "enabled")]
    open_first_account(tenant.id)
    assert len(accounts_of(tenant)) == 1


def test_in_production_a_new_tenant_has_no_account_and_none_that_takes_no_money(make_tenant, settings):
    settings.MOCK_PROVIDER_ALLOWED = False
    tenant = make_tenant()
    assert accounts_of(tenant) == []
    with pytest.raises(Invalid) as refused:
        open_account(tenant_id=tenant.id, provider="mock", credentials={})
    assert refused.value.errors[0].place == "/provider"
    assert accounts_of(tenant) == []


def test_a_demo_that_was_made_without_an_account_gets_one(database_name):
    demo = make_demo()
    with tenant_transaction(demo.tenant.id):
        PaymentAccount.objects.all().delete()
    make_demo()
    make_demo()
    assert accounts_of(demo.tenant) == [("mock", "enabled")]


def test_another_account_takes_the_place_of_the_one_that_was_enabled(tenant):
    open_stripe(tenant)
    assert accounts_of(tenant) == [("mock", "disabled"), ("stripe", "enabled")]


def test_of_accounts_that_are_opened_at_once_one_is_enabled(tenant, run_together):
    run_together([lambda: open_stripe(tenant)] * 8)
    assert sorted(status for _, status in accounts_of(tenant)) == [*["disabled"] * 8, "enabled"]


def test_an_account_is_disabled_however_often_it_is_asked_for(tenant):
    account = open_stripe(tenant)
    for _ in range(2):
        assert disable_account(tenant_id=tenant.id, account_id=account.id).status == "disabled"
    assert accounts_of(tenant) == [("mock", "disabled"), ("stripe", "disabled")]


def test_an_account_that_was_disabled_takes_the_place_of_the_one_that_is_enabled(tenant):
    first = open_stripe(tenant)
    open_stripe(tenant)
    for _ in range(2):
        assert enable_account(tenant_id=tenant.id, account_id=first.id).status == "enabled"
        assert accounts_of(tenant) == [("mock", "disabled"), ("stripe", "enabled"), ("stripe", "disabled")]
    assert opened(first) == STRIPE


def test_of_accounts_that_are_enabled_and_opened_at_once_one_is_enabled(tenant, run_together):
    account = open_stripe(tenant)
    enable = partial(enable_account, tenant_id=tenant.id, account_id=account.id)
    run_together([enable, lambda: open_stripe(tenant)] * 4)
    assert sorted(status for _, status in accounts_of(tenant)) == [*["disabled"] * 5, "enabled"]


def test_in_production_the_mock_provider_is_not_enabled_again(tenant, settings):
    open_stripe(tenant)
    with tenant_transaction(tenant.id):
        mock = PaymentAccount.objects.get(provider="mock")
    settings.MOCK_PROVIDER_ALLOWED = False
    with pytest.raises(Invalid):
        enable_account(tenant_id=tenant.id, account_id=mock.id)
    assert accounts_of(tenant) == [("mock", "disabled"), ("stripe", "enabled")]


@pytest.mark.parametrize("change", [disable_account, enable_account])
def test_another_tenants_account_is_not_there(change, tenant, make_tenant):
    other = make_tenant()
    disabled, enabled = open_stripe(other), open_stripe(other)
    for account in (disabled, enabled):
        with pytest.raises(NotFound):
            change(tenant_id=tenant.id, account_id=account.id)
    assert accounts_of(other)[1:] == [("stripe", "disabled"), ("stripe", "enabled")]
    assert accounts_of(tenant) == [("mock", "enabled")]


def test_credentials_are_kept_encrypted_and_opened_after_a_rotation(tenant, settings):
    account = open_stripe(tenant)
    stored = bytes(PaymentAccount.everywhere.get(id=account.id).credentials)
    assert SECRET_KEY.encode() not in stored
    assert WEBHOOK_SECRET.encode() not in stored

    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "n" * 40
    assert opened(account) == STRIPE
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(CannotDecrypt):
        opened(account)


@pytest.mark.parametrize(
    ("provider", "credentials", "places"),
    [
        ("stripe", {}, ["/secret_key", "/webhook_secret"]),
        ("stripe", STRIPE | {"secret_key": "pk_test_4eC39HqLyjWDarjtT1zdp7dc"}, ["/secret_key"]),
        ("stripe", STRIPE | {"secret_key": SECRET_KEY + "\n"}, ["/secret_key"]),
        ("stripe", STRIPE | {"secret_key": SECRET_KEY + "é"}, ["/secret_key"]),
        ("stripe", STRIPE | {"secret_key": "sk_test_"}, ["/secret_key"]),
        ("stripe", STRIPE | {"secret_key": "sk_test_" + "x" * 1000}, ["/secret_key"]),
        ("stripe", STRIPE | {"secret_key": 7}, ["/secret_key"]),
        ("stripe", STRIPE | {"webhook_secret": SECRET_KEY}, ["/webhook_secret"]),
        ("stripe", STRIPE | {"webhook_secret": None}, ["/webhook_secret"]),
        ("stripe", STRIPE | {"account": "acct_1"}, [""]),
        ("mock", STRIPE, [""]),
        ("paypal", STRIPE, ["/provider"]),
        ("", {}, ["/provider"]),
    ],
)
def test_credentials_that_are_none_are_refused_without_a_word_of_them(tenant, provider, credentials, places):
    with pytest.raises(Invalid) as refused:
        open_account(tenant_id=tenant.id, provider=provider, credentials=credentials)
    assert [error.place for error in refused.value.errors] == places
    told = f"{refused.value} {refused.value.document()}"
    assert not [value for value in credentials.values() if isinstance(value, str) and value in told]
    assert accounts_of(tenant) == [("mock", "enabled")]
