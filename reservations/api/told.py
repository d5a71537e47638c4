"""The messages of reservations, for the catalogue: when each is said, what it carries, and an example.

Events, holds and orders are carried as their GET shows them; `reservations.messages` makes the JSON.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from rest_framework import serializers

from reservations.api.shown import EventShown, HoldShown, OrderShown, PaymentShown, TicketShown
from webhooks.catalogue import Described


class TicketTold(TicketShown):
    """A ticket without its token, which lets whoever has it in: that is read with the order's tickets."""

    token = None  # type: ignore[assignment]


class PaymentTold(PaymentShown):
    """A payment, and whose it is."""

    order = serializers.UUIDField()
    event = serializers.UUIDField()


PRICE = {"amount": 2500, "currency": "EUR"}
EVENT: dict[str, Any] = {
    "id": "019a0c0b-2000-7000-8000-0000000000a1",
    "slug": "summer-night",
    "name": "Summer night",
    "kind": "seats",
    "status": "on_sale",
    "paused_reason": None,
    "currency": "EUR",
    "timezone": "Europe/Berlin",
    "starts_at": "2026-07-18T18:00:00Z",
    "ends_at": None,
    "sales_open_at": None,
    "sales_close_at": None,
    "hold_ttl_seconds": 600,
    "hold_extensions_max": 2,
    "units_per_hold_max": 10,
    "units_per_customer_max": None,
    "created_at": "2026-05-01T09:00:00Z",
}
ITEM = {"unit": "019a0c0b-3000-7000-8000-0000000000b1", "label": "A-1", "section": "Stalls", "price": PRICE}
HOLD: dict[str, Any] = {
    "id": "019a0c1d-4000-7000-8000-0000000000c1",
    "event": EVENT["id"],
    "status": "active",
    "customer": "ada@example.org",
    "quantity": 1,
    "items": [ITEM],
    "total": PRICE,
    "created_at": "2026-06-01T18:25:00Z",
    "expires_at": "2026-06-01T18:35:00Z",
    "seconds_left": 600,
    "extensions_left": 2,
    "ended_at": None,
    "release_reason": None,
    "order": None,
    "metadata": {"cart": "42"},
}
ENDED = {"seconds_left": 0, "ended_at": "2026-06-01T18:30:00Z"}
TICKET: dict[str, Any] = {
    "id": "019a0c1e-6000-7000-8000-0000000000f1",
    "order": "019a0c1d-5000-7000-8000-0000000000d1",
    "event": EVENT["id"],
    "unit": ITEM["unit"],
    "pool": None,
    "label": "A-1",
    "status": "valid",
    "serial": 1,
    "redeemed_at": None,
    "gate": None,
    "qr_svg_url": "/v1/tickets/019a0c1e-6000-7000-8000-0000000000f1/qr.svg",
}
PAYMENT: dict[str, Any] = {
    "id": "019a0c1d-5100-7000-8000-0000000000d2",
    "status": "succeeded",
    "amount": PRICE,
    "provider": "mock",
    "provider_reference": "ch_1",
    "decline_code": None,
    "captured": PRICE,
    "created_at": "2026-06-01T18:29:58Z",
}
ORDER: dict[str, Any] = {
    "id": TICKET["order"],
    "hold": HOLD["id"],
    "event": EVENT["id"],
    "status": "confirmed",
    "reason": None,
    "customer": "ada@example.org",
    "buyer": {"name": "Ada", "email": "ada@example.org"},
    "total": PRICE,
    "items": [ITEM | {"refunded": False}],
    "payments": [PAYMENT],
    "refunds": [],
    "tickets": [TICKET | {"token": None}],
    "timeline": [
        {"at": "2026-06-01T18:29:58Z", "what": "order_created"},
        {"at": "2026-06-01T18:30:00Z", "what": "order_confirmed"},
    ],
    "created_at": "2026-06-01T18:29:58Z",
}
REFUND = {
    "id": "019a0c1e-5200-7000-8000-0000000000d3",
    "status": "succeeded",
    "amount": PRICE,
    "items": [{"unit": ITEM["unit"]}],
    "reason": None,
    "restock": True,
    "created_at": "2026-06-02T08:00:00Z",
}
REFUNDED = ORDER | {
    "status": "refunded",
    "items": [ITEM | {"refunded": True}],
    "payments": [PAYMENT | {"status": "refunded"}],
    "refunds": [REFUND],
    "tickets": [TICKET | {"status": "void", "token": None}],
}
DECLINED = PAYMENT | {"status": "declined", "decline_code": "card_declined", "captured": None}
UNPAID = {"payments": [DECLINED], "tickets": []}

