"""What Stripe knows of one account, as far as the adapter can tell: PaymentIntents, refunds, idempotency keys.

What becomes of a charge is chosen by its payment method, as with Stripe's own test methods.
"""

import itertools
import json
import threading
import time
from typing import Any

DECLINES = {
    "pm_card_chargeDeclined": "generic_decline",
    "pm_card_chargeDeclinedInsufficientFunds": "insufficient_funds",
}
STATUSES = {
    "pm_card_visa": "succeeded",
    "pm_reset_after_charge": "succeeded",
    "pm_card_authenticationRequired": "requires_action",
    "pm_usBankAccount_processing": "processing",
}
WHOLE_TENS = {"bhd", "jod", "kwd", "omr", "tnd"}
WHOLE_HUNDREDS = {"isk"}
Answer = tuple[int, dict[str, Any]]


def refusal(status: int, kind: str, code: str | None = None, **more: Any) -> Answer:
    """A refusal of Stripe's, with its status and the error it shows."""
    return status, {"error": {"type": kind, "code": code, "message": "No.", **more}}


class Refused(Exception):
    """What was asked ends with this refusal."""

    def __init__(self, status: int, kind: str, code: str | None = None, **more: Any) -> None:
        super().__init__(code)
        self.answer = refusal(status, kind, code, **more)


class Books:
    """What Stripe knows of one account, and what it was asked."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.intents: dict[str, dict[str, Any]] = {}
        self.refunds: dict[str, dict[str, Any]] = {}
        self.saved: dict[str, tuple[dict[str, str], Answer]] = {}
        self.numbers = itertools.count(1)
        self.asked: list[tuple[str, str, dict[str, str], dict[str, str]]] = []
        # of refunds to come
        self.refund_status = "succeeded"

    def under_key(self, key: str) -> list[dict[str, Any]]:
        """The PaymentIntents that carry our key."""
        return [intent for intent in self.intents.values() if intent["metadata"].get("holdfast_key") == key]

    def once(self, key: str, sent: dict[str, str], make: Any) -> Answer:
        """As Stripe's idempotency layer: what an endpoint answered is saved, what fails before is not."""
        if key in self.saved:
            asked, answer = self.saved[key]
            if asked != sent:
                raise Refused(400, "idempotency_error")
            return answer
        try:
            answer = (200, make(sent))
        except Refused as refused:
            if refused.answer[1]["error"]["type"] != "card_error":
                raise
            answer = refused.answer
        # as it is now: what becomes of it later is not in a replay
        self.saved[key] = (sent, json.loads(json.dumps(answer)))
        return answer

    def make_intent(self, sent: dict[str, str]) -> dict[str, Any]:
        amount, currency, method = int(sent["amount"]), sent["currency"], sent["payment_method"]
        step = 10 if currency in WHOLE_TENS else 100 if currency in WHOLE_HUNDREDS else 1
        if amount < 1 or amount % step or not currency.islower():
            raise Refused(400, "invalid_request_error", "parameter_invalid_integer", param="amount")
        if sent["confirm"] != "true" or sent["automatic_payment_methods[allow_redirects]"] != "never":
            raise Refused(400, "invalid_request_error", "parameter_missing")
        if method not in STATUSES and method not in DECLINES:
            raise Refused(400, "invalid_request_error", "resource_missing", param="payment_method")
        number = next(self.numbers)
        status = STATUSES.get(method, "requires_payment_method")
        charge = {"id": f"ch_{number}", "object": "charge", "amount": amount, "amount_refunded": 0}
        intent: dict[str, Any] = {
            "id": f"pi_{number}",
            "object": "payment_intent",
            "amount": amount,
            "amount_received": amount if status == "succeeded" else 0,
            "currency": currency,
            "created": int(time.time()),
            "status": status,
            "metadata": {"holdfast_key": sent["metadata[holdfast_key]"]} if "metadata[holdfast_key]" in sent else {},
            "latest_charge": charge if status == "succeeded" else None,
            "last_payment_error": None,
            "cancellation_reason": None,
        }
        self.intents[intent["id"]] = intent
        if method in DECLINES:
            failure = {"type": "card_error", "code": "card_declined", "decline_code": DECLINES[method]}
            intent["last_payment_error"] = failure
            raise Refused(402, "card_error", "card_declined", decline_code=DECLINES[method], payment_intent=intent)
        return intent

    def make_refund(self, sent: dict[str, str]) -> dict[str, Any]:
        intent, amount = self.intent(sent["payment_intent"]), int(sent["amount"])
        charge = intent["latest_charge"]
        if charge is None:
            raise Refused(400, "invalid_request_error", "charge_not_found")
        if charge["amount_refunded"] == charge["amount"]:
            raise Refused(400, "invalid_request_error", "charge_already_refunded")
        if charge["amount_refunded"] + amount > charge["amount"]:
            raise Refused(400, "invalid_request_error", None)
        failed = self.refund_status in ("failed", "canceled")
        charge["amount_refunded"] += 0 if failed else amount
        refund = {
            "id": f"re_{next(self.numbers)}",
            "object": "refund",
            "amount": amount,
            "currency": intent["currency"],
            "payment_intent": intent["id"],
            "metadata": {"holdfast_key": sent["metadata[holdfast_key]"]},
            "created": int(time.time()),
            "status": self.refund_status,
            "failure_reason": "expired_or_canceled_card" if failed else None,
        }
        self.refunds[refund["id"]] = refund
        return refund

    def intent(self, identity: str) -> dict[str, Any]:
        if identity not in self.intents:
            raise Refused(404, "invalid_request_error", "resource_missing", param="intent")
        return self.intents[identity]

    def list_intents(self, wanted: dict[str, str]) -> dict[str, Any]:
        since, until = int(wanted.get("created[gte]", 0)), int(wanted.get("created[lt]", 2**40))
        return page([one for one in self.intents.values() if since <= one["created"] < until], wanted)

    def list_refunds(self, wanted: dict[str, str]) -> dict[str, Any]:
        of = self.intent(wanted["payment_intent"])["id"]
        return page([one for one in self.refunds.values() if one["payment_intent"] == of], wanted)


def page(rows: list[dict[str, Any]], wanted: dict[str, str]) -> dict[str, Any]:
    """A page of them, the newest first."""
    newest_first = rows[::-1]
    ids = [row["id"] for row in newest_first]
    start = ids.index(wanted["starting_after"]) + 1 if "starting_after" in wanted else 0
    end = start + int(wanted.get("limit", 10))
    return {"object": "list", "data": newest_first[start:end], "has_more": end < len(newest_first)}
