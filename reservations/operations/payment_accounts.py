"""Payment accounts: open, disable, enable. Of each tenant one is enabled; another one takes its place.

An account's credentials never change: payments that went through it are looked up and refunded through it, enabled or
not. Whoever has new ones opens a new account.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q

from holdfast.kernel.errors import Invalid, NotFound
from reservations.credentials import checked, locked
from reservations.models import PaymentAccount, PaymentAccountStatus, Provider
from tenants.scope import hold_name, tenant_transaction

ENABLED = Q(status=PaymentAccountStatus.ENABLED)


def open_account(*, tenant_id: UUID, provider: str, credentials: Mapping[str, Any]) -> PaymentAccount:
    """A new account, enabled in place of the one that was. Raises Invalid, which repeats no credentials."""
    _refuse_mock_in_production(provider)
    secrets = locked(checked(provider, credentials))
    with tenant_transaction(tenant_id):
        _make_room(tenant_id)
        return PaymentAccount.objects.create(tenant_id=tenant_id, provider=provider, credentials=secrets)


def disable_account(*, tenant_id: UUID, account_id: UUID) -> PaymentAccount:
    """No new payment goes through it; a second time changes nothing. Raises NotFound."""
    with tenant_transaction(tenant_id):
        PaymentAccount.objects.filter(ENABLED, id=account_id).update(status=PaymentAccountStatus.DISABLED)
        account = PaymentAccount.objects.filter(id=account_id).first()
        if account is None:
            raise NotFound
        return account


def enable_account(*, tenant_id: UUID, account_id: UUID) -> PaymentAccount:
    """New payments go through it, in place of the one that was enabled. Raises NotFound; Invalid for the mock provider
    in production."""
    with tenant_transaction(tenant_id):
        account = PaymentAccount.objects.filter(id=account_id).first()
        if account is None:
            raise NotFound
        _refuse_mock_in_production(account.provider)
        _make_room(tenant_id)
        PaymentAccount.objects.filter(id=account_id).update(status=PaymentAccountStatus.ENABLED)
        return PaymentAccount.objects.get(id=account_id)


def _refuse_mock_in_production(provider: str) -> None:
    if provider == Provider.MOCK and not settings.MOCK_PROVIDER_ALLOWED:
        raise Invalid.at("/provider", "not_in_production", "The mock provider takes no money: it is for development.")


def _make_room(tenant_id: UUID) -> None:
    """No account is enabled, and none will be by anybody else until this transaction ends."""
    hold_name(b"payment accounts" + tenant_id.bytes)
    PaymentAccount.objects.filter(ENABLED).update(status=PaymentAccountStatus.DISABLED)


def open_first_account(tenant_id: UUID) -> None:
    """In development, and where there is none yet: an account at the mock provider."""
    if not settings.MOCK_PROVIDER_ALLOWED:
        return
    with tenant_transaction(tenant_id):
        if not PaymentAccount.objects.exists():
            open_account(tenant_id=tenant_id, provider=Provider.MOCK, credentials={})
