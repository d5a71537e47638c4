"""Money that came after a payment was taken for declined: it always goes back, since the buyer was told that it did not
come, and may have paid otherwise."""

from uuid import UUID

from reservations.checkout.accounts import provider_of
from reservations.checkout.provider import Charge, ChargeOutcome
from reservations.checkout.settle import give_back, note
from reservations.locks import lock_payment
from reservations.models import Payment, PaymentStatus
from tenants.scope import tenant_transaction


def look_for_late_money(tenant_id: UUID, payment: Payment) -> None:
    """Ask the provider once more about a payment that counts as declined; begin to return what it took after all. The
    payment's account must be at hand."""
    charge = provider_of(payment.account).lookup(payment.provider_key, payment.provider_reference)
    if charge.outcome == ChargeOutcome.SUCCEEDED:
        return_late_money(tenant_id, payment.id, charge)


def return_late_money(tenant_id: UUID, payment_id: UUID, charge: Charge) -> None:
    """Begin to return what was taken, unless that was begun already, or was done at the provider."""
    if charge.amount == charge.refunded:
        return
    with tenant_transaction(tenant_id):
        payment = lock_payment(payment_id)
        if payment is not None and payment.status == PaymentStatus.DECLINED:
            note(payment, charge)
            give_back(payment)
