"""The OpenAPI document, made once a process."""

from functools import cache
from inspect import getdoc
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponse
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.generators import SchemaGenerator

from holdfast.kernel.fields import StrictSerializer


class StrictSerializerExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Strict serializers refuse unknown members, and the document says so; also what stands for a
    member that is left out (`defaults`; a change has none)."""

    target_class = "holdfast.kernel.fields.StrictSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        schema: dict[str, Any] = auto_schema._map_serializer(self.target, direction, bypass_extensions=True)  # noqa: SLF001
        if schema.get("description") == getdoc(StrictSerializer):
            del schema["description"]  # inherited: about the code, not about the body
        if not self.target.partial:
            for name, value in getattr(self.target, "defaults", {}).items():
                schema["properties"][name]["default"] = value
        return {**schema, "additionalProperties": False}


def document(request: HttpRequest) -> HttpResponse:
    return HttpResponse(_document(), content_type="application/json")


@cache
def _document() -> bytes:
    return orjson.dumps(SchemaGenerator().get_schema(request=None, public=True))  # type: ignore[no-untyped-call]
