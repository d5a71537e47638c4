"""Stripe as a payment provider: one PaymentIntent for each charge, made and confirmed in one call.

A retry is sent under the same idempotency key, so that it takes nothing more for as long as Stripe keeps keys. What was
sent without an answer is found again by our key in its metadata, in Stripe's list and not by its search: the search
learns of a charge about a minute late, and says nothing of what it has not learned.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import stripe
import structlog

from reservations.checkout.provider import (
    DEADLINE_SECONDS,
    CallbackNews,
    Charge,
    ChargeOrder,
    ChargeOutcome,
    ListedCharge,
    ProviderAway,
    RefundAnswer,
    RefundOrder,
    RefundOutcome,
)
from reservations.checkout.stripe_amounts import NotForStripe, to_stripe
from reservations.checkout.stripe_callbacks import news_of
from reservations.checkout.stripe_http import BoundedClient
from reservations.checkout.stripe_shapes import (
    KEY,
    Unreadable,
    charge_of,
    expect,
    key_of,
    listed_of,
    made_at,
    number,
    parts,
    plain,
    refund_of,
    refusal_code,
    refused,
    text,
)

PAGE = 100
# where a charge is looked for first: around the moment when its key was made
USUAL = (timedelta(minutes=-10), timedelta(minutes=15))
# and by how much our clock may be ahead of Stripe's for the charge to be found at all
AHEAD_MAX = timedelta(hours=1)
# Stripe may still work on what was sent that lately (its own client waits 80 s), and list it only then
SETTLED_SECONDS = 90.0
SERVER = stripe.DEFAULT_API_BASE
log = structlog.get_logger(__name__)


class StripeProvider:
    """One Stripe account. `secret_key` may be a restricted key that writes PaymentIntents and refunds;
    `webhook_secret` is that of the endpoint to which Stripe sends its events."""

    def __init__(
        self,
        secret_key: str,
        webhook_secret: str,
        *,
        server: str = SERVER,
        deadline_seconds: float = DEADLINE_SECONDS,
        settled_seconds: float = SETTLED_SECONDS,
    ) -> None:
        self._secret_key, self._webhook_secret = secret_key, webhook_secret
        self._server, self._deadline_seconds, self._settled_seconds = server, deadline_seconds, settled_seconds

    def charge(self, order: ChargeOrder) -> Charge:
        """Charge; what Stripe can't take is declined and not sent."""
        try:
            amount = to_stripe(order.amount, order.currency)
        except NotForStripe as refusal:
            return Charge(ChargeOutcome.DECLINED, decline_code=refusal.code)
        wanted: Any = {
            "amount": amount,
            "currency": order.currency.lower(),
            "payment_method": order.method,
            "confirm": True,
            # nobody is there to be sent to another page and back
            "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
            "metadata": {KEY: order.key},
            "expand": ["latest_charge"],
        }
        if order.description:
            wanted["description"] = order.description
        try:
            return self._charged(order.key, wanted)
        except (stripe.StripeError, Unreadable) as fault:
            _note("charge", fault)
            return Charge(ChargeOutcome.UNKNOWN)

    def lookup(self, key: str, reference: str | None) -> Charge:
        """The charge as it is now. ABSENT only where the whole list of the time since the key was made has been read,
        and the key is not so new that Stripe might still be at work on it."""
        intents = self._stripe().payment_intents
        try:
            if reference is None:
                found = self._found(intents, key)
            else:
                found = _asked(lambda: intents.retrieve(reference, {"expand": ["latest_charge"]}))
                expect(found, KEY, key_of(found) == key)
            return self._not_found(key) if found is None else charge_of(found)
        except (stripe.StripeError, Unreadable) as fault:
            _note("lookup", fault)
            return Charge(ChargeOutcome.UNKNOWN)

    def refund(self, order: RefundOrder) -> RefundAnswer:
        """Give money back. The refund is looked for first: sent again, Stripe repeats its first answer for a day, even
        where more has become of it since, and after that day it would give the money back once more."""
        try:
            amount = to_stripe(order.amount, order.currency)
        except NotForStripe as refusal:
            return RefundAnswer(RefundOutcome.FAILED, failure_code=refusal.code)
        wanted = {"payment_intent": order.charge_reference, "amount": amount, "metadata": {KEY: order.key}}
        try:
            return self._refunded(order.key, wanted)
        except (stripe.StripeError, Unreadable) as fault:
            _note("refund", fault)
            return RefundAnswer(RefundOutcome.UNKNOWN)

    def verify_callback(self, body: bytes, headers: Mapping[str, str]) -> CallbackNews:
        """Check an event's signature. Raises BadSignature."""
        return news_of(body, headers.get("stripe-signature", ""), self._webhook_secret)

    def charges(self, since: datetime, until: datetime) -> Iterator[ListedCharge]:
        """The charges of that time, to Stripe's whole seconds; each page is a call of its own. Raises ProviderAway."""
        try:
            for intent in _pages(self._page_of_charges, _within(since, until)):
                if (listed := listed_of(intent)) is not None:
                    yield listed
        except (stripe.StripeError, Unreadable) as fault:
            _note("charges", fault)
            raise ProviderAway(type(fault).__name__) from fault

    def _page_of_charges(self, wanted: Any) -> Any:
        return self._stripe().payment_intents.list(wanted)

    def _stripe(self) -> Any:
        """Stripe's services, to be used within one deadline from now on."""
        client = BoundedClient(time.monotonic() + self._deadline_seconds)
        addresses: Any = {"api": self._server}
        return stripe.StripeClient(
            self._secret_key, http_client=client, base_addresses=addresses, max_network_retries=0
        ).v1

    def _charged(self, key: str, wanted: Any) -> Charge:
        """Raises StripeError, Unreadable."""
        intents = self._stripe().payment_intents
        try:
            return charge_of(_asked(lambda: intents.create(wanted, {"idempotency_key": key})))
        except (stripe.CardError, stripe.InvalidRequestError) as error:
            return refused(error)

    def _refunded(self, key: str, wanted: Any) -> RefundAnswer:
        """Raises StripeError, Unreadable."""
        refunds = self._stripe().refunds
        try:
            made = _pages(refunds.list, {"payment_intent": wanted["payment_intent"]})
            refund = next((one for one in made if key_of(one) == key), None)
            if refund is None:
                refund = _asked(lambda: refunds.create(wanted, {"idempotency_key": key}))
        except stripe.InvalidRequestError as error:
            return RefundAnswer(RefundOutcome.FAILED, failure_code=refusal_code(error))
        expect(refund, "amount", number(refund, "amount") == wanted["amount"])
        return refund_of(refund)

    def _found(self, intents: Any, key: str) -> dict[str, Any] | None:
        """The charge of the key, by Stripe's list: around the key's time first, for there may be many."""
        made = made_at(key)
        if made is None:
            raise Unreadable("the key does not say when it was made")
        for since, until in ((made + USUAL[0], made + USUAL[1]), (made - AHEAD_MAX, None)):
            for intent in _pages(intents.list, _within(since, until)):
                if key_of(intent) == key:
                    return intent
        return None

    def _not_found(self, key: str) -> Charge:
        made = made_at(key)
        settled = made is not None and datetime.now(UTC) - made >= timedelta(seconds=self._settled_seconds)
        return Charge(ChargeOutcome.ABSENT if settled else ChargeOutcome.UNKNOWN)


