"""What Stripe's answers say, read without trust: anything of another shape is Unreadable."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import stripe

from reservations.checkout.provider import Charge, ChargeOutcome, ListedCharge, RefundAnswer, RefundOutcome
from reservations.checkout.stripe_amounts import NotForStripe, from_stripe

# the metadata of a PaymentIntent or a refund that names it by our key
KEY = "holdfast_key"
CODE_LENGTH_MAX = 100
_OWN_KEY = re.compile(r"hf-([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})", re.ASCII)
_REFUNDS_UNDER_WAY = frozenset({"pending", "requires_action"})
_REFUNDS_FAILED = frozenset({"failed", "canceled"})


class Unreadable(Exception):
    """An answer that is none of Stripe's, or about something else."""


def plain(answer: Any) -> dict[str, Any]:
    """The answer as plain data. Raises Unreadable."""
    if not isinstance(answer, stripe.StripeObject):
        raise Unreadable("no object")
    return answer.to_dict()


def text(row: dict[str, Any], name: str) -> str:
    """A member that must be text. Raises Unreadable."""
    value = row.get(name)
    if not isinstance(value, str) or not value:
        raise Unreadable(f"{name} is no text")
    return value


def number(row: dict[str, Any], name: str) -> int:
    """A member that must be a whole number. Raises Unreadable."""
    value = row.get(name)
    if type(value) is not int:
        raise Unreadable(f"{name} is no whole number")
    return value


def moment(row: dict[str, Any], name: str) -> datetime:
    """A member that counts seconds since 1970. Raises Unreadable."""
    try:
        return datetime.fromtimestamp(number(row, name), UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise Unreadable(f"{name} is no time") from error


def parts(row: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """A member that must be a list of objects. Raises Unreadable."""
    value = row.get(name)
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise Unreadable(f"{name} is no list of objects")
    return value


def part(row: dict[str, Any], name: str) -> dict[str, Any]:
    """A member that is an object, or else an empty one."""
    value = row.get(name)
    return value if isinstance(value, dict) else {}


def expect(row: dict[str, Any], name: str, is_so: bool) -> None:  # noqa: FBT001 - it is the claim
    """Raises Unreadable where the answer is about another thing than was asked."""
    if not is_so:
        raise Unreadable(f"{row.get('object')} has another {name}")


def key_of(row: dict[str, Any]) -> str:
    """Our key of it; empty for one that did not come from here."""
    key = part(row, "metadata").get(KEY)
    return key if isinstance(key, str) else ""


def made_at(key: str) -> datetime | None:
    """When our key was made, as its UUIDv7 says; None for a key of another form."""
    found = _OWN_KEY.match(key)
    if found is None:
        return None
    milliseconds = UUID(found[1]).int >> 80
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)


def charge_of(intent: dict[str, Any]) -> Charge:
    """What a PaymentIntent says of its charge. Raises Unreadable."""
    reference, status = text(intent, "id"), text(intent, "status")
    if status == "succeeded":
        currency = text(intent, "currency").upper()
        refunded = number({"amount_refunded": 0, **part(intent, "latest_charge")}, "amount_refunded")
        try:
            return Charge(
                ChargeOutcome.SUCCEEDED,
                reference,
                from_stripe(number(intent, "amount_received"), currency),
                currency,
                from_stripe(refunded, currency),
            )
        except NotForStripe as error:
            raise Unreadable("an amount that was never asked for") from error
    if status == "requires_action":
        return Charge(ChargeOutcome.NEEDS_ACTION, reference)
    if status == "canceled":
        return Charge(ChargeOutcome.DECLINED, reference, decline_code=_code(intent.get("cancellation_reason"), status))
    failure = part(intent, "last_payment_error")
    if status == "requires_payment_method" and failure:
        return Charge(ChargeOutcome.DECLINED, reference, decline_code=_decline_code(failure))
    # at work on it; or without a method and without a failure, which is how it looks before it is confirmed
    return Charge(ChargeOutcome.UNKNOWN, reference)


def listed_of(intent: dict[str, Any]) -> ListedCharge | None:
    """A row of the list; None for one in money that we could not have asked for. Raises Unreadable."""
    charge, currency = charge_of(intent), text(intent, "currency").upper()
    try:
        amount = charge.amount if charge.amount is not None else from_stripe(number(intent, "amount"), currency)
    except NotForStripe:
        return None
    return ListedCharge(
        key=key_of(intent),
        reference=text(intent, "id"),
        outcome=charge.outcome,
        amount=amount,
        currency=currency,
        refunded=charge.refunded,
        created_at=moment(intent, "created"),
    )


def refund_of(refund: dict[str, Any]) -> RefundAnswer:
    """What a refund says of itself. Raises Unreadable."""
    reference, status = text(refund, "id"), text(refund, "status")
    if status == "succeeded":
        return RefundAnswer(RefundOutcome.SUCCEEDED, reference)
    if status in _REFUNDS_FAILED:
        return RefundAnswer(RefundOutcome.FAILED, reference, _code(refund.get("failure_reason"), status))
    if status in _REFUNDS_UNDER_WAY:
        return RefundAnswer(RefundOutcome.UNKNOWN, reference)
    raise Unreadable("an unknown status")


def refused(error: stripe.CardError | stripe.InvalidRequestError) -> Charge:
    """What a refusal says of the charge. Raises Unreadable for one that is not Stripe's."""
    refusal = _refusal(error)
    if intent := part(refusal, "payment_intent"):
        return charge_of(intent)
    return Charge(ChargeOutcome.DECLINED, decline_code=_decline_code(refusal))


def refusal_code(error: stripe.InvalidRequestError) -> str:
    """Why Stripe will not do it. Raises Unreadable for a refusal that is not Stripe's."""
    return _decline_code(_refusal(error))


def _refusal(error: stripe.StripeError) -> dict[str, Any]:
    body = error.json_body
    refusal = part(body, "error") if isinstance(body, dict) else {}
    if refusal.get("type") not in ("card_error", "invalid_request_error"):
        raise Unreadable("a refusal that is none of Stripe's")
    return refusal


def _decline_code(refusal: dict[str, Any]) -> str:
    return _code(refusal.get("decline_code"), _code(refusal.get("code"), "declined"))


def _code(value: Any, otherwise: str) -> str:
    return value[:CODE_LENGTH_MAX] if isinstance(value, str) and value else otherwise
