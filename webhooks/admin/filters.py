"""Filters of the list of deliveries: by endpoint and by type of message."""

from typing import Any
from uuid import UUID

from django.contrib.admin import SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.text import Truncator

from webhooks.message_types import TYPES
from webhooks.operations.endpoints import ENDPOINTS_MAX
from webhooks.queries.endpoints import endpoints

URL_SHOWN_MAX = 60


class EndpointFilter(SimpleListFilter):
    """Deliveries to one endpoint."""

    title = "endpoint"
    parameter_name = "endpoint"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        named = endpoints().order_by("id").values_list("id", "url")[:ENDPOINTS_MAX]
        return [(str(endpoint_id), Truncator(url).chars(URL_SHOWN_MAX)) for endpoint_id, url in named]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        try:
            return queryset.filter(endpoint_id=UUID(self.value()))
        except ValueError:
            return queryset.none()


class TypeFilter(SimpleListFilter):
    """Deliveries of messages of one type."""

    title = "type"
    parameter_name = "type"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in TYPES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(message__type=self.value()) if self.value() else queryset
