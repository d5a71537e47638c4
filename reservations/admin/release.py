"""Releasing holds: a page that asks for a reason, and what came of each."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from holdfast.kernel.errors import Conflict, Refusal
from reservations.locks import lock_hold, lock_units
from reservations.models import Hold, HoldStatus
from reservations.operations.holds import release_hold
from reservations.queries.holds import holds_now
from tenants.admin.fields import TextField
from tenants.scope import current_tenant_id

RELEASED_MAX = 100
REFUSALS_SHOWN = 10
HOLDS = "admin:reservations_hold_changelist"


class ReleaseForm(forms.Form):
    reason = TextField(
        max_length=Hold.RELEASE_REASON_LENGTH_MAX,
        required=False,
        help_text="May stay empty. It is kept with the hold, and told to programs that follow it.",
    )


def ask(page: Any, request: HttpRequest, holds: Sequence[Hold], form: ReleaseForm | None = None) -> HttpResponse:
    """The page that asks; `page` is the admin of holds. Raises Conflict for none, or for too many."""
    if not holds:
        raise Conflict("These holds are not in this list any more.")
    if len(holds) > RELEASED_MAX:
        raise Conflict(f"Release at most {RELEASED_MAX} at a time.")
    one = len(holds) == 1
    context = {
        **page.admin_site.each_context(request),
        "opts": page.opts,
        "title": "Release a hold" if one else f"Release {len(holds)} holds",
        "holds": [(hold.id, _named(hold)) for hold in holds],
        "form": form or ReleaseForm(),
        "back": reverse("admin:reservations_hold_change", args=[holds[0].id]) if one else reverse(HOLDS),
    }
    return TemplateResponse(request, "admin/reservations/hold/release.html", context)


def release(page: Any, request: HttpRequest) -> HttpResponse:
    """The view that the asking page posts to. Raises PermissionDenied."""
    if not page.has_release_permission(request):
        raise PermissionDenied
    if request.method != "POST":  # after a refusal that undid everything
        return redirect(HOLDS)
    asked_for = holds_now().filter(pk__in=request.POST.getlist("hold")).order_by("id")
    holds = list(asked_for[: RELEASED_MAX + 1])
    form = ReleaseForm(request.POST)
    if not form.is_valid() or not 1 <= len(holds) <= RELEASED_MAX:
        return ask(page, request, holds, form)
    _release_each(page, request, [hold.id for hold in holds], form.cleaned_data["reason"])
    return redirect("admin:reservations_hold_change", holds[0].id) if len(holds) == 1 else redirect(HOLDS)


def _release_each(page: Any, request: HttpRequest, hold_ids: Sequence[UUID], reason: str) -> None:
    """Each by itself: one that has ended keeps no other from being released."""
    refused = []
    released = 0
    for hold in _locked(hold_ids):
        if hold.status == HoldStatus.RELEASED:
            refused.append(f"{_named(hold)}: it was released already.")
            continue
        try:
            release_hold(tenant_id=current_tenant_id(), hold_id=hold.id, reason=reason)
        except Refusal as refusal:
            refused.append(f"{_named(hold)}: {refusal.detail}.")
            continue
        page.log_change(request, hold, "Released.")
        released += 1
    if released:
        messages.success(request, "The hold was released." if released == 1 else f"{released} holds were released.")
    for line in refused[:REFUSALS_SHOWN]:
        messages.error(request, f"Not released. {line}")
    if len(refused) > REFUSALS_SHOWN:
        messages.error(request, f"… and {len(refused) - REFUSALS_SHOWN} more like these.")


def _locked(hold_ids: Sequence[UUID]) -> list[Hold]:
    """The holds, with all their units locked as well: releases one after another would break the lock order."""
    holds = [hold for hold_id in sorted(hold_ids) if (hold := lock_hold(hold_id))]
    lock_units(Q(hold_id__in=hold_ids))
    return holds


def _named(hold: Hold) -> str:
    labels = [str(item["label"]) for item in hold.items[:3]]
    more = f" and {len(hold.items) - len(labels)} more" if len(hold.items) > len(labels) else ""
    return f"{hold.customer} ({', '.join(labels)}{more})"