def _asked(ask: Callable[[], Any]) -> dict[str, Any]:
    """What Stripe answered, as plain data. Raises StripeError, Unreadable."""
    try:
        return plain(ask())
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        # how the package meets an answer that is JSON and none of Stripe's
        raise Unreadable(type(error).__name__) from error


def _pages(list_page: Callable[[Any], Any], wanted: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All rows of a list, from the newest on, a page a time. Raises StripeError, Unreadable."""
    asked = {**wanted, "limit": PAGE}
    while True:
        page = _asked(lambda: list_page(dict(asked)))
        rows = parts(page, "data")
        yield from rows
        if page.get("has_more") is not True:
            return
        asked["starting_after"] = text(rows[-1] if rows else {}, "id")


def _within(since: datetime, until: datetime | None) -> dict[str, Any]:
    """The filter of a list of PaymentIntents: Stripe counts whole seconds."""
    created = {"gte": int(since.timestamp())}
    if until is not None:
        created["lt"] = -int(-until.timestamp() // 1)
    return {"created": created, "expand": ["data.latest_charge"]}


def _note(asked: str, fault: Exception) -> None:
    """For the log: what kind of fault; no message, which may quote what was sent."""
    log.warning(
        "stripe_gave_no_answer",
        asked=asked,
        fault=type(fault).__name__,
        status=getattr(fault, "http_status", None),
    )
