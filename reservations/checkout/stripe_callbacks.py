"""Stripe's events: whether Stripe signed them, and which payment or refund they are about."""

import re
from typing import Any

import orjson
import stripe

from reservations.checkout.provider import BadSignature, CallbackNews, UnreadableCallback
from reservations.checkout.stripe_shapes import key_of, part

TOLERANCE_SECONDS = 300
_NAME = re.compile(r"[!-~]{1,255}", re.ASCII)
_KIND = re.compile(r"[a-z0-9_.]{1,100}", re.ASCII)


def news_of(body: bytes, signature: str, secret: str) -> CallbackNews:
    """What the event is about. Raises BadSignature for anything that Stripe did not sign within the last minutes, and
    UnreadableCallback for what it did, and is no event."""
    try:
        stripe.WebhookSignature.verify_header(body, signature, secret, TOLERANCE_SECONDS)
    except (stripe.SignatureVerificationError, ValueError, TypeError) as error:
        # the latter two: bytes that are no text, and signatures of characters that no signature has
        raise BadSignature(type(error).__name__) from error
    try:
        event = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise UnreadableCallback("no JSON") from error
    if not isinstance(event, dict):
        raise UnreadableCallback("no object")
    event_id, kind = _as(_NAME, event.get("id")), _as(_KIND, event.get("type"))
    if not event_id or not kind:
        raise UnreadableCallback("no event")
    return CallbackNews(event_id, kind, _reference(event) or event_id)


def _reference(event: dict[str, Any]) -> str:
    """Our key of the payment or refund, else Stripe's id of the PaymentIntent, else of whatever it is about."""
    about = part(part(event, "data"), "object")
    named = (_as(_NAME, name) for name in (key_of(about), about.get("payment_intent"), about.get("id")))
    return next((name for name in named if name), "")


def _as(form: re.Pattern[str], value: Any) -> str:
    """The value if it has this form, else empty."""
    return value if isinstance(value, str) and form.fullmatch(value) else ""
