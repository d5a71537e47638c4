"""Cursor lists: oldest first, by id (UUIDv7), so that a page is stable while rows are added and taken away."""

import base64
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.core import signing
from django.db.models import Model, QuerySet
from django.http import QueryDict

from holdfast.kernel.errors import Invalid

LIMIT_DEFAULT = 50
LIMIT_MAX = 200


def page[M: Model](
    rows: QuerySet[M], query: QueryDict, *, name: str, represent: Callable[[M], dict[str, Any]]
) -> dict[str, Any]:
    """One page of `rows` as `{"data": [...], "next": cursor or None}`.

    `name` says whose list it is (tenant and path): a cursor of another list is no cursor here. Raises Invalid for a
    `limit` out of range or a cursor that was not given out for this list.
    """
    limit = _limit(query)
    signer = signing.Signer(salt=f"cursor:{name}")
    if (cursor := query.get("cursor")) is not None:
        rows = rows.filter(pk__gt=_position(cursor, signer))
    found = list(rows.order_by("pk")[: limit + 1])
    shown = found[:limit]
    following = _cursor(shown[-1].pk, signer) if len(found) > limit else None
    return {"data": [represent(row) for row in shown], "next": following}


def _limit(query: QueryDict) -> int:
    text = query.get("limit", str(LIMIT_DEFAULT))
    # isdecimal admits the digits of other scripts, and int() would read them
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(LIMIT_MAX))):
        raise Invalid.parameter("limit", "invalid", f"Must be a whole number from 1 to {LIMIT_MAX}.")
    limit = int(text)
    if not 1 <= limit <= LIMIT_MAX:
        raise Invalid.parameter("limit", "out_of_range", f"Must be a whole number from 1 to {LIMIT_MAX}.")
    return limit


def _cursor(position: UUID, signer: signing.Signer) -> str:
    return signer.sign(base64.urlsafe_b64encode(position.bytes).decode().rstrip("=")).replace(":", ".")


def _position(cursor: str, signer: signing.Signer) -> UUID:
    try:
        text = signer.unsign(cursor.replace(".", ":"))
        return UUID(bytes=base64.urlsafe_b64decode(text + "=="))
    except (signing.BadSignature, ValueError) as error:
        raise Invalid.parameter("cursor", "invalid", "Is not a cursor that this list gave out.") from error
