"""`/v1/webhooks/endpoints`: create, list, read, change, delete, enable, disable, ping, rotate the secret."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from holdfast.kernel.fields import BoundedListField, StrictIntegerField, StrictSerializer, TextField
from holdfast.kernel.openapi import IDEMPOTENCY_KEY, PAGE_PARAMETERS, answers, example, page_of
from holdfast.kernel.pagination import page
from tenants.api.idempotency import once
from tenants.api.views import NoMembers, TenantView
from tenants.scope import tenant_transaction
from webhooks.api.fields import PatternField
from webhooks.api.shown import DeliveryBegunShown, EndpointShown, EndpointWithSecret
from webhooks.models import Endpoint
from webhooks.operations.endpoints import (
    OVERLAP_SECONDS,
    OVERLAP_SECONDS_MAX,
    change_endpoint,
    create_endpoint,
    delete_endpoint,
    disable_endpoint,
    enable_endpoint,
    ping_endpoint,
    rotate_secret,
)
from webhooks.queries.endpoints import endpoint_json, endpoints, get_endpoint


class EndpointBody(StrictSerializer):
    url = TextField(
        max_length=Endpoint.URL_LENGTH_MAX,
        trim_whitespace=False,
        help_text="https on a public address; in development http to this machine, too",
    )
    events = BoundedListField(
        child=PatternField(),
        min_length=1,
        max_length=Endpoint.EVENTS_MAX,
        help_text="types of messages, and patterns such as hold.*",
    )
    description = TextField(
        max_length=Endpoint.DESCRIPTION_LENGTH_MAX, required=False, allow_null=True, allow_blank=True
    )

    def validate_description(self, text: str | None) -> str:
        return text or ""


EXAMPLE = {
    "url": "https://shop.example.org/hooks",
    "events": ["hold.*", "order.confirmed"],
    "description": "The shop",
}


class EndpointView(TenantView):
    """What the views of endpoints share."""

    scopes = ("webhooks",)

    def with_secret(self, made: tuple[Endpoint, str], status: int = 200) -> Response:
        """The one answer that shows the secret; what is kept of it under an idempotency key does not."""
        endpoint, secret = made
        return Response({**endpoint_json(endpoint), "secret": secret}, status=status)


class Endpoints(EndpointView):
    @extend_schema(
        operation_id="list_endpoints", parameters=PAGE_PARAMETERS, responses=answers({200: page_of(EndpointShown)})
    )
    def get(self, request: Request) -> Response:
        """List endpoints, oldest first."""
        with tenant_transaction(self.tenant_id):
            name = self.list_name(request)
            return Response(page(endpoints(), request.query_params, name=name, represent=endpoint_json))

    @extend_schema(
        operation_id="create_endpoint",
        parameters=[IDEMPOTENCY_KEY],
        request=EndpointBody,
        examples=[example("A shop", EXAMPLE)],
        responses=answers({201: EndpointWithSecret}),
    )
    @once
    def post(self, request: Request) -> Response:
        """Have messages sent to a URL; its secret is shown this once.

        The secret signs them, as Standard Webhooks has it. The endpoint is told what happens from now on; a replay
        tells it of what was before.
        """
        body = self.body(request, EndpointBody)
        return self.with_secret(create_endpoint(tenant_id=self.tenant_id, **body), status=201)


class OneEndpoint(EndpointView):
    @extend_schema(operation_id="get_endpoint", responses=answers({200: EndpointShown}))
    def get(self, request: Request, endpoint_id: UUID) -> Response:
        """Read an endpoint."""
        with tenant_transaction(self.tenant_id):
            return Response(endpoint_json(get_endpoint(endpoint_id)))

    @extend_schema(
        operation_id="change_endpoint", request=EndpointBody(partial=True), responses=answers({200: EndpointShown})
    )
    def patch(self, request: Request, endpoint_id: UUID) -> Response:
        """Change an endpoint.

        What is left out stays. What is on its way goes to the new URL at its next attempt.
        """
        fields = self.body(request, EndpointBody, partial=True)
        return Response(endpoint_json(change_endpoint(tenant_id=self.tenant_id, endpoint_id=endpoint_id, **fields)))

    @extend_schema(operation_id="delete_endpoint", responses=answers({204: None}))
    def delete(self, request: Request, endpoint_id: UUID) -> Response:
        """Delete an endpoint.

        Nothing more is sent to it, and its deliveries are gone. Messages stay, in the change feed.
        """
        delete_endpoint(tenant_id=self.tenant_id, endpoint_id=endpoint_id)
        return Response(status=204)


class EnableEndpoint(EndpointView):
    @extend_schema(
        operation_id="enable_endpoint",
        parameters=[IDEMPOTENCY_KEY],
        request=NoMembers,
        responses=answers({200: EndpointShown}),
    )
    @once
    def post(self, request: Request, endpoint_id: UUID) -> Response:
        """Enable an endpoint; its failures are forgotten.

        What waited for it is sent now. What happened while it was disabled is told by a replay.
        """
        self.no_body(request)
        return Response(endpoint_json(enable_endpoint(tenant_id=self.tenant_id, endpoint_id=endpoint_id)))


class DisableEndpoint(EndpointView):
    @extend_schema(
        operation_id="disable_endpoint",
        parameters=[IDEMPOTENCY_KEY],
        request=NoMembers,
        responses=answers({200: EndpointShown}),
    )
    @once
    def post(self, request: Request, endpoint_id: UUID) -> Response:
        """Disable an endpoint; what is on its way waits."""
        self.no_body(request)
        return Response(endpoint_json(disable_endpoint(tenant_id=self.tenant_id, endpoint_id=endpoint_id)))


class PingEndpoint(EndpointView):
    @extend_schema(
        operation_id="ping_endpoint",
        parameters=[IDEMPOTENCY_KEY],
        request=NoMembers,
        responses=answers({202: DeliveryBegunShown}),
    )
    @once
    def post(self, request: Request, endpoint_id: UUID) -> Response:
        """Send an endpoint a `ping` about itself, whatever it asks for.

        The delivery tells what came of it. 409 where the endpoint is disabled.
        """
        self.no_body(request)
        delivery_id = ping_endpoint(tenant_id=self.tenant_id, endpoint_id=endpoint_id)
        return Response({"delivery": str(delivery_id)}, status=202)


class RotateBody(StrictSerializer):
    defaults = {"overlap_seconds": OVERLAP_SECONDS}

    overlap_seconds = StrictIntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=OVERLAP_SECONDS_MAX,
        help_text="how long the secret before signs, too",
    )


class RotateSecret(EndpointView):
    @extend_schema(
        operation_id="rotate_secret",
        parameters=[IDEMPOTENCY_KEY],
        request=RotateBody,
        responses=answers({200: EndpointWithSecret}),
    )
    @once
    def post(self, request: Request, endpoint_id: UUID) -> Response:
        """Give an endpoint a new secret, shown this once.

        Until the overlap ends both sign, so that a receiver may change over at any moment of it. A secret that others
        may have seen is rotated with an overlap of 0.
        """
        overlap_seconds = self.optional_body(request, RotateBody).get("overlap_seconds")
        overlap: dict[str, Any] = {} if overlap_seconds is None else {"overlap_seconds": overlap_seconds}
        return self.with_secret(rotate_secret(tenant_id=self.tenant_id, endpoint_id=endpoint_id, **overlap))
