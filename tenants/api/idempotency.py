"""The Idempotency-Key header of a request, and the replay of the answer it stands for."""

import hashlib
import re
from uuid import UUID

import orjson
from rest_framework.request import Request
from rest_framework.response import Response

from holdfast.kernel.errors import IdempotencyKeyInvalid, IdempotencyKeyMissing
from holdfast.kernel.problems import PROBLEM_MEDIA_TYPE
from tenants.idempotency import Claim, StoredAnswer

_KEY = re.compile(r"[!-~]{1,255}", re.ASCII)
_FIRST_ERROR = 400


def claim_of(request: Request, *, principal_id: UUID, required: bool = False) -> Claim | None:
    """The request's claim, None without a key. Raises IdempotencyKeyMissing, IdempotencyKeyInvalid."""
    key = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        if required:
            raise IdempotencyKeyMissing
        return None
    if not _KEY.fullmatch(key):
        raise IdempotencyKeyInvalid
    return Claim(principal_id, key, _fingerprint(request))


def _fingerprint(request: Request) -> bytes:
    """SHA-256 of method, path, sorted query and canonical JSON body."""
    query = sorted(request.query_params.lists())
    asked = [request.method, request.path, query, request.data]
    return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).digest()


def replayed(request: Request, answer: StoredAnswer) -> Response:
    """The first answer again, and said to be that. A problem names the request that asks now."""
    headers = {"Idempotency-Replayed": "true"}
    if answer.status < _FIRST_ERROR:
        return Response(answer.body, status=answer.status, headers=headers)
    body = {**answer.body, "request_id": getattr(request, "request_id", None)}
    return Response(body, status=answer.status, headers=headers, content_type=PROBLEM_MEDIA_TYPE)
