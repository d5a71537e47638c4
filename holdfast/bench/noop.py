"""The bound of any hold on this server: who asks is known, the body is validated, nothing is done."""

from rest_framework.request import Request
from rest_framework.response import Response

from reservations.api.holds import HoldBody
from tenants.api.views import TenantView


class Noop(TenantView):
    scopes = ("holds",)
    schema = None

    def post(self, request: Request) -> Response:
        self.body(request, HoldBody)
        return Response({"status": "validated"}, status=201)
