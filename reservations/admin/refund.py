"""Refunding an order: a page that asks what goes back.

The admin runs inside a transaction, and no provider is asked inside of one. So tickets and money are claimed at once,
as by any refund, and a worker sends the money back after the commit: the page says that it is on its way.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldBooleanWidget

from holdfast.kernel.errors import Invalid
from reservations.admin.order_shown import amount_shown, money_left_shown, tickets_left
from reservations.checkout.claim_refund import RefundWish
from reservations.checkout.refunds import begin_refund
from reservations.models import Event, Refund, Ticket
from tenants.admin.fields import TextField
from tenants.admin.wall_time import shown_to_the_second
from tenants.scope import current_tenant_id

ON_ITS_WAY = "The refund of {} is on its way. The tickets are void now; the units return when the money has."
NO_MONEY = "The units are back. No money was due."
NOTHING = "Nothing of this order can go back (any more)."


class RefundForm(forms.Form):
    """The tickets are named one by one, all of them ticked at first: what nobody saw on the page does not go back."""

    units = forms.MultipleChoiceField(
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        label="What goes back",
        error_messages={
            "required": "Tick what goes back.",
            "invalid_choice": "Some of these went back meanwhile: look at what is left.",
        },
    )
    restock = forms.BooleanField(
        required=False,
        initial=True,
        widget=UnfoldBooleanWidget,
        label="Put the units back on sale",
        help_text="Otherwise they are blocked.",
    )
    reason = TextField(
        max_length=Refund.REASON_LENGTH_MAX,
        required=False,
        help_text="May stay empty. It is kept with the refund, and told to programs that read the order.",
    )

    def __init__(self, tickets: Sequence[Ticket], event: Event, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(str(ticket.unit_id), _named(ticket, event)) for ticket in tickets]
        self.fields["units"].choices = choices  # type: ignore[attr-defined]
        self.initial["units"] = [unit for unit, _ in choices]


def _named(ticket: Ticket, event: Event) -> str:
    """What goes back, for how much; and that somebody was let in with it, where that is so."""
    named = f"{ticket}, {amount_shown(ticket.price_amount, event.currency)}"
    if ticket.redeemed_at is None:
        return named
    return f"{named}, let in already: {shown_to_the_second(ticket.redeemed_at, ZoneInfo(event.timezone))}"


def refund(page: Any, request: HttpRequest, order: Any) -> HttpResponse:
    """The view; `page` is the admin of orders, `order` as `get_order` reads it."""
    tickets = tickets_left(order)
    if not tickets:
        messages.error(request, NOTHING)
        return redirect("admin:reservations_order_change", order.id)
    form = RefundForm(tickets, order.event, request.POST if request.method == "POST" else None)
    begun = _begin(order.id, form) if form.is_valid() else None
    if begun is None:
        return _ask(page, request, order, form)
    amount = amount_shown(begun.amount, begun.currency)
    page.log_change(request, order, f"Refunds {amount}: {len(begun.items)} of its units.")
    messages.success(request, ON_ITS_WAY.format(amount) if begun.amount else NO_MONEY)
    return redirect("admin:reservations_order_change", order.id)


def _begin(order_id: UUID, form: RefundForm) -> Refund | None:
    """None, and errors in the form, for what went back since the form was judged. Raises NothingToRefund."""
    fields = form.cleaned_data
    units = [UUID(unit) for unit in fields["units"]]
    wish = RefundWish(order_id, units, reason=fields["reason"], restock=fields["restock"])
    try:
        return begin_refund(tenant_id=current_tenant_id(), wish=wish)
    except Invalid as refusal:
        for error in refusal.errors:
            form.add_error(None, error.detail)
    return None


def _ask(page: Any, request: HttpRequest, order: Any, form: RefundForm) -> HttpResponse:
    context = {
        **page.admin_site.each_context(request),
        "opts": page.opts,
        "title": "Refund an order",
        "subtitle": str(order),
        "original": order,
        "form": form,
        "money_left": money_left_shown(order),
        "back": reverse("admin:reservations_order_change", args=[order.id]),
    }
    return TemplateResponse(request, "admin/reservations/order/refund.html", context)
