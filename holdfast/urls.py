"""Every path: machines under /v1/ and at the probes, people in the admin."""

from django.urls import include, path
from django.views.generic import RedirectView

from holdfast.admin import organizer_site
from holdfast.metrics import metrics
from holdfast.observability.health import healthz, readyz
from holdfast.openapi import document
from holdfast.pages import bad_request, docs, not_found, read_only, server_error

urlpatterns = [
    path("v1/", include("tenants.api.urls")),
    path("v1/", include("reservations.api.urls")),
    path("v1/", include("webhooks.api.urls")),
    path("v1/openapi.json", read_only(document), name="openapi"),
    path("v1/docs", read_only(docs)),
    path("healthz", read_only(healthz)),
    path("readyz", read_only(readyz)),
    path("metrics", read_only(metrics)),
    path("favicon.ico", RedirectView.as_view(url="/static/holdfast/favicon.svg")),
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", organizer_site.urls),
]

handler400 = bad_request
handler404 = not_found
handler500 = server_error
