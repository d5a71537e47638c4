"""JSON in, JSON out, strictly: the parser, the renderer and the negotiation of every API view."""

from collections.abc import Mapping
from io import BytesIO
from typing import IO, Any

import orjson
from django.http import HttpRequest
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from holdfast.kernel.errors import Invalid, Malformed, Refusal


class BodyTooLarge(Refusal):
    status, slug, title = 413, "body-too-large", "The body is too large"


class JSONParser(BaseParser):
    """Reads a JSON object of at most the view's `body_bytes_max` bytes.

    Raises Malformed for what is no JSON (not UTF-8, NaN, a byte order mark, nested too deeply), BodyTooLarge, and
    Invalid at pointer "" for JSON that is no object.
    """

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        context = parser_context or {}
        meta = context["request"].META
        if meta.get("HTTP_CONTENT_ENCODING", "identity").lower() not in ("", "identity"):
            raise UnsupportedMediaType(meta["HTTP_CONTENT_ENCODING"])
        return loads_object(_read_within(stream, meta, context["view"].body_bytes_max))


def loads_object(body: bytes) -> dict[str, Any]:
    """The JSON object in `body`. Raises Malformed, or Invalid at pointer "" for another kind of JSON."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Malformed(f"The body is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise Invalid.at("", "not_an_object", "The body must be a JSON object.")
    return data


def body_length(meta: Mapping[str, Any]) -> int:
    """How many bytes the client sends, 0 where it sends no body; one in chunks must have been measured."""
    return int(meta.get("CONTENT_LENGTH") or 0)


def measure_chunked_body(request: HttpRequest, bytes_max: int) -> None:
    """Give a body that came in chunks, without a length, the length it has.

    Django takes a request without Content-Length for one without a body. At most one byte past the limit is read, so
    that the reader sees that it was passed.

    Raises Malformed for any other coding, and for no bytes: a client without a body announces none, and chunks that
    can't be read reach us as a body that ends before them. After the first byte it ends early, which is no JSON, or
    had the whole object already.
    """
    coding = request.META.get("HTTP_TRANSFER_ENCODING", "").strip().lower()
    if not coding:
        return
    if coding != "chunked":
        raise Malformed("Transfer-Encoding can't be anything but chunked.")
    body = request.META["wsgi.input"].read(bytes_max + 1)
    if not body:
        raise Malformed("The body has no chunks that can be read.")
    request.META["CONTENT_LENGTH"] = str(len(body))
    request._stream = BytesIO(body)  # noqa: SLF001 - as Django's own test client does


def raw_body(request: HttpRequest, bytes_max: int) -> bytes:
    """The body as it was sent, of a request that no TenantView serves.

    Raises Malformed, BodyTooLarge, and Unavailable where too many bodies are awaited.
    """
    measure_chunked_body(request, bytes_max)
    return _read_within(request, request.META, bytes_max)


def _read_within(stream: IO[bytes] | HttpRequest, meta: Mapping[str, Any], bytes_max: int) -> bytes:
    if body_length(meta) > bytes_max:
        raise BodyTooLarge(f"At most {bytes_max} bytes.")
    body = stream.read(bytes_max + 1)
    if len(body) > bytes_max:
        raise BodyTooLarge(f"At most {bytes_max} bytes.")
    return body


class JSONRenderer(BaseRenderer):
    """Writes JSON; errors are problem documents and say so in their media type."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        if data is None:
            return b""
        return orjson.dumps(data)


class AlwaysJSON(BaseContentNegotiation):
    """Every client gets JSON, whatever its Accept header says."""

    def select_parser(self, request: Request, parsers: Any) -> BaseParser | None:
        media_type = (request.content_type or "").split(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == media_type), None)

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type
