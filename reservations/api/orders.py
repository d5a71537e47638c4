"""`/v1/orders`: pay for a hold, read, list, refund, cancel."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.db.models import Q
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from holdfast.kernel.errors import FieldError, Invalid
from holdfast.kernel.fields import BoundedListField, IdField, StrictBooleanField, StrictSerializer, TextField
from holdfast.kernel.openapi import (
    IDEMPOTENCY_KEY,
    IDEMPOTENCY_KEY_REQUIRED,
    PAGE_PARAMETERS,
    answers,
    page_of,
    text_filter,
)
from holdfast.kernel.pagination import page
from holdfast.kernel.parameters import choice_parameter, id_parameter, text_parameter
from reservations.api.shown import OrderShown
from reservations.checkout.answers import PENDING, Answer
from reservations.checkout.begin import Wish
from reservations.checkout.claim_refund import RefundWish
from reservations.checkout.refunds import refund_order
from reservations.checkout.saga import check_out
from reservations.customers import customer_key
from reservations.models import OrderStatus, Payment, Refund
from reservations.models.event import UNITS_PER_HOLD_MAX
from reservations.operations.orders import cancel_order
from reservations.queries.orders import get_order, order_json, orders_now, with_tokens
from tenants.api.idempotency import judged_before_its_key, once, replayed, required_claim_of
from tenants.api.views import NoMembers, TenantView
from tenants.idempotency import KeptAnswer
from tenants.scope import tenant_transaction

RETRY_AFTER_SECONDS = 2
# tokens let people in: no cache on the way keeps them
NOT_KEPT = {"Cache-Control": "private, no-store"}


class MethodBody(StrictSerializer):
    method = TextField(
        max_length=Payment.METHOD_LENGTH_MAX, help_text="the payment provider's token of a card or the like"
    )


class BuyerBody(StrictSerializer):
    name = TextField(max_length=200, required=False, allow_null=True)
    email = TextField(max_length=254, required=False, allow_null=True)


class OrderBody(StrictSerializer):
    hold = IdField()
    payment = MethodBody(required=False, allow_null=True)
    buyer = BuyerBody(required=False, allow_null=True)


class RefundedItem(StrictSerializer):
    unit = IdField()


class RefundBody(StrictSerializer):
    items = BoundedListField(child=RefundedItem(), required=False, min_length=1, max_length=UNITS_PER_HOLD_MAX)
    reason = TextField(max_length=Refund.REASON_LENGTH_MAX, required=False, allow_null=True, allow_blank=True)
    restock = StrictBooleanField(required=False)


class OrderView(TenantView):
    """What the views of orders share: answers of the saga as responses, with the tickets' tokens."""

    scopes = ("orders",)

    def answered(self, request: Request, answer: Answer) -> Response:
        """Raises the refusal that was not told before."""
        if answer.refusal is not None and not answer.replayed:
            raise answer.refusal
        if answer.status >= HTTPStatus.BAD_REQUEST:
            return replayed(request, KeptAnswer(answer.status, answer.body))
        body = with_tokens(answer.body, self.tenant_id)
        headers = {"Location": f"/v1/orders/{body['id']}", **NOT_KEPT}
        if answer.replayed:
            headers["Idempotency-Replayed"] = "true"
        if answer.status == PENDING:
            headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
        return Response(body, status=answer.status, headers=headers)

    def shown(self, order: Any) -> dict[str, Any]:
        return with_tokens(order_json(order), self.tenant_id)


