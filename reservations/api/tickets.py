"""Tickets: those of an order, the QR code of one, and redeeming one at the door."""

import io
from typing import Any
from uuid import UUID

import segno
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from holdfast.kernel.errors import NotFound
from holdfast.kernel.fields import StrictSerializer, TextField
from holdfast.kernel.openapi import IDEMPOTENCY_KEY, PAGE_PARAMETERS, answers, page_of
from holdfast.kernel.pagination import page
from reservations.api.shown import TicketRedeemedShown, TicketShown
from reservations.models import Ticket
from reservations.operations.guesses import count_bad_token
from reservations.operations.tickets import redeem_ticket
from reservations.queries.tickets import get_ticket, ticket_json, tickets_of_order, token_maker
from tenants.api.idempotency import once
from tenants.api.views import TenantView
from tenants.scope import tenant_transaction

SVG = "image/svg+xml"
# longer than any token: what a scanner may read by mistake is unknown, and no fault of the request
TEXT_LENGTH_MAX = 1_000


class TicketsOfOrder(TenantView):
    scopes = ("orders", "tickets")

    @extend_schema(
        operation_id="list_tickets", parameters=PAGE_PARAMETERS, responses=answers({200: page_of(TicketShown)})
    )
    def get(self, request: Request, order_id: UUID) -> Response:
        """List the tickets of an order, oldest first.

        Whoever has a `token` gets in with it. None where the order is not confirmed.
        """
        with tenant_transaction(self.tenant_id):
            token_of = token_maker()
            answer = page(
                tickets_of_order(order_id),
                request.query_params,
                name=self.list_name(request),
                represent=lambda ticket: ticket_json(ticket, token_of(ticket)),
            )
        return Response(answer, headers={"Cache-Control": "private, no-store"})


class TicketQr(TenantView):
    scopes = ("orders", "tickets")

    @extend_schema(operation_id="get_ticket_qr", responses={**answers({}), (200, SVG): OpenApiTypes.STR})
    def get(self, request: Request, ticket_id: UUID) -> HttpResponse:
        """Read the QR code of a ticket's token, as an image.

        It asks for the API key, which no browser of a buyer may have: a shop reads the image and passes it on.
        """
        with tenant_transaction(self.tenant_id):
            token = token_maker()(get_ticket(ticket_id))
        return HttpResponse(_qr_svg(token), content_type=SVG, headers={"Cache-Control": "private, no-store"})


def _qr_svg(text: str) -> bytes:
    """A QR code that a quarter of which may be dirty, with the margin that scanners need; it scales to any size."""
    image = io.BytesIO()
    segno.make_qr(text, error="q").save(image, kind="svg", xmldecl=True, omitsize=True, light="white")
    return image.getvalue()


class RedeemBody(StrictSerializer):
    token = TextField(max_length=TEXT_LENGTH_MAX)
    gate = TextField(max_length=Ticket.GATE_LENGTH_MAX, required=False, allow_null=True, allow_blank=True)


class RedeemTicket(TenantView):
    scopes = ("tickets",)

    @extend_schema(
        operation_id="redeem_ticket",
        parameters=[IDEMPOTENCY_KEY],
        request=RedeemBody,
        responses=answers({200: TicketRedeemedShown}, 410, 429),
    )
    @once
    def post(self, request: Request) -> Response:
        """Let the holder of a ticket in, once.

        The first call wins; every later one is a 409 that names the first one's time and `gate`. A refunded ticket is a
        410, used before or not. What is no token of yours, or was replaced by a later one, is a 404, and a 429 after a
        hundred of them in a minute; each web process counts for itself, so that several answer 404 more often in all.
        The ticket is shown without its token.
        """
        body = self.body(request, RedeemBody)
        try:
            ticket = redeem_ticket(tenant_id=self.tenant_id, token=body["token"], gate=body.get("gate") or "")
        except NotFound:
            count_bad_token(self.principal.api_key_id)
            raise
        shown: dict[str, Any] = ticket_json(ticket)
        return Response({"ticket": shown, "redeemed_at": shown["redeemed_at"], "gate": shown["gate"]})
