"""Events: create, change, and the moves of their status."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import IntegrityError

from holdfast.kernel.db.errors import constraint_name
from holdfast.kernel.errors import FieldError, Invalid, NotFound
from reservations.errors import InvalidTransition
from reservations.locks import lock_event
from reservations.messages import event_fact
from reservations.models import Event, EventStatus, PausedReason
from reservations.models.event import EVENT_MOVES
from tenants.scope import tenant_transaction
from webhooks.outbox import publish

_SLUG_TAKEN = "event_slug_is_unique_in_its_tenant"
PAST = {"publish": "published", "pause": "paused", "resume": "resumed", "close": "closed"}
_IN_ORDER = (("starts_at", "ends_at"), ("sales_open_at", "sales_close_at"))


def create_event(*, tenant_id: UUID, **fields: Any) -> Event:
    """A new event, in draft. Raises Invalid: a slug that is taken, times out of order."""
    event = Event(tenant_id=tenant_id, **fields)
    _refuse_times_out_of_order(event)
    with _slug_judged_by_the_database(), tenant_transaction(tenant_id):
        event.save(force_insert=True)
    return event


def change_event(*, tenant_id: UUID, event_id: UUID, **fields: Any) -> Event:
    """Change an event's fields; `kind` and `currency` only in a draft. Raises NotFound, Invalid."""
    with _slug_judged_by_the_database(), tenant_transaction(tenant_id):
        event = lock_event(event_id)
        if event is None:
            raise NotFound
        _refuse_late_changes(event, fields)
        for name, value in fields.items():
            setattr(event, name, value)
        _refuse_times_out_of_order(event)
        if fields:
            event.save(update_fields=list(fields))
    return event


def publish_event(*, tenant_id: UUID, event_id: UUID) -> Event:
    """`draft → on_sale`. Raises NotFound, InvalidTransition."""
    return _move(tenant_id, event_id, "publish")


def pause_event(*, tenant_id: UUID, event_id: UUID) -> Event:
    """`on_sale → paused`, by the organizer. Raises NotFound, InvalidTransition."""
    return _move(tenant_id, event_id, "pause", paused_reason=PausedReason.ORGANIZER)


def pause_event_for_invariant(*, tenant_id: UUID, event_id: UUID) -> Event:
    """`on_sale → paused`, because a promise is broken. Raises NotFound, InvalidTransition."""
    return _move(tenant_id, event_id, "pause", paused_reason=PausedReason.INVARIANT)


def resume_event(*, tenant_id: UUID, event_id: UUID) -> Event:
    """`paused → on_sale`. Raises NotFound, InvalidTransition."""
    return _move(tenant_id, event_id, "resume")


def close_event(*, tenant_id: UUID, event_id: UUID) -> Event:
    """`on_sale | paused → closed`, for good. Raises NotFound, InvalidTransition."""
    return _move(tenant_id, event_id, "close")


def _move(tenant_id: UUID, event_id: UUID, move: str, paused_reason: PausedReason | None = None) -> Event:
    sources, target = EVENT_MOVES[move]
    with tenant_transaction(tenant_id):
        moved = Event.objects.filter(id=event_id, status__in=sources).update(status=target, paused_reason=paused_reason)
        event = Event.objects.filter(id=event_id).first()
        if event is None:
            raise NotFound
        if not moved:
            raise InvalidTransition(f"An event that is {event.get_status_display().lower()} can't be {PAST[move]}.")
        publish([event_fact(f"event.{PAST[move]}", event)])
    return event


@contextmanager
def _slug_judged_by_the_database() -> Iterator[None]:
    """Turns the unique constraint's refusal into a field error: it alone sees two creations at once."""
    try:
        yield
    except IntegrityError as error:
        if constraint_name(error) != _SLUG_TAKEN:
            raise
        raise Invalid.at("/slug", "taken", "Another event has this slug.") from error


def _refuse_late_changes(event: Event, fields: dict[str, Any]) -> None:
    """Once published, what is sold and in which currency stays; so does the currency of units that have prices."""
    changed = [name for name in ("kind", "currency") if name in fields and fields[name] != getattr(event, name)]
    if event.status != EventStatus.DRAFT:
        faults = [FieldError(f"/{name}", "not_in_draft", "Only a draft can change this.") for name in changed]
        if faults:
            raise Invalid(faults)
    if "currency" in changed and event.units.filter(price_amount__gt=0).exists():
        raise Invalid.at("/currency", "in_use", "Units of this event have prices in its currency.")


def _refuse_times_out_of_order(event: Event) -> None:
    for first, second in _IN_ORDER:
        begins, ends = getattr(event, first), getattr(event, second)
        if begins and ends and begins >= ends:
            raise Invalid.at(f"/{second}", "not_after_start", f"Must be after {first}.")
