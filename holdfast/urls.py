"""Every path: machines under /v1/ and at the probes, people in the admin."""

from django.urls import include, path
from drf_spectacular.views import SpectacularSwaggerView

from holdfast.observability.health import healthz, readyz
from holdfast.openapi import document
from holdfast.pages import bad_request, not_found, server_error

urlpatterns = [
    path("v1/", include("tenants.api.urls")),
    path("v1/", include("reservations.api.urls")),
    path("v1/openapi.json", document, name="openapi"),
    path("v1/docs", SpectacularSwaggerView.as_view(url_name="openapi")),
    path("healthz", healthz),
    path("readyz", readyz),
]

handler400 = bad_request
handler404 = not_found
handler500 = server_error
