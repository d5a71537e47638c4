"""The page at the door: a code goes in, green or red comes out, with the reason.

It is a plain form, and works as one: for codes that are typed, or read by a scanner that types. Where the browser can
read codes with its camera, a script sends them by the same form.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.widgets import UnfoldAdminSelectWidget

from holdfast.kernel.errors import NotFound, Refusal
from reservations.models import Event, EventStatus, Ticket
from reservations.operations.guesses import count_bad_token
from reservations.operations.tickets import redeem_ticket
from reservations.queries.tickets import attendance
from tenants.admin.fields import TextField
from tenants.admin.tenancy import role_of
from tenants.admin.wall_time import shown_to_the_second
from tenants.permissions import Action, role_may
from tenants.scope import current_tenant_id

SESSION_KEY = "check_in"
EVENTS_MAX = 200
CODE_LENGTH_MAX = 1_000
REASONS = {
    "ticket-void": ("Refunded", "This ticket was given back. It lets nobody in, used before or not."),
    "ticket-of-another-event": ("Another event", "A good ticket, but not for this event. It was not used up."),
    "not-found": ("Not a ticket", "The code is unknown, or a newer one has replaced it."),
    "too-many-requests": ("Not a ticket", "The code is unknown. There were many of these within a minute."),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a code: green or red, in a word or two, and why."""

    is_good: bool
    headline: str
    reason: str


class DoorForm(forms.Form):
    """Which event, and the name of the gate."""

    event = forms.ChoiceField(widget=UnfoldAdminSelectWidget)
    gate = TextField(max_length=Ticket.GATE_LENGTH_MAX, required=False, help_text="May stay empty.")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        newest = Event.objects.exclude(status=EventStatus.DRAFT).order_by("-id")[:EVENTS_MAX]
        self.events = {str(event.id): event for event in newest}
        self.fields["event"].choices = [(key, event.name) for key, event in self.events.items()]  # type: ignore[attr-defined]


class ScanForm(DoorForm):
    """A code, with the event and the gate that the page was showing."""

    token = TextField(max_length=CODE_LENGTH_MAX)


class CheckIn:
    """The view, for whoever may redeem. Event and gate are kept in the session, for the next time."""

    def __init__(self, site: AdminSite) -> None:
        self.site = site

    def show(self, request: HttpRequest) -> HttpResponse:
        """Raises PermissionDenied."""
        if not role_may(role_of(request), Action.REDEEM):
            raise PermissionDenied
        if request.method != "POST":
            return self._page(request, DoorForm(initial=request.session.get(SESSION_KEY)))
        if "token" in request.POST:
            scan = ScanForm(request.POST)
            return self._page(request, scan, _verdict(request, scan))
        form = DoorForm(request.POST)
        if not form.is_valid():
            return self._page(request, form)
        request.session[SESSION_KEY] = form.cleaned_data
        return redirect("admin:check_in")

    def _page(self, request: HttpRequest, form: DoorForm, verdict: Verdict | None = None) -> HttpResponse:
        event = form.events.get(str(form["event"].value()))
        context = {
            **self.site.each_context(request),
            "title": "Check-in",
            "form": form,
            "event": event,
            "gate": form["gate"].value() or "",
            "attendance": attendance(event.id) if event else None,
            "verdict": verdict,
        }
        request.current_app = self.site.name
        return TemplateResponse(request, "admin/reservations/check_in.html", context)


def _verdict(request: HttpRequest, scan: ScanForm) -> Verdict:
    if scan.has_error("token", "required"):
        return Verdict(is_good=False, headline="No code", reason="Scan the code of a ticket, or type it.")
    if not scan.is_valid():
        faults = [fault for faults in scan.errors.values() for fault in faults]
        return Verdict(is_good=False, headline="Not read", reason=" ".join(map(str, faults)))
    event = scan.events[scan.cleaned_data["event"]]
    try:
        return _let_in(request, event, scan.cleaned_data["token"], scan.cleaned_data["gate"])
    except Refusal as refusal:
        return _refused(refusal, ZoneInfo(event.timezone))


def _let_in(request: HttpRequest, event: Event, token: str, gate: str) -> Verdict:
    try:
        ticket = redeem_ticket(tenant_id=current_tenant_id(), token=token, gate=gate, event_id=event.id)
    except NotFound:
        count_bad_token(("person", request.user.pk))
        raise
    place = f"{ticket.section}, {ticket.label}" if ticket.section else ticket.label
    return Verdict(is_good=True, headline="Let in", reason=place)


def _refused(refusal: Refusal, zone: ZoneInfo) -> Verdict:
    if refusal.slug == "ticket-redeemed":
        when = shown_to_the_second(datetime.fromisoformat(refusal.members["redeemed_at"]), zone)
        where = f" at {refusal.members['gate']}" if refusal.members["gate"] else ""
        return Verdict(is_good=False, headline="Used before", reason=f"First let in{where}, {when}.")
    headline, reason = REASONS.get(refusal.slug, ("Try again", refusal.detail))
    return Verdict(is_good=False, headline=headline, reason=reason)


def check_in_link(request: HttpRequest) -> dict[str, Any]:
    """The page's entry in the sidebar."""
    link = reverse("admin:check_in")
    active = request.path.startswith(link)
    return {"title": "Check-in", "icon": "qr_code_scanner", "link": link, "active": active, "has_permission": True}
