"""Reconciliation: what HoldFast and a provider say of the same charges, compared both ways.

A difference is a row that the organizer sees until it is gone. Two kinds heal by themselves here: money that was taken
for a payment which counts as declined begins to go back; a payment that is still open is left to recovery.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db.models import Q

from holdfast.kernel.clock import Now, database_now
from reservations.checkout.accounts import provider_of
from reservations.checkout.compare import Found, differences, named
from reservations.checkout.late_money import return_late_money
from reservations.checkout.provider import Charge, ChargeOutcome, ListedCharge, PaymentProvider, ProviderAway
from reservations.models import Difference, Payment, PaymentAccount, PaymentStatus, Refund, RefundStatus
from tenants.scope import tenant_transaction

logger = structlog.get_logger(__name__)
# every day looks at the days before, too: a provider's list may be late, a run may be missed
LOOK_BACK_SECONDS = 3 * 24 * 3600
# what is younger may still be under way; also, the two clocks differ by less
SETTLE_SECONDS = 300
# differences that are older than the list, and so are asked about one by one
OLD_ONES_MAX = 100


def reconcile_all() -> int:
    """Every account of every tenant; answers how many differences are open. One that can't be asked is left for
    later."""
    for account in PaymentAccount.everywhere.order_by("tenant_id"):
        try:
            reconcile(account)
        except ProviderAway:
            logger.warning("not_reconciled", account=str(account.id), tenant=str(account.tenant_id))
    return Difference.everywhere.filter(resolved_at=None).count()


def reconcile(account: PaymentAccount) -> int:
    """Compare the last days of one account; answers how many of its differences are open. Raises ProviderAway."""
    began, settle = database_now(), timedelta(seconds=SETTLE_SECONDS)
    since = began - timedelta(seconds=LOOK_BACK_SECONDS)
    provider = provider_of(account)
    # to its end: an old payment may have been sent again a moment ago
    listed = named(provider.charges(since, began + settle))
    listed |= _old_ones(account, provider, listed, since)
    with tenant_transaction(account.tenant_id):
        payments = _payments(account, since + settle, began - settle, listed)
        moving = _moving(payments, began)
        looked_at = (payments.keys() | listed.keys()) - moving
        _write(account, differences(payments, listed, moving), looked_at)
    _return_late(account.tenant_id, payments.values(), listed)
    with tenant_transaction(account.tenant_id):
        return Difference.objects.filter(account=account, resolved_at=None).count()


def _old_ones(
    account: PaymentAccount, provider: PaymentProvider, listed: Mapping[str, ListedCharge], since: datetime
) -> dict[str, ListedCharge]:
    """The charges of open differences which are too old for the list, the oldest first."""
    with tenant_transaction(account.tenant_id):
        unlisted = Difference.objects.filter(account=account, resolved_at=None).exclude(reference__in=listed.keys())
        old = unlisted.filter(found_at__lt=since).order_by("id").values_list("reference", flat=True)
        names = list(dict.fromkeys(old[:OLD_ONES_MAX]))
        own_ids = [own_id for own_id in map(_own_id, names) if own_id]
        references = dict(Payment.objects.filter(id__in=own_ids).values_list("id", "provider_reference"))
    found = {}
    for name in names:
        own_id = _own_id(name)
        charge = provider.lookup(name, references.get(own_id)) if own_id else provider.lookup("", name)
        if charge.reference and charge.amount is not None and charge.currency:
            found[name] = ListedCharge(
                key=name if own_id else "",
                reference=charge.reference,
                outcome=charge.outcome,
                amount=charge.amount,
                currency=charge.currency,
                refunded=charge.refunded,
                created_at=since,
            )
    return found


def _payments(
    account: PaymentAccount, since: datetime, until: datetime, listed: Mapping[str, ListedCharge]
) -> dict[str, Payment]:
    """The payments of that time, by key, and those that the provider lists though they are older or younger."""
    mine = Payment.objects.filter(account=account).select_related("order")
    own_ids = [own_id for own_id in map(_own_id, listed) if own_id]
    found = mine.filter(created_at__gte=since, created_at__lt=until) | mine.filter(id__in=own_ids)
    return {payment.provider_key: payment for payment in found}


def _moving(payments: Mapping[str, Payment], began: datetime) -> set[str]:
    """Payments that changed since, or have money on its way back: the provider's list may be older or newer."""
    ids = [payment.id for payment in payments.values()]
    on_its_way = Q(status=RefundStatus.PENDING) | Q(settled_at__gte=began)
    refunds = Refund.objects.filter(on_its_way, payment_id__in=ids).values_list("payment_id", flat=True)
    moving = set(Payment.objects.filter(id__in=ids, settled_at__gte=began).values_list("id", flat=True)) | set(refunds)
    return {name for name, payment in payments.items() if payment.id in moving}


def _own_id(key: str) -> UUID | None:
    """The payment's id, of a key of ours."""
    try:
        return UUID(key.removeprefix("hf-")) if key.startswith("hf-") else None
    except ValueError:
        return None


def _write(account: PaymentAccount, found: Iterator[Found], looked_at: Collection[str]) -> None:
    """New differences become rows; those that were looked at and are gone are resolved."""
    open_rows = {(row.kind, row.reference): row for row in Difference.objects.filter(account=account, resolved_at=None)}
    seen = {(one.kind.value, one.reference): one for one in found}
    gone = [row.id for key, row in open_rows.items() if key not in seen and row.reference in looked_at]
    Difference.objects.filter(id__in=gone).update(resolved_at=Now())
    for key, one in seen.items():
        if key not in open_rows:
            Difference.objects.create(
                tenant_id=account.tenant_id,
                account=account,
                kind=one.kind,
                reference=one.reference,
                order_id=one.order_id,
                here=one.here,
                there=one.there,
            )


def _return_late(tenant_id: UUID, payments: Iterable[Payment], listed: Mapping[str, ListedCharge]) -> None:
    for payment in payments:
        charge = listed.get(payment.provider_key)
        if payment.status == PaymentStatus.DECLINED and charge and charge.outcome == ChargeOutcome.SUCCEEDED:
            took = Charge(ChargeOutcome.SUCCEEDED, charge.reference, charge.amount, charge.currency, charge.refunded)
            return_late_money(tenant_id, payment.id, took)
