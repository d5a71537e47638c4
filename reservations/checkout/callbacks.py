"""Callbacks of providers: stored as they come, looked into later. What is true comes from asking the provider, so their
order does not matter, nor how often one comes."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from django.db.models import F, Q

from holdfast.kernel.clock import Now
from holdfast.kernel.errors import NotFound
from reservations.checkout.accounts import provider_of
from reservations.checkout.late_money import look_for_late_money
from reservations.checkout.lease import next_look
from reservations.checkout.refunds import carry_on_refund
from reservations.checkout.saga import carry_on_payment
from reservations.checkout.wake import wake_payments
from reservations.models import Payment, PaymentAccount, PaymentStatus, ProviderCallback, Refund, RefundStatus
from reservations.models.payment import OPEN
from tenants.scope import tenant_transaction

# a callback of something unknown is looked into for so long: it may be ahead of what it tells of
UNKNOWN_KEPT_SECONDS = 24 * 3600


def receive(*, provider: str, account_id: UUID, body: bytes, headers: Mapping[str, str]) -> None:
    """Check the signature and store the callback, once. Raises NotFound (no such account), BadSignature,
    UnreadableCallback."""
    account = PaymentAccount.everywhere.filter(id=account_id).first()
    # compared here, for a path may hold what no column does
    if account is None or account.provider != provider:
        raise NotFound
    news = provider_of(account).verify_callback(body, headers)
    with tenant_transaction(account.tenant_id):
        ProviderCallback.objects.bulk_create(
            [
                ProviderCallback(
                    tenant_id=account.tenant_id,
                    account_id=account.id,
                    event_id=news.event_id,
                    kind=news.kind,
                    reference=news.reference,
                )
            ],
            ignore_conflicts=True,
        )
        wake_payments()


def look_into(tenant_id: UUID, callback_id: UUID) -> None:
    """Look into one callback that is due.

    The mark that it was processed commits with its effect: the end of a payment or refund marks all that is told of it.
    What is left here had nothing to change any more, or comes too early, and is looked into again.
    """
    with tenant_transaction(tenant_id):
        callback = _taken(callback_id)
        if callback is None:
            return
        payment, refund = _payment_of(callback), _refund_of(callback)
        _hurry(payment, refund)
    if refund is not None:
        carry_on_refund(tenant_id, refund.id)
    if payment is not None:
        carry_on_payment(tenant_id, payment.id)
        if payment.status == PaymentStatus.DECLINED:
            look_for_late_money(tenant_id, payment)
    with tenant_transaction(tenant_id):
        _close(callback_id)


def _taken(callback_id: UUID) -> ProviderCallback | None:
    """The callback, if it is due; the next look at it is put off."""
    due = ProviderCallback.objects.filter(id=callback_id, look_at__lte=Now())
    callback = due.first()
    if callback is None or not due.update(look_at=next_look(callback.looks + 1), looks=F("looks") + 1):
        return None
    return callback


def _payment_of(callback: ProviderCallback) -> Payment | None:
    """By our key, or by the provider's id of the charge."""
    payments = Payment.objects.select_related("account").filter(account_id=callback.account_id)
    own_id = _own_id(callback)
    named = Q(provider_reference=callback.reference) | (Q(id=own_id) if own_id else Q())
    return payments.filter(named).first()


def _refund_of(callback: ProviderCallback) -> Refund | None:
    own_id = _own_id(callback)
    if own_id is None:
        return None
    return Refund.objects.filter(payment__account_id=callback.account_id, id=own_id).first()


def _own_id(callback: ProviderCallback) -> UUID | None:
    try:
        return UUID(callback.reference.removeprefix("hf-"))
    except ValueError:
        return None


def _hurry(payment: Payment | None, refund: Refund | None) -> None:
    """Look at it now; but not at one that was just sent and waits for its answer: it will hear by itself."""
    if payment is not None:
        waiting = Payment.objects.filter(id=payment.id, status__in=[PaymentStatus.UNKNOWN, PaymentStatus.NEEDS_ACTION])
        waiting.update(look_at=Now())
    if refund is not None:
        Refund.objects.filter(id=refund.id, status=RefundStatus.PENDING, looks__gt=0).update(look_at=Now())


def _close(callback_id: UUID) -> None:
    """Done with what is settled; with what is unknown only when it has been so for long."""
    callback = ProviderCallback.objects.filter(id=callback_id, processed_at=None).first()
    if callback is None:
        return
    payment, refund = _payment_of(callback), _refund_of(callback)
    is_open = (payment and payment.status in OPEN) or (refund and refund.status == RefundStatus.PENDING)
    rows = ProviderCallback.objects.filter(id=callback_id)
    if payment is None and refund is None:
        rows = rows.filter(received_at__lt=Now() - timedelta(seconds=UNKNOWN_KEPT_SECONDS))
    if not is_open:
        rows.update(processed_at=Now(), look_at=None)
