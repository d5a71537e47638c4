"""What every operation of the OpenAPI document shares: problems, pages, parameters."""

from collections.abc import Mapping
from inspect import cleandoc
from typing import Any

from drf_spectacular import openapi
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, inline_serializer
from rest_framework import serializers

from holdfast.kernel.pagination import LIMIT_DEFAULT, LIMIT_MAX


class AutoSchema(openapi.AutoSchema):
    """An operation is described by the docstring of its method, the first line being its summary; by nothing else."""

    def get_summary(self) -> str | None:
        return self._lines()[0] or None

    def get_description(self) -> str:  # type: ignore[override]
        return "\n".join(self._lines()[1:]).strip()

    def _lines(self) -> list[str]:
        method = getattr(self.view, self.method.lower())
        return cleandoc(method.__doc__ or "").splitlines() or [""]


class Fault(serializers.Serializer[Any]):
    pointer = serializers.CharField(required=False, help_text="JSON pointer into the body")
    parameter = serializers.CharField(required=False, help_text="name of a query parameter")
    code = serializers.CharField()
    detail = serializers.CharField()


class Problem(serializers.Serializer[Any]):
    """RFC 9457; members beyond these depend on the type."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    request_id = serializers.CharField(allow_null=True)
    errors = Fault(many=True, required=False)  # type: ignore[assignment]


PROBLEM = "application/problem+json"
# what any call may answer: its body, its key, its scope, its path, its input, our own limits
COMMON_PROBLEMS = (400, 401, 403, 404, 409, 413, 415, 422, 503)

PAGE_PARAMETERS = [
    OpenApiParameter("cursor", str, description="`next` of the page before"),
    OpenApiParameter(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": LIMIT_MAX, "default": LIMIT_DEFAULT},
        description="rows a page",
    ),
]
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]{1,255}$"},
    OpenApiParameter.HEADER,
    description="1 to 255 visible ASCII characters: the same request again gets the first answer again",
)

IDEMPOTENCY_KEY_REQUIRED = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]{1,255}$"},
    OpenApiParameter.HEADER,
    required=True,
    description="1 to 255 visible ASCII characters, a new one for each thing you want: it is what a retry is known by",
)


def example(name: str, body: Mapping[str, Any]) -> OpenApiExample:
    """A body that a call takes as it is, but for the ids in it. A page to try the call begins with its first."""
    return OpenApiExample(name, dict(body), request_only=True)


def answers(successes: Mapping[int, Any], *more_problems: int) -> dict[Any, Any]:
    """The responses of an operation: its successes, the problems that any call may answer, and its own."""
    found: dict[Any, Any] = dict(successes)
    for status in (*COMMON_PROBLEMS, *more_problems):
        found[status, PROBLEM] = Problem
    return found


def page_of(serializer: type[serializers.Serializer[Any]]) -> Any:
    """The schema of a page of these."""
    return inline_serializer(
        f"{serializer.__name__}Page",
        {"data": serializer(many=True), "next": serializers.CharField(allow_null=True)},
    )


def text_filter(name: str, **schema: Any) -> OpenApiParameter:
    """A filter of a list, as a query parameter; `schema` narrows what text it takes."""
    return OpenApiParameter(name, {"type": "string", **schema})
