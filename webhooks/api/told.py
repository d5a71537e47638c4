"""The messages of webhooks themselves, for the catalogue."""

from collections.abc import Mapping
from functools import partial

from webhooks.api.shown import EndpointShown
from webhooks.catalogue import Described

ENDPOINT = {
    "id": "019a0c1a-2000-7000-8000-0000000000e1",
    "url": "https://shop.example.org/hooks",
    "events": ["hold.*", "order.confirmed"],
    "description": "The shop",
    "status": "enabled",
    "disabled_reason": None,
    "created_at": "2026-05-01T09:00:00Z",
    "last_success_at": "2026-05-20T10:00:00Z",
    "failing_since": None,
    "disabled_at_latest": None,
    "resting_until": None,
}
FAILING = ENDPOINT | {
    "failing_since": "2026-05-27T18:30:00Z",
    "disabled_at_latest": "2026-06-01T18:30:00Z",
    "resting_until": "2026-06-01T18:45:00Z",
}
_endpoint = partial(Described, data=EndpointShown, subject="endpoint")

MESSAGES: Mapping[str, Described] = {
    "endpoint.failing": _endpoint(
        "Nothing could be delivered to an endpoint for a day, and again for three: it will be disabled.",
        example=FAILING,
        always={"status": "enabled"},
    ),
    "endpoint.disabled": _endpoint(
        "HoldFast has disabled an endpoint: it answered 410, or nothing could be delivered to it for five days.",
        example=FAILING | {"status": "disabled", "disabled_reason": "failing", "disabled_at_latest": None},
        always={"status": "disabled"},
    ),
    "ping": _endpoint("Somebody asked for a try; sent to this one endpoint, whatever it asks for.", example=ENDPOINT),
}
