"""Who works on a payment or refund now, and when somebody must look at it again. All times are the database's."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db.models import F, QuerySet
from django.db.models.expressions import Combinable

from holdfast.kernel.clock import Now
from reservations.locks import lock_payment, lock_refund
from reservations.models import Payment, PaymentStatus, Refund

# longer than a call to a provider may take, so that nobody takes over from one who waits for it
LEASE_SECONDS = 60
# how long after each look the next one comes; the last goes on for ever
LOOK_AGAIN_SECONDS = (2, 5, 15, 60, 300, 900, 3600)


def lease() -> Combinable:
    """`look_at` for one who works on it from now on."""
    return Now() + timedelta(seconds=LEASE_SECONDS)


def seconds_until_next_look(looks: int) -> int:
    """How long to wait after so many looks that told nothing."""
    return LOOK_AGAIN_SECONDS[min(looks, len(LOOK_AGAIN_SECONDS) - 1)]


def next_look(looks: int) -> Combinable:
    """`look_at` after so many looks that told nothing."""
    return Now() + timedelta(seconds=seconds_until_next_look(looks))


@dataclass(frozen=True, slots=True)
class Begun[Work: (Payment, Refund)]:
    """A payment or refund, as it was then, that is now the caller's to work on, until another takes it over with the
    next fence. Its account is at hand. `is_resumed` says that it may have been sent before."""

    work: Work
    fence: int
    is_resumed: bool = False


def take_over_payment(payment_id: UUID) -> Begun[Payment] | None:
    """The payment, if it is due and so nobody's; None otherwise. In a tenant transaction."""
    payment = lock_payment(payment_id)
    if payment is None or not _take(Payment.objects.filter(id=payment_id)):
        return None
    return Begun(payment, payment.fence + 1, is_resumed=payment.status != PaymentStatus.CREATED)


def take_over_refund(refund_id: UUID) -> Begun[Refund] | None:
    """The refund, if it is due and so nobody's; None otherwise. In a tenant transaction."""
    refund = lock_refund(refund_id)
    if refund is None or not _take(Refund.objects.filter(id=refund_id)):
        return None
    return Begun(refund, refund.fence + 1, is_resumed=True)


def _take(rows: "QuerySet[Payment] | QuerySet[Refund]") -> int:
    return rows.filter(look_at__lte=Now()).update(fence=F("fence") + 1, look_at=lease())
