"""The OpenAPI document, made once a process."""

from functools import cache
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.generators import SchemaGenerator


class StrictSerializerExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Strict serializers refuse unknown members, and the document says so."""

    target_class = "holdfast.kernel.fields.StrictSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        schema: dict[str, Any] = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)  # noqa: SLF001
        return {**schema, "additionalProperties": False}


@require_safe
def document(request: HttpRequest) -> HttpResponse:
    return HttpResponse(_document(), content_type="application/json")


@cache
def _document() -> bytes:
    return orjson.dumps(SchemaGenerator().get_schema(request=None, public=True))  # type: ignore[no-untyped-call]
