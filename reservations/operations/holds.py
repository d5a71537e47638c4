"""Holds: extend and release. Each locks the hold first and then decides by one guarded update."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import F, Q
from django.db.models.functions import Greatest

from holdfast.kernel.clock import Now
from holdfast.kernel.errors import Invalid, NotFound
from reservations.customers import allowance_lock_name
from reservations.errors import ExtensionLimit, HoldConverted, HoldExpired, HoldReleased
from reservations.expiry import wake_at_the_end
from reservations.locks import lock_hold, lock_units
from reservations.messages import hold_fact
from reservations.models import Hold, HoldStatus, Unit, UnitStatus
from reservations.models.event import HOLD_TTL_SECONDS_MIN
from reservations.queries.holds import get_hold
from tenants.scope import hold_name, tenant_transaction
from webhooks.outbox import publish

_IN_TIME = Q(status=HoldStatus.ACTIVE, expires_at__gt=Now())


def extend_hold(*, tenant_id: UUID, hold_id: UUID, seconds: int | None = None) -> Any:
    """Give the hold `seconds` from now (the event's term by default), and never less than it has.

    Answers the hold as `get_hold` reads it. Raises NotFound, Invalid (seconds out of range), HoldExpired, HoldReleased,
    HoldConverted, ExtensionLimit.
    """
    with tenant_transaction(tenant_id):
        hold = _locked(hold_id)
        term = hold.event.hold_ttl_seconds if seconds is None else seconds
        if not HOLD_TTL_SECONDS_MIN <= term <= hold.event.hold_ttl_seconds:
            detail = (
                f"Must be from {HOLD_TTL_SECONDS_MIN} to the event's hold_ttl_seconds, {hold.event.hold_ttl_seconds}."
            )
            raise Invalid.at("/seconds", "out_of_range", detail)
        if hold.event.units_per_customer_max is not None:
            # whoever counts this customer's holds now may have found that this one has lapsed: they come first
            hold_name(allowance_lock_name(hold.event_id, bytes(hold.customer_key)))
        # the time is read by this statement, which runs with the hold locked
        extended = Hold.objects.filter(_IN_TIME, id=hold_id, extensions_used__lt=hold.event.hold_extensions_max).update(
            expires_at=Greatest(F("expires_at"), Now() + timedelta(seconds=term)),
            extensions_used=F("extensions_used") + 1,
        )
        if not extended:
            _refuse_ended(get_hold(hold_id))
            raise ExtensionLimit(f"It was extended {hold.extensions_used} times, and may be no more.")
        extended_hold = _said("hold.extended", hold_id)
        wake_at_the_end([extended_hold])
        return extended_hold


def release_hold(*, tenant_id: UUID, hold_id: UUID, reason: str = "") -> Any:
    """Give the hold's units back. A second time changes nothing and answers as the first.

    Answers the hold as `get_hold` reads it. Raises NotFound, HoldExpired, HoldConverted.
    """
    with tenant_transaction(tenant_id):
        _locked(hold_id)
        released = Hold.objects.filter(_IN_TIME, id=hold_id).update(
            status=HoldStatus.RELEASED, ended_at=Now(), release_reason=reason
        )
        if not released:
            hold = get_hold(hold_id)
            if hold.status != HoldStatus.RELEASED:
                _refuse_ended(hold)
            return hold
        units = [unit.id for unit in lock_units(Q(hold_id=hold_id))]
        Unit.objects.filter(id__in=units, hold_id=hold_id).update(status=UnitStatus.AVAILABLE, hold=None)
        return _said("hold.released", hold_id)


def _locked(hold_id: UUID) -> Hold:
    hold = lock_hold(hold_id)
    if hold is None:
        raise NotFound
    return hold


def _refuse_ended(hold: Any) -> None:
    """Raises HoldExpired, HoldReleased or HoldConverted for a hold that has ended or whose time has passed."""
    match hold.status:
        case HoldStatus.RELEASED:
            raise HoldReleased
        case HoldStatus.CONVERTED:
            raise HoldConverted
        case HoldStatus.EXPIRED:
            raise HoldExpired
    if hold.expires_at <= hold.now:
        raise HoldExpired


def _said(message_type: str, hold_id: UUID) -> Any:
    """The hold as it is now, and the message of it."""
    hold = get_hold(hold_id)
    publish([hold_fact(message_type, hold, hold.now)])
    return hold
