"""`/v1/payment-accounts`: through which providers a tenant's money comes, and where those send callbacks."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from holdfast.kernel.openapi import PAGE_PARAMETERS, answers, page_of
from holdfast.kernel.pagination import page
from reservations.checkout.accounts import callback_url
from reservations.models import PaymentAccount, PaymentAccountStatus, Provider
from tenants.api.views import TenantView
from tenants.scope import tenant_transaction


class PaymentAccountShown(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    provider = serializers.ChoiceField(Provider.choices)
    status = serializers.ChoiceField(PaymentAccountStatus.choices)
    callback_url = serializers.URLField(help_text="Where the provider sends its callbacks.")


def represent(account: PaymentAccount) -> dict[str, Any]:
    """The account as JSON, without its credentials."""
    return {
        "id": str(account.id),
        "provider": account.provider,
        "status": account.status,
        "callback_url": callback_url(account),
    }


class PaymentAccounts(TenantView):
    readable = False

    @extend_schema(
        operation_id="list_payment_accounts",
        parameters=PAGE_PARAMETERS,
        responses=answers({200: page_of(PaymentAccountShown)}),
    )
    def get(self, request: Request) -> Response:
        """List payment accounts. At most one is enabled: new payments go through it."""
        with tenant_transaction(self.tenant_id):
            accounts = PaymentAccount.objects.defer("credentials")
            return Response(page(accounts, request.query_params, name=self.list_name(request), represent=represent))
