"""The Idempotency-Key header of a request, the answer that is kept under it, and its replay."""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate
from uuid import UUID

import orjson
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from holdfast.kernel.errors import IdempotencyInFlight, IdempotencyKeyInvalid, IdempotencyKeyMissing, Malformed, Refusal
from holdfast.kernel.problems import PROBLEM_MEDIA_TYPE
from tenants.idempotency import Claim, KeptAnswer, store_answers, stored_answers
from tenants.scope import NameTaken, tenant_transaction

_KEY = re.compile(r"[!-~]{1,255}", re.ASCII)
_FIRST_ERROR = 400


def required_claim_of(request: Request, *, principal_id: UUID) -> Claim:
    """The request's claim. Raises IdempotencyKeyMissing, IdempotencyKeyInvalid."""
    claim = claim_of(request, principal_id=principal_id)
    if claim is None:
        raise IdempotencyKeyMissing
    return claim


def claim_of(request: Request, *, principal_id: UUID) -> Claim | None:
    """The request's claim, None without a key. Raises IdempotencyKeyInvalid."""
    key = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        return None
    if not _KEY.fullmatch(key):
        raise IdempotencyKeyInvalid
    return Claim(principal_id, key, _fingerprint(request))


def _fingerprint(request: Request) -> bytes:
    """SHA-256 of method, path, sorted query and canonical JSON body."""
    query = sorted(request.query_params.lists())
    asked = [request.method, request.path, query, request.data]
    try:
        return hashlib.sha256(orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)).digest()
    except orjson.JSONEncodeError as error:
        raise Malformed("The body is nested too deeply.") from error


def replayed(request: Request, answer: KeptAnswer) -> Response:
    """The first answer again, and said to be that. A problem names the request that asks now."""
    headers = {"Idempotency-Replayed": "true"}
    if answer.status < _FIRST_ERROR:
        return Response(answer.body, status=answer.status, headers=headers)
    body = {**answer.body, "request_id": getattr(request, "request_id", None)}
    return Response(body, status=answer.status, headers=headers, content_type=PROBLEM_MEDIA_TYPE)


@contextmanager
def judged_before_its_key(claim: Claim | None, tenant_id: UUID) -> Iterator[None]:
    """For a call that judges its body before it looks its key up, which then costs a good request no statement.

    What the block refuses is raised as it is, unless the key was used for another request: then that comes first, as it
    does under `once`. Raises IdempotencyKeyReused.
    """
    try:
        yield
    except (Refusal, ValidationError):
        if claim is not None:
            with tenant_transaction(tenant_id):
                stored = stored_answers([claim]).get(claim.name)
            if stored is not None:
                stored.refuse_another(claim)
        raise


def once[**P](method: Callable[Concatenate[Any, Request, P], Response]) -> Callable[..., Response]:
    """For the POST of a TenantView: under a key it takes effect once, and its first answer is kept.

    The view runs inside the transaction that keeps the answer, so that both are there or neither is.
    """

    @wraps(method)
    def answered(view: Any, request: Request, *args: P.args, **kwargs: P.kwargs) -> Response:
        claim = claim_of(request, principal_id=view.principal.api_key_id)
        if claim is None:
            return method(view, request, *args, **kwargs)
        try:
            with tenant_transaction(view.tenant_id, names=[claim.lock_name]):
                answer = _first_or_kept(claim, request, lambda: method(view, request, *args, **kwargs))
        except NameTaken as error:
            raise IdempotencyInFlight from error
        if isinstance(answer, Refusal):
            raise answer
        return answer

    return answered


def _first_or_kept(claim: Claim, request: Request, run: Callable[[], Response]) -> Response | Refusal:
    """The answer that is kept for the claim, or else that of `run`, which is kept from now on if it may be."""
    stored = stored_answers([claim]).get(claim.name)
    if stored is not None:
        return replayed(request, stored.replay_for(claim))
    try:
        response = run()
    except Refusal as refusal:
        if not refusal.stored:
            raise
        store_answers({claim: (refusal.status, refusal.document())})
        return refusal
    store_answers({claim: (response.status_code, _without_secret(response.data))})
    return response


def _without_secret(body: dict[str, Any]) -> dict[str, Any]:
    """A secret is shown once and kept nowhere: it is null in a replay."""
    return {**body, "secret": None} if "secret" in body else body
