"""`/v1/webhooks/catalogue`: what each type of message carries."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from holdfast.kernel.openapi import answers
from tenants.api.views import TenantView
from webhooks.api.shown import CatalogueShown
from webhooks.catalogue import catalogue_json


class Catalogue(TenantView):
    scopes = ("webhooks",)

    @extend_schema(operation_id="get_catalogue", responses=answers({200: CatalogueShown}))
    def get(self, request: Request) -> Response:
        """Read what messages there are: of each type a JSON Schema (2020-12) and an example.

        All at once, and the same for everybody.
        """
        return Response({"data": catalogue_json()})
