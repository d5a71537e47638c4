"""What may be asked of the mock provider, read strictly."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any

import orjson

# an extra unit above it still fits SQLite's integers
AMOUNT_MAX = 2**62
ROWS_MAX = 500
_WORD = re.compile(r"[!-~]{1,100}")
_METHOD = re.compile(r"[!-~]{1,255}")
_CURRENCY = re.compile(r"[A-Z]{3}")
_URL = re.compile(r"https?://[!-~]{1,2000}")


class Refused(Exception):
    """A request that is refused, and stays so."""

    def __init__(self, status: HTTPStatus, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True)
class NewCharge:
    """A charge to be made. Money is in the currency's minor unit."""

    key: str
    merchant: str
    amount: int
    currency: str
    method: str
    callback_url: str


@dataclass(frozen=True, slots=True)
class NewRefund:
    """A refund to be made."""

    key: str
    merchant: str
    charge: str
    amount: int
    currency: str
    callback_url: str


@dataclass(frozen=True, slots=True)
class Filter:
    """Which charges are listed; None chooses all. `after` is the `next` of the page before; times are [from, to)."""

    merchant: str | None
    reference: str | None
    created_from: datetime | None
    created_to: datetime | None
    after: int
    limit: int


def read_charge(body: bytes, key: str | None) -> NewCharge:
    """Raises Refused."""
    data = _object(body)
    return NewCharge(
        key=_text(key, "Idempotency-Key", _WORD),
        merchant=_text(data.get("merchant"), "merchant", _WORD),
        amount=_amount(data),
        currency=_text(data.get("currency"), "currency", _CURRENCY),
        method=_text(data.get("method"), "method", _METHOD),
        callback_url=_text(data.get("callback_url"), "callback_url", _URL),
    )


def read_refund(body: bytes, key: str | None) -> NewRefund:
    """Raises Refused."""
    data = _object(body)
    return NewRefund(
        key=_text(key, "Idempotency-Key", _WORD),
        merchant=_text(data.get("merchant"), "merchant", _WORD),
        charge=_text(data.get("charge"), "charge", _WORD),
        amount=_amount(data),
        currency=_text(data.get("currency"), "currency", _CURRENCY),
        callback_url=_text(data.get("callback_url"), "callback_url", _URL),
    )


def read_filter(query: Mapping[str, Sequence[str]]) -> Filter:
    """Raises Refused."""
    given = {name: values[-1] for name, values in query.items()}
    return Filter(
        merchant=given.get("merchant"),
        reference=given.get("reference"),
        created_from=_moment(given, "created_from"),
        created_to=_moment(given, "created_to"),
        after=_number(given, "after", 0, AMOUNT_MAX, default=0),
        limit=_number(given, "limit", 1, ROWS_MAX, default=ROWS_MAX),
    )


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refused(HTTPStatus.BAD_REQUEST, "malformed", str(error)) from error
    if not isinstance(data, dict):
        raise Refused(HTTPStatus.BAD_REQUEST, "malformed", "the body is no object")
    return data


def _invalid(name: str) -> Refused:
    return Refused(HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", name)


def _text(given: Any, name: str, form: re.Pattern[str]) -> str:
    if not isinstance(given, str) or form.fullmatch(given) is None:
        raise _invalid(name)
    return given


def _amount(data: Mapping[str, Any]) -> int:
    amount = data.get("amount")
    if type(amount) is not int or not 1 <= amount <= AMOUNT_MAX:
        raise _invalid("amount")
    return amount


def _moment(given: Mapping[str, str], name: str) -> datetime | None:
    if name not in given:
        return None
    try:
        moment = datetime.fromisoformat(given[name])
    except ValueError as error:
        raise _invalid(name) from error
    if moment.tzinfo is None:
        raise _invalid(name)
    return moment


def _number(given: Mapping[str, str], name: str, least: int, most: int, *, default: int) -> int:
    text = given.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise _invalid(name)
    return int(text)
