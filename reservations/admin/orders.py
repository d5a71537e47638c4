"""Orders: what was bought, how it was paid, what went back, and what happened when. Refunds, reviews, cancellations."""

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.admin import display
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString

from holdfast.kernel.money import formatted
from reservations.admin import decisions, order_shown
from reservations.admin.filters import EventFilter, StuckFilter, asks_for_stuck
from reservations.admin.holds import labels_in_short
from reservations.admin.order_timeline import order_timeline
from reservations.admin.refund import refund
from reservations.admin.stuck import stuck_at
from reservations.models import Order
from reservations.queries.orders import get_order, having_name
from reservations.queries.stuck import count_stuck_orders, with_what_is_stuck
from tenants.admin.base import ReadOnlyAdmin, badge
from tenants.admin.links import link_to
from tenants.admin.tenancy import role_of
from tenants.admin.wall_time import shown
from tenants.permissions import Action, role_may
from tenants.scope import NoTenant

View = Callable[[Any, HttpRequest, Any], HttpResponse]
UNDER_REVIEW = "{taken} was taken where {asked} was asked. Nothing goes on until somebody decides: see Review."
PAGES: dict[str, tuple[str, View]] = {
    "refund": ("Refund", refund),
    "cancel": ("Cancel", decisions.cancel),
    "review": ("Review the payment", decisions.review),
}


class OrderAdmin(ReadOnlyAdmin):
    """A list and a page, and a list of those that are stuck. What can be done has pages of its own, which ask first."""

    icon = "shopping_cart"
    list_display = ["customer", "event", "labels", "total", "state", "created"]
    stuck_display = ["customer", "event", "labels", "total", "stuck", "since", "next_step"]
    list_filter = [EventFilter, "status", StuckFilter]
    list_select_related = ["hold", "event"]
    search_fields = ["customer"]
    search_help_text = "Customer, buyer, a unit's whole label, id of an order or hold, or the provider's reference"
    fields = [
        "customer",
        "event",
        "state",
        "failure",
        "total",
        "buyer_shown",
        "order_id",
        "hold_link",
        "hold_id",
        "created",
        "confirmed",
        "ended",
    ]
    change_form_outer_after_template = "admin/reservations/order/contents.html"

    def get_urls(self) -> list[URLPattern]:
        own = [
            path(
                f"<path:object_id>/{name}/",
                self.admin_site.admin_view(self._view(view)),
                name=f"reservations_order_{name}",
            )
            for name, (_, view) in PAGES.items()
        ]
        return [*own, *super().get_urls()]

    def _view(self, view: View) -> Callable[..., HttpResponseBase]:
        def inside(request: HttpRequest, object_id: str) -> HttpResponseBase:
            if not role_may(role_of(request), Action.REFUND):
                raise PermissionDenied
            order = self.get_object(request, object_id)
            if order is None:
                return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[no-any-return]
            return view(self, request, get_order(order.id))

        return inside

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        orders = Order.objects.select_related("hold", "event")
        return with_what_is_stuck(orders) if asks_for_stuck(request) else orders

    def get_list_display(self, request: HttpRequest) -> list[str]:
        return self.stuck_display if asks_for_stuck(request) else self.list_display

    def get_ordering(self, request: HttpRequest) -> list[str]:
        return ["id" if asks_for_stuck(request) else "-id"]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        title = {"title": "Stuck orders"} if asks_for_stuck(request) else {}
        return super().changelist_view(request, {**title, **(extra_context or {})})  # type: ignore[no-any-return]

    def more_in_sidebar(self, request: HttpRequest) -> list[dict[str, Any]]:
        """The stuck ones, with how many there are; pages outside of a tenant's transaction don't say."""
        try:
            count = count_stuck_orders()
        except NoTenant:
            count = 0
        link = f"{reverse('admin:reservations_order_changelist')}?{StuckFilter.parameter_name}=yes"
        stuck = {"title": "Stuck orders", "icon": "hourglass_disabled", "link": link, "badge": count}
        return [{**stuck, "active": asks_for_stuck(request), "has_permission": True}]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, obj: Any = None, **kwargs: Any
    ) -> HttpResponse:
        if obj is not None:
            order = get_order(obj.id)
            context["items"], context["tickets"] = order_shown.items_shown(order), order_shown.tickets_shown(order)
            context["payments"] = order_shown.payments_shown(order)
            context["refunds"] = order_shown.refunds_shown(order)
            context["timeline"] = order_timeline(order)
            context["object_warning"] = _warning(order)
            context["object_links"] = self._links(request, order)
        return super().render_change_form(request, context, *args, obj=obj, **kwargs)

    def _links(self, request: HttpRequest, order: Any) -> list[tuple[str, str]]:
        """To what this person may do with the order as it is."""
        if not role_may(role_of(request), Action.REFUND):
            return []
        possible = {
            "refund": order_shown.tickets_left(order),
            "cancel": decisions.may_be_cancelled(order),
            "review": decisions.under_review(order),
        }
        return [
            (label, reverse(f"admin:reservations_order_{name}", args=[order.id]))
            for name, (label, _) in PAGES.items()
            if possible[name]
        ]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        text = search_term.strip()
        return (queryset.filter(having_name(text)) if text else queryset), False

    @display(description="Units")
    def labels(self, order: Order) -> str:
        return labels_in_short(order.hold)

    @display(description="Total", ordering="total_amount")
    def total(self, order: Order) -> str:
        return formatted(order.total_amount, order.event.currency)

    @badge("State", order_shown.ORDER_STATES, ordering="status")
    def state(self, order: Order) -> str:
        return order_shown.in_words(order.status)

    @display(description="Why it failed")
    def failure(self, order: Order) -> str:
        return order_shown.in_words(order.reason or "")

    @display(description="Buyer")
    def buyer_shown(self, order: Order) -> str:
        named = order.buyer or {}
        return ", ".join(str(named[part]) for part in ("name", "email") if named.get(part))

    @display(description="Id of the order")
    def order_id(self, order: Order) -> str:
        return str(order.id)

    @display(description="Id of the hold")
    def hold_id(self, order: Order) -> str:
        return str(order.hold_id)

    @display(description="Hold")
    def hold_link(self, order: Order) -> SafeString:
        return link_to(order.hold)

    @display(description="Made", ordering="id")
    def created(self, order: Order) -> str:
        return shown(order.created_at, ZoneInfo(order.event.timezone))

    @display(description="Confirmed")
    def confirmed(self, order: Order) -> str:
        return shown(order.confirmed_at, ZoneInfo(order.event.timezone))

    @display(description="Ended")
    def ended(self, order: Order) -> str:
        return shown(order.ended_at, ZoneInfo(order.event.timezone))

    @display(description="Stuck")
    def stuck(self, order: Any) -> str:
        return at.what if (at := stuck_at(order)) else ""

    @display(description="Since")
    def since(self, order: Any) -> str:
        return shown(at.since, ZoneInfo(order.event.timezone)) if (at := stuck_at(order)) else ""

    @display(description="What HoldFast does next")
    def next_step(self, order: Any) -> str:
        return at.next_step if (at := stuck_at(order)) else ""


def _warning(order: Any) -> str:
    payment = decisions.under_review(order)
    if payment is None:
        return ""
    taken, asked = order_shown.captured_shown(payment), order_shown.asked_shown(payment)
    return UNDER_REVIEW.format(taken=taken, asked=asked)
