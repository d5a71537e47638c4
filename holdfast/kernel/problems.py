"""RFC 9457 problem documents for everything that goes wrong on an API path."""

from typing import Any

import orjson
import structlog
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions
from rest_framework.response import Response

from holdfast.kernel.db.errors import CONTENTION, sqlstate
from holdfast.kernel.errors import Contention, FieldError, Invalid, Malformed, NotFound, Refusal, Unavailable

logger = structlog.get_logger(__name__)
PROBLEM_MEDIA_TYPE = "application/problem+json"
# SQLSTATEs in which the server is away, going away or a standby, not wrong: by class, and two of their own
CONNECTION_FAULTS = ("08", "57P", "53", "25006", "25P03")

_TITLES = {
    400: ("malformed", "The request is malformed"),
    401: ("unauthenticated", "A valid API key is needed"),
    403: ("forbidden", "This API key may not do that"),
    404: (NotFound.slug, NotFound.title),
    405: ("method-not-allowed", "This path has no such method"),
    410: ("gone", "It has ended"),
    413: ("body-too-large", "The body is too large"),
    415: ("unsupported-media-type", "The body must be application/json"),
    429: ("too-many-requests", "Too many requests"),
    500: ("internal", "Something went wrong on our side"),
}


def generic_document(status: int, detail: str = "") -> dict[str, Any]:
    """A problem document for a bare status code."""
    slug, title = _TITLES.get(status, ("error", "The request failed"))
    return {"type": f"/problems/{slug}", "title": title, "status": status, "detail": detail or title}


def problem_response(request: HttpRequest, document: dict[str, Any]) -> HttpResponse:
    """A plain Django response; for paths that no API view answers."""
    body = orjson.dumps({**document, "request_id": getattr(request, "request_id", None)})
    return HttpResponse(body, status=document["status"], content_type=PROBLEM_MEDIA_TYPE)


def refusal_of(error: Exception) -> Refusal | None:
    """The refusal that an error amounts to, or None for a fault of ours."""
    match error:
        case Refusal():
            return error
        case Http404():
            return NotFound()
        case SuspiciousOperation():  # too many parameters
            return Malformed("The request is malformed.")
        case exceptions.ValidationError():
            return Invalid(list(field_errors(error.detail)))
        case OperationalError() | InterfaceError() | DatabaseError():
            return _database_refusal(error)
    return None


def _database_refusal(error: Exception) -> Refusal | None:
    state = sqlstate(error)  # type: ignore[arg-type]
    if state in CONTENTION:
        return Contention()
    if state.startswith(CONNECTION_FAULTS) or (not state and isinstance(error, OperationalError | InterfaceError)):
        return Unavailable("The database is not available right now.")
    return None


def field_errors(detail: Any, pointer: str = "") -> "list[FieldError]":
    """DRF's nested error detail, flattened to JSON pointers (RFC 6901)."""
    if isinstance(detail, dict):
        found = []
        for key, value in detail.items():
            escaped = str(key).replace("~", "~0").replace("/", "~1")
            place = pointer if key == "non_field_errors" else f"{pointer}/{escaped}"
            found += field_errors(value, place)
        return found
    if isinstance(detail, list):
        found = []
        for index, value in enumerate(detail):
            place = pointer if isinstance(value, exceptions.ErrorDetail) else f"{pointer}/{index}"
            found += field_errors(value, place)
        return found
    return [FieldError(pointer, getattr(detail, "code", "invalid"), str(detail))]


def exception_handler(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's hook: every exception of a view becomes a problem document."""
    request = context["request"]
    headers: dict[str, str] = {}
    refusal = refusal_of(error)
    if refusal is not None:
        document = refusal.document()
        if refusal.retry_after_seconds is not None:
            headers["Retry-After"] = str(refusal.retry_after_seconds)
    elif isinstance(error, exceptions.APIException):
        document = generic_document(error.status_code, str(error.detail))
        if auth_header := getattr(error, "auth_header", None):
            headers["WWW-Authenticate"] = auth_header
    elif isinstance(error, PermissionDenied):
        document = generic_document(403)
    else:
        logger.error("request_failed", path=request.path, method=request.method, exc_info=error)
        document = generic_document(500)
    document["request_id"] = getattr(request, "request_id", None)
    return Response(document, status=document["status"], headers=headers, content_type=PROBLEM_MEDIA_TYPE)
