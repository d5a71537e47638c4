"""Read what the mock provider says, strictly: whatever has another form is no answer."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from reservations.checkout.provider import (
    CallbackNews,
    Charge,
    ChargeOutcome,
    ListedCharge,
    RefundAnswer,
    RefundOutcome,
    UnreadableCallback,
)

# what a column holds
AMOUNT_MAX = 2**63 - 1
_WORD = re.compile(r"[!-~]{1,100}")
_CURRENCY = re.compile(r"[A-Z]{3}")
_CHARGES = {"succeeded": ChargeOutcome.SUCCEEDED, "declined": ChargeOutcome.DECLINED}
_REFUNDS = {"succeeded": RefundOutcome.SUCCEEDED, "failed": RefundOutcome.FAILED}


class Unreadable(Exception):
    """The answer has another form than the provider's answers have."""


def read_object(body: bytes) -> Mapping[str, Any]:
    """The JSON object in `body`. Raises Unreadable."""
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Unreadable(str(error)) from error
    if not isinstance(data, dict):
        raise Unreadable("no object")
    return data


def read_charge(data: Any, key: str) -> Charge:
    """A charge that must be the one of this key. Raises Unreadable."""
    listed = read_listed(data)
    if listed.key != key:
        raise Unreadable("another charge")
    code = _word(data, "decline_code") if listed.outcome == ChargeOutcome.DECLINED else None
    return Charge(listed.outcome, listed.reference, listed.amount, listed.currency, listed.refunded, code)


def read_listed(data: Any) -> ListedCharge:
    """A charge in a list. Raises Unreadable."""
    status = _word(data, "status")
    if status not in _CHARGES:
        raise Unreadable("another status")
    return ListedCharge(
        key=_word(data, "reference"),
        reference=_word(data, "id"),
        outcome=_CHARGES[status],
        amount=_amount(data, "amount"),
        currency=_word(data, "currency", _CURRENCY),
        refunded=_amount(data, "refunded"),
        created_at=_moment(data, "created_at"),
    )


def read_refund(data: Any, charge_reference: str, amount: int) -> RefundAnswer:
    """A refund that must be this one. Raises Unreadable."""
    status = _word(data, "status")
    if status not in _REFUNDS or data.get("charge") != charge_reference or data.get("amount") != amount:
        raise Unreadable("another refund")
    code = _word(data, "failure_code") if status == "failed" else None
    return RefundAnswer(_REFUNDS[status], _word(data, "id"), code)


def read_rows(data: Mapping[str, Any]) -> Sequence[Any]:
    """The rows of a list. Raises Unreadable."""
    rows = data.get("data")
    if not isinstance(rows, list):
        raise Unreadable("no list")
    return rows


def read_next(data: Mapping[str, Any], after: int) -> int | None:
    """Where the next page of a list begins, which must be further on; None on the last. Raises Unreadable."""
    following = data.get("next", 0)
    if following is None:
        return None
    if type(following) is not int or following <= after:
        raise Unreadable("no way on")
    return following


def read_error_code(body: bytes) -> str:
    """The code of a refusal. Raises Unreadable."""
    return _word(read_object(body).get("error"), "code")


def read_news(body: bytes) -> CallbackNews:
    """What a callback whose signature is good says. Raises UnreadableCallback, as the protocol has it."""
    try:
        event = read_object(body)
        return CallbackNews(_word(event, "id"), _word(event, "type"), _word(event, "reference"))
    except Unreadable as error:
        raise UnreadableCallback(str(error)) from error


def _word(data: Any, name: str, form: re.Pattern[str] = _WORD) -> str:
    word = data.get(name) if isinstance(data, dict) else None
    if not isinstance(word, str) or form.fullmatch(word) is None:
        raise Unreadable(f"{name} is no word")
    return word


def _amount(data: Any, name: str) -> int:
    amount = data.get(name)
    if type(amount) is not int or not 0 <= amount <= AMOUNT_MAX:
        raise Unreadable(f"{name} is no amount")
    return amount


def _moment(data: Any, name: str) -> datetime:
    try:
        moment = datetime.fromisoformat(_word(data, name))
    except ValueError as error:
        raise Unreadable(f"{name} is no time") from error
    if moment.tzinfo is None:
        raise Unreadable(f"{name} has no offset")
    return moment