class Orders(OrderView):
    @extend_schema(
        operation_id="list_orders",
        parameters=[
            *PAGE_PARAMETERS,
            text_filter("event", format="uuid"),
            text_filter("status", enum=OrderStatus.values),
            text_filter("customer"),
        ],
        responses=answers({200: page_of(OrderShown)}),
    )
    def get(self, request: Request) -> Response:
        """List orders, oldest first."""
        query = request.query_params
        wanted = Q()
        if event_id := id_parameter(query, "event"):
            wanted &= Q(event_id=event_id)
        if status := choice_parameter(query, "status", OrderStatus.values):
            wanted &= Q(status=status)
        if (customer := text_parameter(query, "customer")) is not None:
            wanted &= Q(customer_key=customer_key(customer))
        with tenant_transaction(self.tenant_id):
            orders = orders_now().filter(wanted)
            return Response(page(orders, query, name=self.list_name(request), represent=self.shown))

    @extend_schema(
        operation_id="create_order",
        parameters=[IDEMPOTENCY_KEY_REQUIRED],
        request=OrderBody,
        responses=answers({201: OrderShown, 202: OrderShown}, 402, 410),
    )
    def post(self, request: Request) -> Response:
        """Pay for a hold.

        201 when the order is confirmed; 202 when it is not known yet whether the provider took the money: ask for the
        order again, at `Location` and after the seconds of `Retry-After`, or repeat this call with the same key. After
        a 402 the hold is still yours, and another `method` may be tried, with another key. What costs nothing needs no
        `payment`.

        Problems have members of their own: `order`, the id of the order, where there is one (402, 410, and 409 of a
        hold that is being paid or was), and `decline_code` of a 402, what the provider gave as its reason;
        `provider_unavailable` where it did not take the charge, and nothing was paid.
        """
        claim = required_claim_of(request, principal_id=self.principal.api_key_id)
        with judged_before_its_key(claim, self.tenant_id):
            body = self.body(request, OrderBody)
        wish = Wish(body["hold"], (body.get("payment") or {}).get("method"), body.get("buyer"))
        return self.answered(request, check_out(tenant_id=self.tenant_id, claim=claim, wish=wish))


class OneOrder(OrderView):
    @extend_schema(operation_id="get_order", responses=answers({200: OrderShown}))
    def get(self, request: Request, order_id: UUID) -> Response:
        """Read an order.

        Its tickets come with their tokens: whoever has one gets in with it.
        """
        with tenant_transaction(self.tenant_id):
            return Response(self.shown(get_order(order_id)), headers=NOT_KEPT)


class RefundOrder(OrderView):
    @extend_schema(
        operation_id="refund_order",
        parameters=[IDEMPOTENCY_KEY_REQUIRED],
        request=RefundBody,
        responses=answers({200: OrderShown}),
    )
    def post(self, request: Request, order_id: UUID) -> Response:
        """Refund an order, or some of its items.

        Without `items` all that is left goes back. The tickets are void at once; the units return when the provider has
        given the money back, to the sale or, with `restock` false, blocked. A refund whose outcome is not known yet is
        `pending`.
        """
        claim = required_claim_of(request, principal_id=self.principal.api_key_id)
        with judged_before_its_key(claim, self.tenant_id):
            body = self.optional_body(request, RefundBody)
            items = body.get("items")
            units = None if items is None else _units(items)
        wish = RefundWish(order_id, units, reason=body.get("reason") or "", restock=body.get("restock", True))
        return self.answered(request, refund_order(tenant_id=self.tenant_id, wish=wish, claim=claim))


def _units(items: Sequence[dict[str, UUID]]) -> list[UUID]:
    """Raises Invalid for a unit that is named twice."""
    units = [item["unit"] for item in items]
    faults = [
        FieldError(f"/items/{index}/unit", "duplicate", "Is named more than once.")
        for index, unit in enumerate(units)
        if unit in units[:index]
    ]
    if faults:
        raise Invalid(faults)
    return units


class CancelOrder(OrderView):
    @extend_schema(
        operation_id="cancel_order",
        parameters=[IDEMPOTENCY_KEY],
        request=NoMembers,
        responses=answers({200: OrderShown}),
    )
    @once
    def post(self, request: Request, order_id: UUID) -> Response:
        """Cancel a pending order, and release its hold.

        Only while no charge is under way or taken.
        """
        self.no_body(request)
        return Response(order_json(cancel_order(tenant_id=self.tenant_id, order_id=order_id)))