_hold = partial(Described, data=HoldShown, subject="hold")
_order = partial(Described, data=OrderShown, subject="order")
_ticket = partial(Described, data=TicketTold, subject="ticket")
_event = partial(Described, data=EventShown, subject="event")


def _status(of: partial[Described], status: str, description: str, example: Mapping[str, Any]) -> Described:
    """Of a type that is always said of a subject in this status."""
    return of(description, example={**example, "status": status}, always={"status": status})


MESSAGES: Mapping[str, Described] = {
    "hold.created": _status(_hold, "active", "Units were promised to a customer for a while.", HOLD),
    "hold.extended": _status(
        _hold,
        "active",
        "A hold lives longer.",
        HOLD | {"expires_at": "2026-06-01T18:40:00Z", "extensions_left": 1},
    ),
    "hold.released": _status(
        _hold,
        "released",
        "A hold was given up before its end; its units are for sale again.",
        HOLD | ENDED | {"release_reason": "changed their mind"},
    ),
    "hold.expired": _status(
        _hold,
        "expired",
        "A hold's time has passed; its units are for sale again. It may be said a little after `expires_at`.",
        HOLD | ENDED | {"ended_at": HOLD["expires_at"]},
    ),
    "hold.converted": _status(
        _hold, "converted", "A hold was paid for: its units are sold.", HOLD | ENDED | {"order": ORDER["id"]}
    ),
    "order.confirmed": _status(_order, "confirmed", "An order is paid for, and its tickets are good.", ORDER),
    "order.failed": _status(
        _order, "failed", "An order will not be paid; `reason` says why.", ORDER | UNPAID | {"reason": "declined"}
    ),
    "order.refunded": _status(_order, "refunded", "All of an order's money has gone back.", REFUNDED),
    "order.partially_refunded": _status(
        _order,
        "partially_refunded",
        "Some of an order's money has gone back.",
        REFUNDED
        | {
            "total": {"amount": 5000, "currency": "EUR"},
            "items": [
                ITEM | {"refunded": True},
                ITEM | {"unit": "019a0c0b-3000-7000-8000-0000000000b2", "label": "A-2", "refunded": False},
            ],
            "payments": [PAYMENT | {name: {"amount": 5000, "currency": "EUR"} for name in ("amount", "captured")}],
        },
    ),
    "order.cancelled": _status(_order, "cancelled", "An order was given up before it was paid.", ORDER | UNPAID),
    "ticket.issued": _status(_ticket, "valid", "A ticket was made with a confirmed order.", TICKET),
    "ticket.redeemed": _status(
        _ticket,
        "redeemed",
        "A ticket has let its holder in.",
        TICKET | {"redeemed_at": "2026-07-18T17:40:00Z", "gate": "North"},
    ),
    "ticket.voided": _status(_ticket, "void", "A ticket lets nobody in any more: it is being refunded.", TICKET),
    "event.published": _status(_event, "on_sale", "An event's sale has begun.", EVENT),
    "event.paused": _status(
        _event,
        "paused",
        "An event's sale was paused, by a person or (`paused_reason` invariant) by HoldFast.",
        EVENT | {"paused_reason": "organizer"},
    ),
    "event.resumed": _status(_event, "on_sale", "An event's sale goes on.", EVENT),
    "event.closed": _status(_event, "closed", "An event's sale is over for good.", EVENT),
    "payment.needs_review": Described(
        "A payment does not fit its order, or can't be given back; a person has to decide, in the admin.",
        data=PaymentTold,
        subject="payment",
        example=PAYMENT
        | {
            "status": "needs_review",
            "captured": {"amount": 2501, "currency": "EUR"},
            "order": ORDER["id"],
            "event": EVENT["id"],
        },
        always={"status": "needs_review"},
    ),
}
