"""What HoldFast and a provider say differently of one charge, as reconciliation found it.

Read only: a difference is resolved by the first reconciliation that does not find it again.
"""

from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.admin import display
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from reservations.admin.filters import ResolvedFilter
from reservations.models import Difference, DifferenceKind
from tenants.admin.base import ReadOnlyAdmin, badge
from tenants.admin.links import link_to
from tenants.admin.wall_time import shown

UTC = ZoneInfo("UTC")
# what each kind asks of the organizer
TO_DO = {
    DifferenceKind.CHARGE_MISSING: (
        "Look the charge up at the provider, in the right account. If it is not there, the order was never paid."
    ),
    DifferenceKind.ORDER_MISSING: (
        "HoldFast knows of no such payment. Look the charge up at the provider; if it is nobody's, give it back there."
    ),
    DifferenceKind.AMOUNT: (
        "The charge was changed at the provider, or taken in another currency. Compare it there with the order."
    ),
    DifferenceKind.REFUND: (
        "Money was given back at the provider itself, or a refund failed there. The order's tickets are still good: "
        "refund them here, too, if they shall be void."
    ),
}


class DifferenceAdmin(ReadOnlyAdmin):
    """A list and a page. A difference has no event, so its times are UTC."""

    icon = "difference"
    list_display = ["what", "here", "there", "order_link", "reference", "state", "found"]
    list_filter = [ResolvedFilter, "kind"]
    list_select_related = ["order", "account"]
    search_fields = ["reference"]
    search_help_text = "Reference"
    ordering = ["-id"]
    fields = ["what", "to_do", "here", "there", "account", "reference", "order_link", "state", "found", "resolved"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return Difference.objects.select_related("order", "account")

    @display(description="What differs", ordering="kind")
    def what(self, difference: Difference) -> str:
        return difference.get_kind_display()

    @display(description="What to do")
    def to_do(self, difference: Difference) -> str:
        return TO_DO[DifferenceKind(difference.kind)]

    @display(description="Order")
    def order_link(self, difference: Difference) -> SafeString:
        return link_to(difference.order)

    @badge("State", {"open": "danger", "resolved": "success"}, ordering="resolved_at")
    def state(self, difference: Difference) -> str:
        return "resolved" if difference.resolved_at else "open"

    @display(description="Found", ordering="found_at")
    def found(self, difference: Difference) -> str:
        return shown(difference.found_at, UTC)

    @display(description="Resolved")
    def resolved(self, difference: Difference) -> str:
        return shown(difference.resolved_at, UTC)
