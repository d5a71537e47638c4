"""`/v1/webhooks/deliveries`: list, read one with its attempts, retry."""

from uuid import UUID

from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from holdfast.kernel.openapi import IDEMPOTENCY_KEY, PAGE_PARAMETERS, answers, page_of, text_filter
from holdfast.kernel.pagination import page
from holdfast.kernel.parameters import choice_parameter, id_parameter
from tenants.api.idempotency import once
from tenants.api.views import NoMembers, TenantView
from tenants.scope import tenant_transaction
from webhooks.api.shown import DeliveryBegunShown, DeliveryShown, DeliveryWithAttempts
from webhooks.models import DeliveryStatus
from webhooks.operations.deliveries import retry_delivery
from webhooks.queries.deliveries import deliveries, delivery_json, get_delivery, one_delivery_json


class Deliveries(TenantView):
    scopes = ("webhooks",)

    @extend_schema(
        operation_id="list_deliveries",
        parameters=[
            *PAGE_PARAMETERS,
            text_filter("endpoint", format="uuid"),
            text_filter("status", enum=DeliveryStatus.values),
            text_filter("message", format="uuid"),
        ],
        responses=answers({200: page_of(DeliveryShown)}),
    )
    def get(self, request: Request) -> Response:
        """List deliveries, oldest first.

        They are kept for 7 days, dead ones for 30.
        """
        query = request.query_params
        wanted = Q()
        if endpoint_id := id_parameter(query, "endpoint"):
            wanted &= Q(endpoint_id=endpoint_id)
        if status := choice_parameter(query, "status", DeliveryStatus.values):
            wanted &= Q(status=status)
        if message_id := id_parameter(query, "message"):
            wanted &= Q(message_id=message_id)
        with tenant_transaction(self.tenant_id):
            name = self.list_name(request)
            return Response(page(deliveries().filter(wanted), query, name=name, represent=delivery_json))


class OneDelivery(TenantView):
    scopes = ("webhooks",)

    @extend_schema(operation_id="get_delivery", responses=answers({200: DeliveryWithAttempts}))
    def get(self, request: Request, delivery_id: UUID) -> Response:
        """Read a delivery, with all attempts to make it."""
        with tenant_transaction(self.tenant_id):
            return Response(one_delivery_json(get_delivery(delivery_id)))


class RetryDelivery(TenantView):
    scopes = ("webhooks",)

    @extend_schema(
        operation_id="retry_delivery",
        parameters=[IDEMPOTENCY_KEY],
        request=NoMembers,
        responses=answers({202: DeliveryBegunShown}),
    )
    @once
    def post(self, request: Request, delivery_id: UUID) -> Response:
        """Deliver now what waits, and once more what was delivered or is dead.

        The message keeps its id. 409 where the endpoint is disabled.
        """
        self.no_body(request)
        delivery = retry_delivery(tenant_id=self.tenant_id, delivery_id=delivery_id)
        return Response({"delivery": str(delivery.id)}, status=202)
