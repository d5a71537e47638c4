"""`/v1/api-keys`: list, create, revoke, rotate; scope `admin`."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from holdfast.kernel.clock import rfc3339
from holdfast.kernel.fields import BoundedListField, MomentField, StrictSerializer, TextField
from holdfast.kernel.openapi import IDEMPOTENCY_KEY, PAGE_PARAMETERS, answers, page_of
from holdfast.kernel.pagination import page
from tenants.api.idempotency import once
from tenants.api.views import NoMembers, TenantView
from tenants.models import ApiKey, Scope
from tenants.operations.api_keys import create_api_key, revoke_api_key, rotate_api_key
from tenants.scope import tenant_transaction


class ApiKeyBody(StrictSerializer):
    name = TextField(max_length=100)
    scopes = BoundedListField(child=serializers.ChoiceField(Scope.choices), min_length=1, max_length=len(Scope.values))
    expires_at = MomentField(required=False, allow_null=True)


class ApiKeyShown(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    prefix = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(Scope.choices))
    expires_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)


class ApiKeyWithSecret(ApiKeyShown):
    secret = serializers.CharField(allow_null=True, help_text="The whole key. Shown this once, and null in a replay.")


def represent(row: ApiKey) -> dict[str, Any]:
    """The key as JSON, without its secret."""
    return {
        "id": str(row.id),
        "name": row.name,
        "prefix": row.prefix,
        "scopes": row.scopes,
        "expires_at": rfc3339(row.expires_at),
        "created_at": rfc3339(row.created_at),
        "last_used_at": rfc3339(row.last_used_at),
        "revoked_at": rfc3339(row.revoked_at),
    }


class ApiKeys(TenantView):
    readable = False

    @extend_schema(
        operation_id="list_api_keys", parameters=PAGE_PARAMETERS, responses=answers({200: page_of(ApiKeyShown)})
    )
    def get(self, request: Request) -> Response:
        """List API keys."""
        with tenant_transaction(self.tenant_id):
            return Response(
                page(ApiKey.objects.all(), request.query_params, name=self.list_name(request), represent=represent)
            )

    @extend_schema(
        operation_id="create_api_key",
        parameters=[IDEMPOTENCY_KEY],
        request=ApiKeyBody,
        responses=answers({201: ApiKeyWithSecret}),
    )
    @once
    def post(self, request: Request) -> Response:
        """Create an API key; its secret is shown this once."""
        data = self.body(request, ApiKeyBody)
        row, secret = create_api_key(tenant_id=self.tenant_id, **data)
        return Response({**represent(row), "secret": secret}, status=201)


class RevokeApiKey(TenantView):
    @extend_schema(
        operation_id="revoke_api_key",
        parameters=[IDEMPOTENCY_KEY],
        request=NoMembers,
        responses=answers({200: ApiKeyShown}),
    )
    @once
    def post(self, request: Request, api_key_id: UUID) -> Response:
        """End an API key; it is dead within 5 seconds."""
        self.no_body(request)
        return Response(represent(revoke_api_key(tenant_id=self.tenant_id, api_key_id=api_key_id)))


class RotateApiKey(TenantView):
    @extend_schema(
        operation_id="rotate_api_key",
        parameters=[IDEMPOTENCY_KEY],
        request=NoMembers,
        responses=answers({200: ApiKeyWithSecret}),
    )
    @once
    def post(self, request: Request, api_key_id: UUID) -> Response:
        """Give an API key a new secret, shown this once; its id stays."""
        self.no_body(request)
        row, secret = rotate_api_key(tenant_id=self.tenant_id, api_key_id=api_key_id)
        return Response({**represent(row), "secret": secret})
