"""The page that gives an endpoint another secret."""

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.widgets import UnfoldAdminSelectWidget

from tenants.scope import current_tenant_id
from webhooks.models import Endpoint
from webhooks.operations.endpoints import OVERLAP_SECONDS, OVERLAP_SECONDS_MAX, rotate_secret

OVERLAPS = {
    OVERLAP_SECONDS: "for a day",
    3600: "for an hour",
    OVERLAP_SECONDS_MAX: "for a week",
    0: "no more: others may have seen it",
}
ONCE = "This is the new secret. It is shown this once: give it to whoever listens there. The one before signs, too, {}."
ALONE = "This is the new secret, and the only one that signs now. It is shown this once: give it to whoever listens."


class RotateForm(forms.Form):
    overlap = forms.TypedChoiceField(
        choices=list(OVERLAPS.items()), coerce=int, widget=UnfoldAdminSelectWidget, label="The secret of now signs, too"
    )


def rotate(page: Any, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
    """The view, whose answer alone shows the new secret; `page` is the admin of endpoints."""
    form = RotateForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        return _ask(page, request, endpoint, form)
    overlap = form.cleaned_data["overlap"]
    _, secret = rotate_secret(tenant_id=current_tenant_id(), endpoint_id=endpoint.id, overlap_seconds=overlap)
    page.log_change(request, endpoint, "Secret rotated.")
    explanation = ONCE.format(OVERLAPS[overlap]) if overlap else ALONE
    return page.secret_page(  # type: ignore[no-any-return]
        request, title=f"{endpoint} has a new secret", explanation=explanation, secret=secret
    )


def _ask(page: Any, request: HttpRequest, endpoint: Endpoint, form: RotateForm) -> HttpResponse:
    context = {
        **page.admin_site.each_context(request),
        "opts": page.opts,
        "title": "Rotate the secret",
        "subtitle": str(endpoint),
        "original": endpoint,
        "form": form,
        "back": reverse("admin:webhooks_endpoint_change", args=[endpoint.id]),
    }
    return TemplateResponse(request, "admin/webhooks/endpoint/rotate.html", context)
