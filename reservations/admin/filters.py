"""Filters of lists: by event, by section, by the state that every reader must see, and of what needs a look."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.contrib.admin import SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest

from reservations.models import Event, HoldStatus, Unit, UnitStatus
from reservations.queries import holds, units
from reservations.queries.stuck import stuck_order_ids

CHOICES_MAX = 200


def event_asked_for(request: HttpRequest) -> Event | None:
    """The event of `?event=`; None where it is missing, unknown or no id."""
    try:
        event_id = UUID(request.GET.get("event", ""))
    except ValueError:
        return None
    return Event.objects.filter(id=event_id).first()


class EventFilter(SimpleListFilter):
    """Rows of one event, of the newest ones."""

    title = "event"
    parameter_name = "event"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        newest = Event.objects.order_by("-id").values_list("id", "name")[:CHOICES_MAX]
        return [(str(event_id), name) for event_id, name in newest]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        event = event_asked_for(request)
        return queryset.filter(event=event) if event else queryset.none()


class OneEventFilter(EventFilter):
    """The event that the list is about; it can't be left out."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        event = event_asked_for(request)
        return [(str(event.id), event.name)] if event else []

    def choices(self, changelist: Any) -> Iterator[Any]:
        return (choice for choice in super().choices(changelist) if choice["selected"])


class SectionFilter(SimpleListFilter):
    """Units of one section of the event."""

    title = "section"
    parameter_name = "section"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        of_event = Unit.objects.filter(event=event_asked_for(request)).exclude(section="")
        names = of_event.order_by("section").values_list("section", flat=True).distinct()
        return [(name, name) for name in names[:CHOICES_MAX]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(section=self.value()) if self.value() else queryset


class UnitStateFilter(SimpleListFilter):
    """Units that read as having a state: one whose hold has lapsed is available."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(UnitStatus.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(units.having_status(state)) if (state := self.value()) else queryset


class HoldStateFilter(SimpleListFilter):
    """Holds that read as having a state: one past its end is expired."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(HoldStatus.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(holds.having_status(state)) if (state := self.value()) else queryset


def asks_for_stuck(request: HttpRequest) -> bool:
    """Whether the list is that of stuck orders."""
    return bool(request.GET.get(StuckFilter.parameter_name))


class StuckFilter(SimpleListFilter):
    """Orders whose money has been under way for too long, or waits for a person."""

    title = "what needs a look"
    parameter_name = "stuck"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "Stuck")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(id__in=stuck_order_ids()) if self.value() else queryset


class ResolvedFilter(SimpleListFilter):
    """Differences that are open, or gone."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("open", "Open"), ("resolved", "Resolved")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(resolved_at__isnull=self.value() == "open") if self.value() else queryset
