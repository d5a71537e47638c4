"""What a person decides: that an unpaid order is cancelled; that a payment under review is taken, or given back.

No provider is asked here: money that goes back is sent by a worker after the commit.
"""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from reservations.admin.order_shown import asked_shown, captured_shown
from reservations.checkout.review import refund_payment, resume_payment
from reservations.models import OrderStatus, Payment, PaymentStatus
from reservations.models.payment import PAYING
from reservations.operations.orders import cancel_order
from tenants.scope import current_tenant_id

CANCELLED = "The order is cancelled, and its units are back on sale."
CONFIRMED = "The money is taken as it is, and the order is confirmed."
UNITS_GONE = "The units are sold to somebody else by now, so the money goes back: it is on its way."
GOES_BACK = "The money goes back: it is on its way."
NONE_UNDER_REVIEW = "No payment of this order is under review (any more)."
TAKE, GIVE_BACK = "take", "give_back"


def may_be_cancelled(order: Any) -> bool:
    """Whether the order is pending and no money of it under way; read by `get_order`."""
    return order.status == OrderStatus.PENDING and not any(payment.status in PAYING for payment in order.payments.all())


def under_review(order: Any) -> Payment | None:
    """The order's payment that waits for a person; read by `get_order`."""
    return next((one for one in order.payments.all() if one.status == PaymentStatus.NEEDS_REVIEW), None)


def cancel(page: Any, request: HttpRequest, order: Any) -> HttpResponse:
    """The view; `page` is the admin of orders. Raises InvalidTransition."""
    if request.method == "POST":
        cancel_order(tenant_id=current_tenant_id(), order_id=order.id)
        page.log_change(request, order, "Cancelled.")
        messages.success(request, CANCELLED)
        return _to(order)
    if not may_be_cancelled(order):
        messages.error(request, "Only a pending order that no charge is under way for can be cancelled.")
        return _to(order)
    return _ask(page, request, order, "cancel", title="Cancel an order")


def review(page: Any, request: HttpRequest, order: Any) -> HttpResponse:
    """The view, which decides on the payment that it showed. Raises InvalidTransition, where another decided first."""
    payment = under_review(order)
    if payment is None:
        messages.error(request, NONE_UNDER_REVIEW)
        return _to(order)
    if request.method == "POST" and request.POST.get("payment") == str(payment.id):
        decided = _decide(payment.id, request.POST.get("decision"))
        if decided:
            page.log_change(request, order, f"{captured_shown(payment)} taken for {asked_shown(payment)}: {decided}")
            messages.success(request, decided)
            return _to(order)
    told = {
        "payment": payment,
        "asked": asked_shown(payment),
        "taken": captured_shown(payment),
        "may_take": payment.captured_currency == payment.currency and order.status == OrderStatus.PENDING,
    }
    return _ask(page, request, order, "review", title="A payment under review", **told)


def _decide(payment_id: UUID, decision: str | None) -> str:
    """Carry it out, and say what came of it; nothing where nothing was decided."""
    if decision == GIVE_BACK:
        refund_payment(tenant_id=current_tenant_id(), payment_id=payment_id)
        return GOES_BACK
    if decision == TAKE:
        payment = resume_payment(tenant_id=current_tenant_id(), payment_id=payment_id)
        return CONFIRMED if payment.status == PaymentStatus.SUCCEEDED else UNITS_GONE
    return ""


def _to(order: Any) -> HttpResponse:
    return redirect("admin:reservations_order_change", order.id)


def _ask(page: Any, request: HttpRequest, order: Any, name: str, **told: Any) -> HttpResponse:
    context = {
        **page.admin_site.each_context(request),
        "opts": page.opts,
        "subtitle": str(order),
        "original": order,
        "back": reverse("admin:reservations_order_change", args=[order.id]),
        **told,
    }
    return TemplateResponse(request, f"admin/reservations/order/{name}.html", context)
