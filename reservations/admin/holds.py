"""Holds: who has a claim on what, and for how long still; they can be released."""

from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.admin import action, display
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from holdfast.kernel.money import formatted
from reservations.admin import release
from reservations.admin.filters import EventFilter, HoldStateFilter
from reservations.admin.timeline import timeline_of
from reservations.models import Hold, HoldStatus
from reservations.queries.holds import holds_now
from tenants.admin.base import BOTH_PAGES, ReadOnlyAdmin, badge
from tenants.admin.tenancy import role_of
from tenants.admin.wall_time import shown
from tenants.permissions import Action, role_may

LABELS_SHOWN = 6
STATES = {"active": "success", "converted": "info", "released": "warning", "expired": "danger"}


class HoldAdmin(ReadOnlyAdmin):
    """A list and a page; all that can be done here is to release a hold."""

    icon = "timer"
    list_display = ["customer", "event", "labels", "quantity", "total", "state", "time_left", "created"]
    list_filter = [EventFilter, HoldStateFilter]
    search_fields = ["customer"]
    search_help_text = "Customer, or a unit's whole label"
    ordering = ["-id"]
    actions = ["release"]
    fields = ["customer", "event", "state", "time_left", "all_labels", "quantity", "total"]
    fields += ["created", "expires", "ended", "release_reason", "extensions_used", "metadata"]
    change_form_outer_after_template = "admin/timeline.html"

    class Media:
        js = ["reservations/countdown.js"]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.release_view)
        return [path("release/", view, name="reservations_hold_release"), *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return holds_now()

    def has_release_permission(self, request: HttpRequest) -> bool:
        return role_may(role_of(request), Action.RELEASE)

    @action(permissions=["release"], description="Release", location=BOTH_PAGES)
    def release(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse:
        return release.ask(self, request, list(queryset[: release.RELEASED_MAX + 1]))

    def release_view(self, request: HttpRequest) -> HttpResponse:
        return release.release(self, request)

    def object_actions(self, request: HttpRequest, obj: Any) -> list[tuple[str, str]]:
        return super().object_actions(request, obj) if self.state(obj) == HoldStatus.ACTIVE else []

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Any = None, **kwargs: Any
    ) -> HttpResponse:
        if obj is not None:
            context["timeline"] = timeline_of(obj.id, obj.event.timezone)
            context["object_links"] = _links(obj)
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        text = search_term.strip()
        found = Q(customer__icontains=text) | Q(items__contains=[{"label": text}])
        return (queryset.filter(found) if text else queryset), False

    @display(description="Units")
    def labels(self, hold: Hold) -> str:
        return labels_in_short(hold)

    @display(description="Units")
    def all_labels(self, hold: Hold) -> SafeString:
        return format_html_join(", ", "{}", ((name,) for name in _labels(hold)))

    @display(description="Total")
    def total(self, hold: Hold) -> str:
        return formatted(hold.total_amount, hold.event.currency)

    @badge("State", STATES)
    def state(self, hold: Any) -> str:
        lapsed = hold.status == HoldStatus.ACTIVE and hold.expires_at <= hold.now
        return str(HoldStatus.EXPIRED if lapsed else hold.status)

    @display(description="Time left")
    def time_left(self, hold: Any) -> str | SafeString:
        if self.state(hold) != HoldStatus.ACTIVE:
            return ""
        seconds = (hold.expires_at - hold.now).total_seconds()
        text = "{}:{:02d}".format(*divmod(int(seconds), 60))
        return format_html('<span role="timer" data-seconds-left="{}">{}</span>', f"{seconds:.1f}", text)

    @display(description="Made", ordering="id")
    def created(self, hold: Hold) -> str:
        return shown(hold.created_at, ZoneInfo(hold.event.timezone))

    @display(description="Expires")
    def expires(self, hold: Hold) -> str:
        return shown(hold.expires_at, ZoneInfo(hold.event.timezone))

    @display(description="Ended")
    def ended(self, hold: Hold) -> str:
        """When it ended; one that has lapsed did so at its end, whenever that is written down."""
        ended_at = hold.expires_at if self.state(hold) == HoldStatus.EXPIRED else hold.ended_at
        return shown(ended_at, ZoneInfo(hold.event.timezone))


def _links(hold: Any) -> list[tuple[str, str]]:
    if hold.order_now is None:
        return []
    return [("Order", reverse("admin:reservations_order_change", args=[hold.order_now]))]


def labels_in_short(hold: Hold) -> str:
    """The first few of its units, and how many more there are."""
    names = _labels(hold)
    more = f" and {len(names) - LABELS_SHOWN} more" if len(names) > LABELS_SHOWN else ""
    return ", ".join(names[:LABELS_SHOWN]) + more


def _labels(hold: Hold) -> list[str]:
    """The units as they were promised."""
    return [str(item["label"]) for item in hold.items]
