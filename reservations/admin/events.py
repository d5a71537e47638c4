"""Events: listed with what is left of each, made and changed by a form, moved along by buttons."""

from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib.admin import action, display
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from holdfast.kernel.errors import Conflict, Refusal
from reservations.admin.add_units import add_units
from reservations.admin.event_form import EventForm
from reservations.admin.timeline import timeline_of
from reservations.models import Event, EventStatus, PausedReason, Unit, UnitStatus
from reservations.models.event import EVENT_MOVES
from reservations.operations.event_deletion import delete_event
from reservations.operations.events import close_event, pause_event, publish_event, resume_event
from reservations.queries.units import having_status
from tenants.admin.base import BOTH_PAGES, SELECTED_MAX, TenantAdmin, badge
from tenants.admin.wall_time import shown
from tenants.scope import current_tenant_id

PAUSED_BY_A_CHECK = "Paused: a check failed"
BADGES = {"Draft": "", "On Sale": "success", "Paused": "warning", PAUSED_BY_A_CHECK: "danger", "Closed": "danger"}
WARNING = (
    "HoldFast paused this event by itself: a check found that one of its promises is broken here. Nothing is sold "
    "until an owner or a manager resumes it. Find out why first: while it is broken, the next check pauses it again."
)
LIMITS = [("hold_ttl_seconds", "hold_extensions_max"), ("units_per_hold_max", "units_per_customer_max")]


def counts_of(event_ids: Iterable[UUID]) -> dict[UUID, Any]:
    """How many units each event has in all and by state, in one query; an event without units is not in it."""
    by_state = {str(status): Count("id", filter=having_status(status)) for status in UnitStatus}
    rows = Unit.objects.filter(event_id__in=list(event_ids)).values("event_id").annotate(total=Count("id"), **by_state)
    return {row["event_id"]: row for row in rows}


def _state(event: Event) -> str:
    """The status as people read it, and who paused it where that was no person."""
    is_stopped = event.paused_reason == PausedReason.INVARIANT
    return PAUSED_BY_A_CHECK if is_stopped else event.get_status_display()


def _lists_of(event: Event) -> list[tuple[str, str]]:
    """The lists that are about this event: name and address."""
    names = {"Units": "unit", "Holds": "hold"}
    return [
        (label, f"{reverse(f'admin:reservations_{name}_changelist')}?event={event.id}") for label, name in names.items()
    ]


