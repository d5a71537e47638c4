"""Which account a tenant's money comes through, and its provider, ready to be asked."""

from django.conf import settings

from reservations.checkout.mock import MockProvider
from reservations.checkout.provider import PaymentProvider
from reservations.checkout.stripe import StripeProvider
from reservations.credentials import opened
from reservations.models import PaymentAccount, PaymentAccountStatus, Provider


def enabled_account() -> PaymentAccount | None:
    """The account that new payments go through, inside a tenant transaction; None where the tenant has none."""
    return PaymentAccount.objects.filter(status=PaymentAccountStatus.ENABLED).first()


def callback_url(account: PaymentAccount) -> str:
    """Where the provider sends its callbacks."""
    return f"{settings.PUBLIC_URL}/v1/payments/callbacks/{account.provider}/{account.id}"


def provider_of(account: PaymentAccount) -> PaymentProvider:
    """The provider of this account. Its calls raise CallInTransaction inside any database transaction.

    Raises CannotDecrypt where the secret key that locked the account's credentials is gone.
    """
    if account.provider == Provider.STRIPE:
        credentials = opened(account)
        return StripeProvider(credentials["secret_key"], credentials["webhook_secret"])
    return MockProvider(settings.MOCK_PSP_URL, str(account.id))
