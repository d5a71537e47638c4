"""Units of one event: listed, blocked and unblocked, changed and deleted while nobody has a claim on them."""

from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.contrib.admin import action, display
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from holdfast.kernel.money import formatted
from reservations.admin.filters import OneEventFilter, SectionFilter, UnitStateFilter, event_asked_for
from reservations.admin.unit_form import UnitForm
from reservations.models import Unit, UnitStatus
from reservations.operations.unit_changes import delete_units
from reservations.operations.units import block_units, unblock_units
from reservations.queries.units import with_status_now
from tenants.admin.base import SELECTED_MAX, TenantAdmin, badge
from tenants.admin.wall_time import shown
from tenants.scope import current_tenant_id

CLAIMED = (UnitStatus.HELD, UnitStatus.SOLD)
STATES = {"available": "success", "held": "warning", "sold": "info", "blocked": "danger"}


class UnitAdmin(TenantAdmin):
    """The list is always about one event. Units are added from the event's page, many at a time."""

    form = UnitForm
    icon = "event_seat"
    in_sidebar = False
    list_display = ["label", "section", "row", "number", "price", "starts", "state"]
    list_filter = [OneEventFilter, SectionFilter, UnitStateFilter]
    list_per_page = 100
    list_before_template = "admin/reservations/unit/of_event.html"
    change_form_before_template = "admin/reservations/unit/shown_in.html"
    search_fields = ["label"]
    ordering = ["id"]
    actions = ["block", "unblock"]
    fieldsets = [
        (None, {"fields": ["label", ("section", "row", "number"), "price_amount", ("starts_at", "ends_at")]}),
    ]
    read_only_fieldsets = [
        (None, {"fields": ["event", "state", "label", ("section", "row", "number"), "price", ("starts", "ends")]}),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return with_status_now(Unit.objects.select_related("event"))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A page that was opened in time may still be sent: then the operation says who came first."""
        claimed = obj is not None and request.method != "POST" and obj.status_now in CLAIMED
        return super().has_change_permission(request, obj) and not claimed

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fieldsets if self.has_change_permission(request, obj) else self.read_only_fieldsets

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        event = event_asked_for(request)
        if event is None:
            messages.info(request, "Choose an event to see its units.")
            return redirect("admin:reservations_event_changelist")
        may_add_units = super().has_add_permission(request)
        context = {"event": event, "title": "Units", "subtitle": event.name, "may_add_units": may_add_units}
        return super().changelist_view(request, {**context, **(extra_context or {})})  # type: ignore[no-any-return]

    @display(description="Price", ordering="price_amount")
    def price(self, unit: Unit) -> str:
        return formatted(unit.price_amount, unit.event.currency)

    @display(description="Starts", ordering="starts_at")
    def starts(self, unit: Unit) -> str:
        return shown(unit.starts_at, ZoneInfo(unit.event.timezone))

    @display(description="Ends")
    def ends(self, unit: Unit) -> str:
        return shown(unit.ends_at, ZoneInfo(unit.event.timezone))

    @badge("State", STATES)
    def state(self, unit: Any) -> str:
        return str(unit.status_now)

    @action(permissions=["change"], description="Block")
    def block(self, request: HttpRequest, queryset: QuerySet[Unit]) -> None:
        changed = block_units(**self._selected(request, queryset))
        self.message_user(request, f"{changed:,} {'unit was' if changed == 1 else 'units were'} blocked.")

    @action(permissions=["change"], description="Unblock")
    def unblock(self, request: HttpRequest, queryset: QuerySet[Unit]) -> None:
        changed = unblock_units(**self._selected(request, queryset))
        self.message_user(request, f"{changed:,} {'unit is' if changed == 1 else 'units are'} for sale again.")

    def _selected(self, request: HttpRequest, queryset: QuerySet[Unit]) -> dict[str, Any]:
        """What the operations are asked for. Raises Conflict for too many."""
        labels = list(queryset.values_list("label", flat=True)[: SELECTED_MAX + 1])
        self.refuse_too_many(len(labels))
        return {"tenant_id": current_tenant_id(), "event_id": request.GET["event"], "labels": labels}

    def delete_model(self, request: HttpRequest, obj: Unit) -> None:
        delete_units(tenant_id=current_tenant_id(), unit_ids=[obj.id])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Unit]) -> None:
        delete_units(tenant_id=current_tenant_id(), unit_ids=[unit.id for unit in queryset])

    def response_post_save_change(self, request: HttpRequest, obj: Unit) -> HttpResponse:
        return redirect(f"{reverse('admin:reservations_unit_changelist')}?event={obj.event_id}")
