"""Tickets: who may go in, and who went in when and where. One can be given a new code."""

from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.contrib.admin import ActionLocation, action, display
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from holdfast.kernel.errors import Conflict
from reservations.admin.filters import EventFilter
from reservations.admin.timeline import timeline_of
from reservations.models import Ticket, TicketStatus
from reservations.operations.tickets import reissue_ticket
from reservations.queries.orders import known_by
from tenants.admin.base import ReadOnlyAdmin, badge
from tenants.admin.tenancy import role_of
from tenants.admin.wall_time import shown_to_the_second
from tenants.permissions import Action, role_may
from tenants.scope import current_tenant_id

STATES = {"valid": "success", "redeemed": "info", "void": "danger"}
NEW_CODE = "It has a new code; all earlier ones are worthless. Send the new one to the customer."


class TicketAdmin(ReadOnlyAdmin):
    """A list and a page."""

    icon = "local_activity"
    list_display = ["label", "event", "customer", "state", "let_in", "gate"]
    list_filter = [EventFilter, "status"]
    list_select_related = ["event", "order"]
    search_fields = ["label"]
    search_help_text = "Label, customer, buyer, or id of an order or hold"
    ordering = ["-id"]
    actions = ["reissue"]
    fields = ["label", "section", "event", "customer", "state", "let_in", "gate", "codes"]
    change_form_outer_after_template = "admin/timeline.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Ticket]:
        return Ticket.objects.select_related("event", "order")

    def has_reissue_permission(self, request: HttpRequest) -> bool:
        return role_may(role_of(request), Action.MANAGE_EVENTS)

    @action(permissions=["reissue"], description="Give it a new code", location=[ActionLocation.CHANGE_FORM])
    def reissue(self, request: HttpRequest, queryset: QuerySet[Ticket]) -> None:
        """Raises Refusal for a ticket that lets nobody in any more."""
        ticket = queryset.first()
        if ticket is None:
            raise Conflict("There is no such ticket here.")
        reissue_ticket(tenant_id=current_tenant_id(), ticket_id=ticket.id)
        self.log_change(request, ticket, "Gave it a new code.")
        messages.success(request, NEW_CODE)

    def object_actions(self, request: HttpRequest, obj: Any) -> list[tuple[str, str]]:
        return super().object_actions(request, obj) if obj.status == TicketStatus.VALID else []

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Any = None, **kwargs: Any
    ) -> HttpResponse:
        if obj is not None:
            context["timeline"] = timeline_of(obj.id, obj.event.timezone)
            context["object_links"] = [("Order", reverse("admin:reservations_order_change", args=[obj.order_id]))]
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        text = search_term.strip()
        found = Q(label__icontains=text) | known_by(text, "order__")
        return (queryset.filter(found) if text else queryset), False

    @display(description="Customer")
    def customer(self, ticket: Ticket) -> str:
        return ticket.order.customer

    @badge("State", STATES, ordering="status")
    def state(self, ticket: Ticket) -> str:
        return str(ticket.status)

    @display(description="Let in", ordering="redeemed_at")
    def let_in(self, ticket: Ticket) -> str:
        return shown_to_the_second(ticket.redeemed_at, ZoneInfo(ticket.event.timezone))

    @display(description="Codes so far")
    def codes(self, ticket: Ticket) -> int:
        return ticket.serial
