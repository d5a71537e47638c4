"""The first steps of a checkout, T1 and T2, in one transaction: the idempotency key is claimed, the hold's end pushed
out to cover the payment, the order made, and the payment with it. From then on only the payment decides."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import DateTimeField, ExpressionWrapper, F, Value
from django.db.models.functions import Greatest, Least

from holdfast.kernel.clock import Now
from holdfast.kernel.errors import Invalid
from reservations.checkout.accounts import enabled_account
from reservations.checkout.answers import Answer, answer_of, confirmed_answer, found_answer
from reservations.checkout.confirm import confirm
from reservations.checkout.lease import Begun, lease, take_over_payment
from reservations.checkout.once import claimed_once
from reservations.checkout.wake import wake_payments
from reservations.errors import HoldConverted, HoldExpired
from reservations.expiry import wake_at_the_end
from reservations.locks import lock_allowance, lock_hold
from reservations.models import Hold, Order, Payment, PaymentStatus
from reservations.operations.holds import IN_TIME, refuse_ended
from reservations.queries.holds import get_hold
from reservations.queries.orders import get_order
from reservations.unpaid import refuse_paying
from tenants.idempotency import Claim

# what a payment has left of its hold's time at least, and how long payments may keep a hold alive in all
PAYING_SECONDS_MIN = 120
PAYING_SECONDS_MAX = 900


@dataclass(frozen=True, slots=True)
class Wish:
    """What a client asked to be paid and how. `method` is the provider's token; None asks for no payment."""

    hold_id: UUID
    method: str | None = None
    buyer: Mapping[str, Any] | None = None


def begin(*, tenant_id: UUID, claim: Claim, wish: Wish, waits: bool) -> Answer | Begun[Payment]:
    """Begin a checkout, or answer what there is to answer.

    With `waits` the payment is the caller's, who calls the provider at once; without, it is left to whoever looks for
    due payments, and the answer is 202. Raises Invalid, IdempotencyKeyReused, IdempotencyInFlight, CheckoutInProgress.
    """
    return claimed_once(
        tenant_id=tenant_id,
        claim=claim,
        first=lambda: _begin(wish, waits=waits),
        resume=lambda payment_id: take_over_payment(payment_id) if waits else None,
        tell_again=found_answer,
    )


def _begin(wish: Wish, *, waits: bool) -> Answer | Begun[Payment]:
    hold = lock_hold(wish.hold_id)
    if hold is None:
        raise Invalid.at("/hold", "unknown", "There is no such hold.")
    order = Order.objects.filter(hold=hold).first()
    if order is not None:
        if order.confirmed_at:  # by this hold, or by another one that took the same units when the money came late
            raise HoldConverted(order.id)
        refuse_paying(hold.id)
    _push_out_the_end(hold, order)
    order = _order(hold, order, wish)
    if hold.total_amount == 0:
        return _free(order)
    payment = _payment(order, wish, waits=waits)
    if waits:
        return Begun(payment, payment.fence)
    wake_payments()
    return replace(answer_of(payment, get_order(order.id)), resource_id=payment.id)


def _push_out_the_end(hold: Hold, order: Order | None) -> None:
    """Give the payment time. Raises HoldExpired, HoldReleased, HoldConverted."""
    lock_allowance(hold.event, bytes(hold.customer_key))
    first_try = Value(order.created_at) if order else Now()
    covered = Least(
        Now() + timedelta(seconds=PAYING_SECONDS_MIN),
        ExpressionWrapper(first_try + timedelta(seconds=PAYING_SECONDS_MAX), DateTimeField()),
    )
    if not Hold.objects.filter(IN_TIME, id=hold.id).update(expires_at=Greatest(F("expires_at"), covered)):
        refuse_ended(get_hold(hold.id))
    end = Hold.objects.values_list("expires_at", flat=True).get(id=hold.id)
    if end != hold.expires_at:
        hold.expires_at = end
        wake_at_the_end([hold])


def _order(hold: Hold, order: Order | None, wish: Wish) -> Order:
    """The order of the hold, made by the first try to pay; a later try may name the buyer anew."""
    if order is None:
        return Order.objects.create(
            tenant_id=hold.tenant_id,
            hold=hold,
            event=hold.event,
            customer=hold.customer,
            customer_key=hold.customer_key,
            buyer=wish.buyer,
            total_amount=hold.total_amount,
        )
    if wish.buyer is not None:
        Order.objects.filter(id=order.id).update(buyer=wish.buyer)
    order.event = hold.event
    return order


def _free(order: Order) -> Answer:
    """Nothing is to be paid: confirmed at once. The hold is in time and locked, so that it can be."""
    confirmed = confirm(order)
    if confirmed is None:
        raise HoldExpired(order=str(order.id))
    return confirmed_answer(confirmed)


def _payment(order: Order, wish: Wish, *, waits: bool) -> Payment:
    """Raises Invalid where there is nothing to pay with, or no account to pay into."""
    if wish.method is None:
        raise Invalid.at("/payment", "required", "This hold costs something: say how it is paid.")
    account = enabled_account()
    if account is None:
        raise Invalid.at("/payment", "no_account", "No payment account is enabled: nothing can be charged.")
    # one who waits sends it right away: whoever finds it later must look whether it was sent
    sent: dict[str, Any] = (
        {"status": PaymentStatus.SUBMITTING, "look_at": lease(), "sends": 1, "sent_at": Now()}
        if waits
        else {"look_at": Now()}
    )
    return Payment.objects.create(
        tenant_id=order.tenant_id,
        order=order,
        account=account,
        amount=order.total_amount,
        currency=order.event.currency,
        method=wish.method,
        **sent,
    )
