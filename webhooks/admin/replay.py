"""The page that has an endpoint told of the past once more, and how far earlier ones have come."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.widgets import UnfoldAdminSelectWidget

from holdfast.kernel.errors import Invalid, Refusal
from tenants.admin.wall_time import WallTimeField, instant
from tenants.scope import current_tenant_id
from webhooks.admin.patterns import PatternsField
from webhooks.admin.words import REPLAY_STATES, UTC, at
from webhooks.models import Endpoint, Replay, ReplayedStatus
from webhooks.operations.replays import Selection, begin_replay, count_chosen
from webhooks.queries.replays import last_replays

SHOWN_MAX = 10
STATUSES = {
    ReplayedStatus.ALL.value: "All, also what it had already",
    ReplayedStatus.DEAD.value: "Dead letters alone",
}


class ReplayForm(forms.Form):
    """Which messages of the past."""

    since = WallTimeField(label="Since (UTC)")
    until = WallTimeField(label="Until (UTC)", required=False, help_text="Left empty, up to now.")
    status = forms.ChoiceField(choices=list(STATUSES.items()), widget=UnfoldAdminSelectWidget, label="Which")
    types = PatternsField(
        required=False, label="Types", help_text="With none ticked, those that the endpoint asks for."
    )

    def clean_since(self) -> datetime:
        return instant(self.cleaned_data["since"], UTC)

    def clean_until(self) -> datetime | None:
        wall = self.cleaned_data["until"]
        return instant(wall, UTC) if wall else None

    def count(self, endpoint: Endpoint) -> int | None:
        """How many messages that is; None, and errors of the form, for what is refused."""
        return self._carried_out(count_chosen, endpoint)

    def begin(self, endpoint: Endpoint) -> Replay | None:
        """The replay; None, and errors of the form, for what is refused."""
        return self._carried_out(begin_replay, endpoint)

    def _carried_out[T](self, operation: Callable[..., T], endpoint: Endpoint) -> T | None:
        selection = Selection(**self.cleaned_data | {"types": self.cleaned_data["types"] or None})
        try:
            return operation(tenant_id=current_tenant_id(), endpoint_id=endpoint.id, selection=selection)
        except Invalid as refusal:
            for error in refusal.errors:
                name = error.place.removeprefix("/")
                self.add_error(name if name in self.fields else None, error.detail)
        except Refusal as refusal:
            self.add_error(None, refusal.detail)
        return None


def replay(page: Any, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
    """The view; `page` is the admin of endpoints."""
    form = ReplayForm(request.POST if request.method == "POST" else None)
    matched = None
    if form.is_valid():
        if "_count" in request.POST:
            matched = form.count(endpoint)
        elif begun := form.begin(endpoint):
            page.log_change(request, endpoint, f"Replays {counted(begun.matched)}.")
            messages.success(request, f"{counted(begun.matched)} to tell once more, at a gentle rate.")
            return redirect("admin:webhooks_endpoint_change", endpoint.id)
    context = {
        **page.admin_site.each_context(request),
        "opts": page.opts,
        "title": "Replay",
        "subtitle": str(endpoint),
        "original": endpoint,
        "form": form,
        "matched": None if matched is None else counted(matched),
        "back": reverse("admin:webhooks_endpoint_change", args=[endpoint.id]),
    }
    return TemplateResponse(request, "admin/webhooks/endpoint/replay.html", context)


def counted(count: int) -> str:
    """`1 message`, `2 messages`."""
    return "1 message" if count == 1 else f"{count:,} messages"


def replays_shown(endpoint: Endpoint) -> list[dict[str, Any]]:
    """The last replays of an endpoint, the newest first, for people to read. One statement."""
    return [
        {
            "begun": at(one.created_at),
            "since": at(one.since),
            "until": at(one.until),
            "which": STATUSES[one.status],
            "types": ", ".join(one.types),
            "state": one.state,
            "colour": REPLAY_STATES[one.state],
            "matched": one.matched,
            "queued": one.queued,
            "pending": one.pending,
            "delivered": one.delivered,
            "dead": one.dead,
        }
        for one in last_replays(endpoint.id, SHOWN_MAX)
    ]