class EventAdmin(TenantAdmin):
    """Drafts may go; what was published is paused, resumed and closed."""

    form = EventForm
    icon = "confirmation_number"
    list_display = ["name", "kind", "status_badge", "window", "total", "available", "held", "sold", "blocked", "links"]
    list_filter = ["status", "kind"]
    search_fields = ["name", "slug"]
    ordering = ["-id"]
    list_per_page = 25
    change_form_outer_after_template = "admin/timeline.html"
    actions = ["publish", "pause", "resume", "close"]
    fieldsets = [
        ("What is sold", {"fields": ["name", "slug", ("kind", "currency", "timezone")]}),
        ("When", {"fields": [("starts_at", "ends_at"), ("sales_open_at", "sales_close_at")]}),
        ("Holds", {"fields": LIMITS}),
    ]
    read_only_fieldsets = [
        ("What is sold", {"fields": ["name", "slug", ("kind", "currency", "timezone")]}),
        ("When", {"fields": [("starts", "ends"), ("sales_open", "sales_close")]}),
        ("Holds", {"fields": LIMITS}),
    ]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.add_units_view)
        return [path("<path:object_id>/units/add/", view, name="reservations_event_add_units"), *super().get_urls()]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fieldsets if self.has_change_permission(request, obj) else self.read_only_fieldsets

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        changelist = super().get_changelist_instance(request)
        changelist.result_list = list(changelist.result_list)
        found = counts_of(event.id for event in changelist.result_list)
        for event in changelist.result_list:
            event.counts = found.get(event.id, {})
        return changelist

    @badge("Status", BADGES, ordering="status")
    def status_badge(self, event: Event) -> str:
        return _state(event)

    @display(description="Starts", ordering="starts_at")
    def window(self, event: Event) -> str:
        return shown(event.starts_at, ZoneInfo(event.timezone))

    @display(description="Units")
    def total(self, event: Any) -> int:
        return int(event.counts.get("total", 0))

    @display(description="Available")
    def available(self, event: Any) -> int:
        return int(event.counts.get(UnitStatus.AVAILABLE, 0))

    @display(description="Held")
    def held(self, event: Any) -> int:
        return int(event.counts.get(UnitStatus.HELD, 0))

    @display(description="Sold")
    def sold(self, event: Any) -> int:
        return int(event.counts.get(UnitStatus.SOLD, 0))

    @display(description="Blocked")
    def blocked(self, event: Any) -> int:
        return int(event.counts.get(UnitStatus.BLOCKED, 0))

    @display(description="")
    def links(self, event: Event) -> SafeString:
        anchor = '<a class="text-primary-600 dark:text-primary-500" href="{1}">{0}</a>'
        return format_html_join(" · ", anchor, _lists_of(event))

    @display(description="Starts")
    def starts(self, event: Event) -> str:
        return shown(event.starts_at, ZoneInfo(event.timezone))

    @display(description="Ends")
    def ends(self, event: Event) -> str:
        return shown(event.ends_at, ZoneInfo(event.timezone))

    @display(description="Sales open")
    def sales_open(self, event: Event) -> str:
        return shown(event.sales_open_at, ZoneInfo(event.timezone))

    @display(description="Sales close")
    def sales_close(self, event: Event) -> str:
        return shown(event.sales_close_at, ZoneInfo(event.timezone))

    @action(permissions=["change"], description="Publish", location=BOTH_PAGES)
    def publish(self, request: HttpRequest, queryset: QuerySet[Event]) -> None:
        self._move(request, queryset, publish_event)

    @action(permissions=["change"], description="Pause", location=BOTH_PAGES)
    def pause(self, request: HttpRequest, queryset: QuerySet[Event]) -> None:
        self._move(request, queryset, pause_event)

    @action(permissions=["change"], description="Resume", location=BOTH_PAGES)
    def resume(self, request: HttpRequest, queryset: QuerySet[Event]) -> None:
        self._move(request, queryset, resume_event)

    @action(permissions=["change"], description="Close", location=BOTH_PAGES)
    def close(self, request: HttpRequest, queryset: QuerySet[Event]) -> HttpResponse | None:
        """It is for good, so it is asked first."""
        if "sure" not in request.POST:
            return self._ask_to_close(request, queryset)
        self._move(request, queryset, close_event)
        return None

    def _ask_to_close(self, request: HttpRequest, queryset: QuerySet[Event]) -> HttpResponse | None:
        events = list(queryset[: SELECTED_MAX + 1])
        self.refuse_too_many(len(events))
        if not events:
            return None
        # the button of an event's page and the choice of the list come under different names
        action_name = next(name for name in request.POST if name.endswith("action") and name != ACTION_CHECKBOX_NAME)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Close an event" if len(events) == 1 else f"Close {len(events)} events",
            "events": events,
            "action_name": action_name,
            "back": request.get_full_path(),
        }
        return TemplateResponse(request, "admin/reservations/event/close.html", context)

    def _move(self, request: HttpRequest, queryset: QuerySet[Event], operation: Callable[..., Event]) -> None:
        """All of them or none. Raises Conflict, naming the event that can't move so."""
        for event in queryset:
            try:
                moved = operation(tenant_id=current_tenant_id(), event_id=event.id)
            except Refusal as refusal:
                raise Conflict(f"{event.name}: {refusal.detail}") from refusal
            self.log_change(request, moved, f"Now {moved.get_status_display().lower()}.")
            self.message_user(request, f"{moved.name} is {moved.get_status_display().lower()} now.")

    def object_actions(self, request: HttpRequest, obj: Any) -> list[tuple[str, str]]:
        return [
            (name, label) for name, label in super().object_actions(request, obj) if obj.status in EVENT_MOVES[name][0]
        ]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Any = None, **kwargs: Any
    ) -> HttpResponse:
        if obj is not None:
            counts = counts_of([obj.id]).get(obj.id, {})
            parts = [f"{counts.get(state, 0):,} {state}" for state in UnitStatus]
            context["object_summary"] = " · ".join([_state(obj), *parts])
            context["object_warning"] = WARNING if obj.paused_reason == PausedReason.INVARIANT else ""
            context["timeline"] = timeline_of(obj.id, obj.timezone)
            context["show_delete"] = obj.status == EventStatus.DRAFT  # anything else would be refused, once it was sure
            context["object_links"] = self._links(request, obj)
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    def _links(self, request: HttpRequest, event: Event) -> list[tuple[str, str]]:
        if not self.has_change_permission(request, event):
            return _lists_of(event)
        add_units_url = reverse("admin:reservations_event_add_units", args=[event.id])
        return [*_lists_of(event), (f"Add {event.get_kind_display().lower()}", add_units_url)]

    def delete_model(self, request: HttpRequest, obj: Event) -> None:
        delete_event(tenant_id=current_tenant_id(), event_id=obj.id)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Event]) -> None:
        for event in queryset:
            self.delete_model(request, event)

    def add_units_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return add_units(self, request, object_id)
