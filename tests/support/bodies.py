"""A good body for each call that takes one, so that a test gets past the input to what it is about.

A call that is not here takes no body, or none is needed.
"""

from collections.abc import Callable
from typing import Any

from tests.support.endpoints import Endpoint
from tests.support.rows import unique

# each is given the ids that its body may name: those of a tenant, or unknown ones
BODIES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "POST /v1/api-keys": lambda _: {"name": "A key", "scopes": ["read"], "expires_at": "2030-01-01T00:00:00Z"},
    "POST /v1/events": lambda _: {
        "slug": unique("event"),
        "name": "A show",
        "kind": "seats",
        "currency": "EUR",
        "timezone": "Europe/Berlin",
        "starts_at": "2030-01-01T20:00:00Z",
        "ends_at": "2030-01-01T22:00:00+01:00",
        "sales_open_at": "2020-01-01T20:00:00Z",
        "sales_close_at": "2030-01-01T20:00:00Z",
        "hold_ttl_seconds": 600,
        "hold_extensions_max": 2,
        "units_per_hold_max": 10,
        "units_per_customer_max": 20,
    },
    "PATCH /v1/events/{event_id}": lambda _: {"name": "Another name", "units_per_hold_max": 9},
    "POST /v1/events/{event_id}/units": lambda _: {
        "units": [
            {
                "label": unique("label"),
                "section": "Stalls",
                "row": "A",
                "number": "1",
                "price": {"amount": 2500, "currency": "EUR"},
                "starts_at": "2030-01-01T20:00:00Z",
                "ends_at": "2030-01-01T22:00:00Z",
            }
        ]
    },
    "POST /v1/events/{event_id}/units/block": lambda ids: {"labels": [ids["label"]]},
    "POST /v1/events/{event_id}/units/unblock": lambda ids: {"labels": [ids["label"]]},
    "POST /v1/events/{event_id}/pools": lambda _: {"name": unique("pool"), "capacity": 10},
    "PATCH /v1/pools/{pool_id}": lambda _: {"capacity": 9},
    "POST /v1/holds": lambda ids: {
        "event": str(ids["event"]),
        "units": [str(ids["unit"])],
        "customer": "ada@example.org",
        "ttl_seconds": 60,
        "metadata": {"cart": "42"},
    },
    "POST /v1/holds/{hold_id}/extend": lambda _: {"seconds": 60},
    "POST /v1/holds/{hold_id}/release": lambda _: {"reason": "changed my mind"},
    "POST /v1/orders": lambda ids: {
        "hold": str(ids["hold"]),
        "payment": {"method": "tok_declined"},
        "buyer": {"name": "Ada", "email": "ada@example.org"},
    },
    "POST /v1/orders/{order_id}/refund": lambda ids: {
        "items": [{"unit": str(ids["unit"])}],
        "reason": "changed my mind",
        "restock": True,
    },
    "POST /v1/tickets/redeem": lambda _: {"token": unique("token")},
    "POST /v1/webhooks/endpoints": lambda _: {
        "url": "http://127.0.0.1:9/hooks",
        "events": ["hold.*", "order.confirmed"],
        "description": "The shop",
    },
    "PATCH /v1/webhooks/endpoints/{endpoint_id}": lambda _: {"events": ["order.*"], "description": "Another shop"},
    "POST /v1/webhooks/endpoints/{endpoint_id}/rotate-secret": lambda _: {"overlap_seconds": 60},
    "POST /v1/webhooks/endpoints/{endpoint_id}/replay": lambda _: {
        "since": "2020-01-01T00:00:00Z",
        "until": "2030-01-01T00:00:00Z",
        "types": ["hold.*"],
        "status": "all",
    },
}


# calls that are refused without an Idempotency-Key
KEYED = {"POST /v1/orders", "POST /v1/orders/{order_id}/refund"}


def key_of(endpoint: Endpoint) -> dict[str, str]:
    """The header with a new key, where the call needs one."""
    return {"Idempotency-Key": unique("key")} if str(endpoint) in KEYED else {}


def body_of(endpoint: Endpoint, ids: dict[str, Any]) -> dict[str, Any] | None:
    """A good body, or None where the call needs none."""
    make = BODIES.get(str(endpoint))
    return make(ids) if make else None
