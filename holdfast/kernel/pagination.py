"""Cursor lists: oldest first, by id (UUIDv7), so that a page is stable while rows are added and taken away."""

import base64
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from django.core import signing
from django.db.models import Model, Q, QuerySet
from django.http import QueryDict

from holdfast.kernel.errors import Invalid

LIMIT_DEFAULT = 50
LIMIT_MAX = 200


def page[M: Model](
    rows: QuerySet[M],
    query: QueryDict,
    *,
    name: str,
    represent: Callable[[M], dict[str, Any]],
    order: Sequence[str] = ("id",),
) -> dict[str, Any]:
    """One page of `rows` as `{"data": [...], "next": cursor or None}`.

    `name` says whose list it is (tenant and path): a cursor of another list is no cursor here. `order` names the fields
    that order it, unique together. Raises Invalid for a `limit` out of range or a cursor that was not given out for
    this list.
    """
    limit = _limit(query)
    signer = signing.Signer(salt=f"cursor:{name}")
    if (cursor := query.get("cursor")) is not None:
        rows = rows.filter(_after(order, _position(cursor, signer)))
    found = list(rows.order_by(*order)[: limit + 1])
    shown = found[:limit]
    following = _cursor([getattr(shown[-1], field) for field in order], signer) if len(found) > limit else None
    return {"data": [represent(row) for row in shown], "next": following}


def _after(order: Sequence[str], position: Sequence[Any]) -> Q:
    """Rows past the position: greater in the first field in which they differ."""
    past, equal = Q(), Q()
    for field, value in zip(order, position, strict=True):
        past |= equal & Q(**{f"{field}__gt": value})
        equal &= Q(**{field: value})
    return past


def _limit(query: QueryDict) -> int:
    text = query.get("limit", str(LIMIT_DEFAULT))
    # isdecimal admits the digits of other scripts, and int() would read them
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(LIMIT_MAX))):
        raise Invalid.parameter("limit", "invalid", f"Must be a whole number from 1 to {LIMIT_MAX}.")
    limit = int(text)
    if not 1 <= limit <= LIMIT_MAX:
        raise Invalid.parameter("limit", "out_of_range", f"Must be a whole number from 1 to {LIMIT_MAX}.")
    return limit


def _cursor(position: Sequence[Any], signer: signing.Signer) -> str:
    text = base64.urlsafe_b64encode(orjson.dumps(position)).decode().rstrip("=")
    return signer.sign(text).replace(":", ".")


def _position(cursor: str, signer: signing.Signer) -> list[Any]:
    try:
        text = signer.unsign(cursor.replace(".", ":"))
    except signing.BadSignature as error:
        raise Invalid.parameter("cursor", "invalid", "Is not a cursor that this list gave out.") from error
    position: list[Any] = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return position
