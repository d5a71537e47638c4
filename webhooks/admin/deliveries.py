"""Deliveries: each message on its way to an endpoint, every attempt to bring it there, and the dead letters."""

from typing import Any
from uuid import UUID

from django.contrib.admin import action, display
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from tenants.admin.base import BOTH_PAGES, ReadOnlyAdmin, badge
from tenants.admin.links import link_to
from tenants.admin.tenancy import role_of
from tenants.permissions import Action, role_may
from tenants.scope import NoTenant
from webhooks.admin import words
from webhooks.admin.filters import URL_SHOWN_MAX, EndpointFilter, TypeFilter
from webhooks.admin.retry import RETRIED_MAX, retry_each
from webhooks.models import Attempt, Delivery, DeliveryStatus, EndpointStatus
from webhooks.queries.deliveries import count_dead, deliveries, is_being_sent, last_attempts, next_attempt_at

ATTEMPTS_SHOWN = 50


def asks_for_dead(request: HttpRequest) -> bool:
    """Whether the list is that of dead letters."""
    return request.GET.get("status__exact") == DeliveryStatus.DEAD


class DeliveryAdmin(ReadOnlyAdmin):
    """A list, a list of those that are dead, and a page; all that can be done here is to try again."""

    reading = writing = Action.MANAGE_WEBHOOKS
    icon = "outgoing_mail"
    list_display = ["message_type", "endpoint_shown", "state", "attempts_made", "next_attempt", "created", "settled"]
    list_filter = [EndpointFilter, "status", TypeFilter]
    search_fields = ["message__id"]
    search_help_text = "The id of the delivery, of its message, or of what it is about"
    ordering = ["-id"]
    actions = ["retry"]
    fields = ["message_type", "endpoint_link", "state", "attempts_made", "next_attempt", "created", "settled"]
    fields += ["message_id", "about"]
    change_form_outer_after_template = "admin/webhooks/delivery/attempts.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return deliveries()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        try:
            wanted = UUID(text)
        except ValueError:
            return queryset.none(), False
        return queryset.filter(Q(id=wanted) | Q(message_id=wanted) | Q(message__subject_id=wanted)), False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        title = {"title": "Dead letters"} if asks_for_dead(request) else {}
        return super().changelist_view(request, {**title, **(extra_context or {})})  # type: ignore[no-any-return]

    def more_in_sidebar(self, request: HttpRequest) -> list[dict[str, Any]]:
        """Dead letters, with how many there are; pages outside of a tenant's transaction don't say."""
        try:
            count = count_dead()
        except NoTenant:
            count = 0
        link = f"{reverse('admin:webhooks_delivery_changelist')}?status__exact={DeliveryStatus.DEAD}"
        is_active = asks_for_dead(request) and request.path == reverse("admin:webhooks_delivery_changelist")
        dead = {"title": "Dead letters", "icon": "unsubscribe", "link": link, "badge": count}
        return [{**dead, "active": is_active, "has_permission": True}]

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return role_may(role_of(request), self.writing)

    @action(permissions=["retry"], description="Retry", location=BOTH_PAGES)
    def retry(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        retry_each(self, request, list(queryset[: RETRIED_MAX + 1]))

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Any = None, **kwargs: Any
    ) -> HttpResponse:
        if obj is not None:
            attempts = last_attempts(obj.id, ATTEMPTS_SHOWN + 1)
            context["attempts"] = [_attempt(attempt) for attempt in attempts[:ATTEMPTS_SHOWN]]
            context["attempts_are_cut"] = len(attempts) > ATTEMPTS_SHOWN
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    @display(description="Type")
    def message_type(self, delivery: Delivery) -> str:
        return delivery.message.type

    @display(description="Endpoint")
    def endpoint_shown(self, delivery: Delivery) -> str:
        return Truncator(delivery.endpoint.url).chars(URL_SHOWN_MAX)

    @display(description="Endpoint")
    def endpoint_link(self, delivery: Delivery) -> SafeString:
        return link_to(delivery.endpoint)

    @badge("State", words.DELIVERY_STATES, ordering="status")
    def state(self, delivery: Delivery) -> str:
        return delivery.status

    @display(description="Next attempt")
    def next_attempt(self, delivery: Any) -> str:
        if delivery.look_at is None:
            return ""
        if delivery.endpoint.status == EndpointStatus.DISABLED:
            return "when its endpoint is enabled"
        if is_being_sent(delivery):
            return "it is being sent"
        due = next_attempt_at(delivery)
        return words.at(due) if due and due > delivery.now else "as soon as a worker of webhooks is free"

    @display(description="Made", ordering="id")
    def created(self, delivery: Delivery) -> str:
        return words.at(delivery.created_at)

    @display(description="Ended", ordering="settled_at")
    def settled(self, delivery: Delivery) -> str:
        return words.at(delivery.settled_at)

    @display(description="Message")
    def message_id(self, delivery: Delivery) -> str:
        return str(delivery.message_id)

    @display(description="About")
    def about(self, delivery: Delivery) -> str:
        return f"{delivery.message.subject_type} {delivery.message.subject_id}"


def _attempt(attempt: Attempt) -> dict[str, Any]:
    """For people to read; the answer is a stranger's text, and the template escapes it."""
    took = "" if attempt.duration_ms is None else f"{attempt.duration_ms:,} ms"
    return {
        "at": words.at(attempt.at),
        "took": took,
        "outcome": words.OUTCOMES[attempt.outcome],
        "status_code": attempt.status_code,
        "response": attempt.response,
    }
