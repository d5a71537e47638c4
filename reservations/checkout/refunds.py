"""Refunds: asked for by an organizer or a client, or begun by HoldFast for money that it can't keep.

A refund first claims its tickets, which are void from then on, and its part of what was captured; then the money is
sent back, outside of any transaction; then the units return. So nothing goes back twice, however many ask.
"""

from uuid import UUID

from holdfast.kernel.clock import Now
from reservations.checkout.accounts import callback_url, provider_of
from reservations.checkout.answers import Answer
from reservations.checkout.claim_refund import RefundWish, claim_refund
from reservations.checkout.lease import Begun, take_over_refund
from reservations.checkout.once import claimed_once
from reservations.checkout.provider import RefundAnswer, RefundOrder, RefundOutcome
from reservations.checkout.settle_refund import answer_of_refund, carry_out, settle_refund
from reservations.checkout.waits import place_to_wait
from reservations.checkout.wake import wake_payments
from reservations.models import Refund
from tenants.idempotency import Claim
from tenants.scope import tenant_transaction


def refund_order(*, tenant_id: UUID, wish: RefundWish, claim: Claim | None = None) -> Answer:
    """Refund an order or some of its items; answers 200 with the order, whose refund is pending where the provider has
    not said what became of it, or where too many wait for a slow one already.

    Raises NotFound, Invalid (a unit that is not in the order or went back already), NothingToRefund,
    IdempotencyKeyReused, IdempotencyInFlight.
    """
    with place_to_wait() as waits:
        begun = claimed_once(
            tenant_id=tenant_id,
            claim=claim,
            first=lambda: _begin(wish, waits=waits),
            resume=lambda refund_id: take_over_refund(refund_id) if waits else None,
            tell_again=lambda refund_id: answer_of_refund(Refund.objects.get(id=refund_id)),
        )
        return begun if isinstance(begun, Answer) else _send_and_settle(tenant_id, begun)


def begin_refund(*, tenant_id: UUID, wish: RefundWish) -> Refund:
    """Claim what goes back and leave the sending to a worker: for callers that are inside a transaction, or can't wait.

    Answers the refund, pending unless it is of units alone. Raises NotFound, Invalid, NothingToRefund.
    """
    with tenant_transaction(tenant_id):
        refund = _claim(wish)
        if refund.amount:
            _leave_to_a_worker(refund)
        return Refund.objects.get(id=refund.id)


def carry_on_refund(tenant_id: UUID, refund_id: UUID) -> None:
    """Take up a refund that is due, by sending it once more under the same key; one that is not due is left alone."""
    with tenant_transaction(tenant_id):
        begun = take_over_refund(refund_id)
    if begun is not None:
        _send_and_settle(tenant_id, begun)


def _begin(wish: RefundWish, *, waits: bool) -> Answer | Begun[Refund]:
    refund = _claim(wish)
    if refund.amount and waits:
        return Begun(refund, refund.fence)
    if refund.amount:
        _leave_to_a_worker(refund)
    return answer_of_refund(refund)


def _leave_to_a_worker(refund: Refund) -> None:
    Refund.objects.filter(id=refund.id).update(look_at=Now())
    wake_payments()


def _claim(wish: RefundWish) -> Refund:
    """Claim what goes back; what costs nothing is back at once."""
    refund = claim_refund(wish)
    if not refund.amount:
        carry_out(refund, RefundAnswer(RefundOutcome.SUCCEEDED))
    return refund


def _send_and_settle(tenant_id: UUID, begun: Begun[Refund]) -> Answer:
    refund = begun.work
    if refund.payment is None or refund.payment.provider_reference is None:
        raise AssertionError("money that was captured has a payment, and its provider a name for it")
    order = RefundOrder(
        key=refund.provider_key,
        charge_reference=refund.payment.provider_reference,
        amount=refund.amount,
        currency=refund.currency,
        callback_url=callback_url(refund.payment.account),
    )
    provider = provider_of(refund.payment.account)
    answer = provider.refund(order)
    charge = None
    if answer.outcome == RefundOutcome.FAILED:
        # it may have gone back there without us
        charge = provider.lookup(refund.payment.provider_key, refund.payment.provider_reference)
    return settle_refund(tenant_id=tenant_id, begun=begun, answer=answer, charge=charge)
