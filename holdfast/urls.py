"""Every path: machines under /v1/ and at the probes, people in the admin."""

from django.urls import include, path

urlpatterns = [
    path("v1/", include("tenants.api.urls")),
    path("v1/", include("reservations.api.urls")),
]
