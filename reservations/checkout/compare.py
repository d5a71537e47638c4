"""What HoldFast and a provider say differently of the same charges: a comparison, and nothing is asked or written."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from uuid import UUID

from holdfast.kernel.money import EXPONENTS, formatted
from reservations.checkout.provider import ChargeOutcome, ListedCharge
from reservations.models import DifferenceKind, Payment, PaymentStatus

_TOOK_MONEY = (PaymentStatus.SUCCEEDED, PaymentStatus.REFUNDING, PaymentStatus.REFUNDED, PaymentStatus.NEEDS_REVIEW)


@dataclass(frozen=True, slots=True)
class Found:
    """A difference, before it is a row."""

    kind: DifferenceKind
    reference: str
    order_id: UUID | None
    here: str
    there: str


def named(charges: Iterable[ListedCharge]) -> dict[str, ListedCharge]:
    """Each charge by our key of it; one without a key, and a second one of the same key, by the provider's name."""
    listed: dict[str, ListedCharge] = {}
    for charge in sorted(charges, key=attrgetter("created_at", "reference")):
        is_first = bool(charge.key) and charge.key not in listed
        listed[charge.key if is_first else charge.reference] = charge
    return listed


def differences(
    payments: Mapping[str, Payment], listed: Mapping[str, ListedCharge], moving: Collection[str]
) -> Iterator[Found]:
    """All of them, but of the payments that move: their two sides were not read at one moment."""
    for name, payment in payments.items():
        if name not in moving:
            yield from _of_payment(payment, listed.get(name))
    for name, charge in listed.items():
        kept = charge.amount - charge.refunded
        if name not in payments and charge.outcome == ChargeOutcome.SUCCEEDED and kept:
            yield Found(DifferenceKind.ORDER_MISSING, name, None, "nothing", _shown(kept, charge.currency))


def _of_payment(payment: Payment, charge: ListedCharge | None) -> Iterator[Found]:
    if payment.status not in _TOOK_MONEY or payment.captured_amount is None:
        return
    currency = payment.captured_currency or payment.currency
    here = _shown(payment.captured_amount, currency)
    about = payment.provider_key, payment.order_id
    if charge is None or charge.outcome != ChargeOutcome.SUCCEEDED:
        yield Found(DifferenceKind.CHARGE_MISSING, *about, here, charge.outcome if charge else "nothing")
        return
    if (charge.amount, charge.currency) != (payment.captured_amount, currency):
        yield Found(DifferenceKind.AMOUNT, *about, here, _shown(charge.amount, charge.currency))
    refunded = payment.refunded_amount + payment.refunded_there_amount
    if charge.refunded != refunded:
        there = _shown(charge.refunded, charge.currency)
        yield Found(DifferenceKind.REFUND, *about, _shown(refunded, currency), there)


def _shown(amount: int, currency: str) -> str:
    """For people; a provider may name a currency that is none."""
    return formatted(amount, currency) if currency in EXPONENTS else f"{amount} {currency}"
