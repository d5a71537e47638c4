"""Holds: extend and release. Each locks the hold first and then decides by one guarded update."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import F, Q
from django.db.models.functions import Greatest

from holdfast.kernel.clock import Now
from holdfast.kernel.errors import Invalid, NotFound
from reservations.errors import ExtensionLimit, HoldConverted, HoldExpired, HoldReleased
from reservations.expiry import free_units, wake_at_the_end
from reservations.locks import lock_allowance, lock_hold
from reservations.messages import hold_fact
from reservations.models import Hold, HoldStatus
from reservations.models.event import HOLD_TTL_SECONDS_MIN
from reservations.queries.holds import get_hold
from reservations.unpaid import fail_unpaid_orders, refuse_paying
from tenants.scope import tenant_transaction
from webhooks.outbox import publish

IN_TIME = Q(status=HoldStatus.ACTIVE, expires_at__gt=Now())


def extend_hold(*, tenant_id: UUID, hold_id: UUID, seconds: int | None = None) -> Any:
    """Give the hold `seconds` from now (the event's term by default), and never less than it has.

    Answers the hold as `get_hold` reads it. Raises NotFound, Invalid (seconds out of range), HoldExpired, HoldReleased,
    HoldConverted, ExtensionLimit, CheckoutInProgress.
    """
    with tenant_transaction(tenant_id):
        hold = _locked(hold_id)
        refuse_paying(hold_id)
        term = hold.event.hold_ttl_seconds if seconds is None else seconds
        if not HOLD_TTL_SECONDS_MIN <= term <= hold.event.hold_ttl_seconds:
            detail = (
                f"Must be from {HOLD_TTL_SECONDS_MIN} to the event's hold_ttl_seconds, {hold.event.hold_ttl_seconds}."
            )
            raise Invalid.at("/seconds", "out_of_range", detail)
        lock_allowance(hold.event, bytes(hold.customer_key))
        # the time is read by this statement, which runs with the hold locked
        extended = Hold.objects.filter(IN_TIME, id=hold_id, extensions_used__lt=hold.event.hold_extensions_max).update(
            expires_at=Greatest(F("expires_at"), Now() + timedelta(seconds=term)),
            extensions_used=F("extensions_used") + 1,
        )
        if not extended:
            refuse_ended(get_hold(hold_id))
            raise ExtensionLimit(f"It was extended {hold.extensions_used} times, and may be no more.")
        extended_hold = _said("hold.extended", hold_id)
        wake_at_the_end([extended_hold])
        return extended_hold


def release_hold(*, tenant_id: UUID, hold_id: UUID, reason: str = "") -> Any:
    """Give the hold's units back. A second time changes nothing and answers as the first.

    A try to pay that was declined ends with it. Answers the hold as `get_hold` reads it. Raises NotFound, HoldExpired,
    HoldConverted, CheckoutInProgress.
    """
    with tenant_transaction(tenant_id):
        _locked(hold_id)
        refuse_paying(hold_id)
        released = release_locked_hold(hold_id, reason)
        if released is not None:
            fail_unpaid_orders([hold_id])
            return released
        hold = get_hold(hold_id)
        if hold.status != HoldStatus.RELEASED:
            refuse_ended(hold)
        return hold


def release_locked_hold(hold_id: UUID, reason: str) -> Any:
    """Give back a hold that is locked and in time, as a part of a larger transaction; None for one that has ended."""
    released = Hold.objects.filter(IN_TIME, id=hold_id).update(
        status=HoldStatus.RELEASED, ended_at=Now(), release_reason=reason
    )
    if not released:
        return None
    free_units([hold_id])
    return _said("hold.released", hold_id)


def _locked(hold_id: UUID) -> Hold:
    hold = lock_hold(hold_id)
    if hold is None:
        raise NotFound
    return hold


def refuse_ended(hold: Any) -> None:
    """Raises HoldExpired, HoldReleased or HoldConverted for a hold that has ended or whose time has passed."""
    match hold.status:
        case HoldStatus.RELEASED:
            raise HoldReleased
        case HoldStatus.CONVERTED:
            raise HoldConverted(hold.order_now)
        case HoldStatus.EXPIRED:
            raise HoldExpired
    if hold.expires_at <= hold.now:
        raise HoldExpired


def _said(message_type: str, hold_id: UUID) -> Any:
    """The hold as it is now, and the message of it."""
    hold = get_hold(hold_id)
    publish([hold_fact(message_type, hold, hold.now, hold.order_now)])
    return hold
