"""A checkout from its request to its answer, and the same work taken up again by others.

No transaction is open while the provider is called, and no row is locked. What is written before a call says that it
may have been made; what is written after it says what came of it; between the two anyone may die.
"""

from datetime import timedelta
from uuid import UUID

from django.db.models import F, Q

from holdfast.kernel.clock import Now
from reservations.checkout.accounts import callback_url, provider_of
from reservations.checkout.answers import Answer
from reservations.checkout.begin import Wish, begin
from reservations.checkout.lease import Begun, take_over_payment
from reservations.checkout.provider import KEYS_LIVE_SECONDS, Charge, ChargeOrder, ChargeOutcome, PaymentProvider
from reservations.checkout.settle import settle
from reservations.checkout.waits import place_to_wait
from reservations.models import Payment, PaymentStatus
from tenants.idempotency import Claim
from tenants.scope import tenant_transaction

# a charge that the provider does not know is sent so often in all
SENDS_MAX = 3


def check_out(*, tenant_id: UUID, claim: Claim, wish: Wish) -> Answer:
    """Pay for a hold. Answers 201, 202, 402, 409 or 410 as the contract has it; raises what `begin` raises.

    Where too many wait for a slow provider already, the payment is left to a worker, and the answer is 202.
    """
    with place_to_wait() as waits:
        begun = begin(tenant_id=tenant_id, claim=claim, wish=wish, waits=waits)
        if isinstance(begun, Answer):
            return begun
        return _charge_and_settle(tenant_id, begun)


def carry_on_payment(tenant_id: UUID, payment_id: UUID) -> None:
    """Take up a payment that is due: look what became of it, or charge it; one that is not due is left alone."""
    with tenant_transaction(tenant_id):
        begun = take_over_payment(payment_id)
    if begun is not None:
        _charge_and_settle(tenant_id, begun)


def _charge_and_settle(tenant_id: UUID, begun: Begun[Payment]) -> Answer:
    payment = begun.work
    provider = provider_of(payment.account)
    if payment.status == PaymentStatus.CREATED:
        sent = _note_the_send(tenant_id, begun)
        charge = _charge(provider, payment) if sent else Charge(ChargeOutcome.UNKNOWN)
    elif begun.is_resumed:
        charge = _look(provider, payment, tenant_id, begun)
    else:
        charge = _charge(provider, payment)
    return settle(tenant_id=tenant_id, begun=begun, charge=charge)


def _charge(provider: PaymentProvider, payment: Payment) -> Charge:
    return provider.charge(
        ChargeOrder(
            key=payment.provider_key,
            amount=payment.amount,
            currency=payment.currency,
            method=payment.method,
            callback_url=callback_url(payment.account),
        )
    )


def _look(provider: PaymentProvider, payment: Payment, tenant_id: UUID, begun: Begun[Payment]) -> Charge:
    """Ask what became of it; where the provider never had it, send it once more under the same key."""
    found = provider.lookup(payment.provider_key, payment.provider_reference)
    if found.outcome == ChargeOutcome.ABSENT and _note_the_send(tenant_id, begun):
        return _charge(provider, payment)
    return found


def _note_the_send(tenant_id: UUID, begun: Begun[Payment]) -> bool:
    """Write down that the charge is sent (again), before it is; False where it may not be, or is another's by now."""
    fresh = Q(sent_at=None) | Q(sent_at__gt=Now() - timedelta(seconds=KEYS_LIVE_SECONDS))
    with tenant_transaction(tenant_id):
        mine = Payment.objects.filter(fresh, id=begun.work.id, fence=begun.fence, sends__lt=SENDS_MAX)
        is_first = mine.filter(status=PaymentStatus.CREATED).update(
            status=PaymentStatus.SUBMITTING, sends=1, sent_at=Now()
        )
        return bool(is_first or mine.filter(look_at__isnull=False).update(sends=F("sends") + 1))
