"""The page that adds many units to an event: describe them, look at their labels, make them."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from holdfast.kernel.errors import Invalid, Refusal
from reservations.admin.block_forms import FORMS, BlockForm
from reservations.models import Event
from reservations.operations.units import create_units
from tenants.scope import current_tenant_id

FAULTS_SHOWN = 10
LABELS_SHOWN = 8


def add_units(page: Any, request: HttpRequest, object_id: str) -> HttpResponse:
    """The view; `page` is the admin of events."""
    event = page.get_object(request, object_id)
    if not page.has_change_permission(request, event):
        raise PermissionDenied
    if event is None:
        return page._get_obj_does_not_exist_redirect(request, page.opts, object_id)  # type: ignore[no-any-return]  # noqa: SLF001
    form = FORMS[event.kind](event, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and "_preview" not in request.POST and _make(form, event):
        page.log_change(request, event, f"Added {len(form.units)} units.")
        added = "1 unit was" if len(form.units) == 1 else f"{len(form.units):,} units were"
        messages.success(request, f"{added} added to {event.name}.")
        return redirect(f"{reverse('admin:reservations_unit_changelist')}?event={event.id}")
    context = {
        **page.admin_site.each_context(request),
        "opts": page.opts,
        "title": f"Add {event.get_kind_display().lower()}",
        "subtitle": event.name,
        "event": event,
        "original": event,
        "form": form,
        "labels": _some_labels(form),
    }
    return TemplateResponse(request, "admin/reservations/event/add_units.html", context)


def _make(form: BlockForm, event: Event) -> bool:
    """Make the units; a refusal becomes errors of the form."""
    try:
        create_units(tenant_id=current_tenant_id(), event_id=event.id, units=form.units)
    except Invalid as refusal:
        faults = list(dict.fromkeys(error.detail for error in refusal.errors))
        for fault in faults[:FAULTS_SHOWN]:
            form.add_error(None, fault)
        if len(faults) > FAULTS_SHOWN:
            form.add_error(None, f"… and {len(faults) - FAULTS_SHOWN:,} more like these.")
    except Refusal as refusal:
        form.add_error(None, refusal.detail)
    return not form.errors


def _some_labels(form: BlockForm) -> list[str]:
    """The first labels and the last one."""
    labels = [unit.label for unit in form.units]
    return labels if len(labels) <= LABELS_SHOWN else [*labels[: LABELS_SHOWN - 1], "…", labels[-1]]
