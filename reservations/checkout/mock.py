"""The mock provider, asked over HTTP as any other would be. The server it talks to is `holdfast.mock_psp`."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import orjson

from reservations.checkout import mock_answers, mock_signature
from reservations.checkout.calls import Answer, NoAnswer, call
from reservations.checkout.mock_answers import Unreadable
from reservations.checkout.provider import (
    DEADLINE_SECONDS,
    CallbackNews,
    Charge,
    ChargeOrder,
    ChargeOutcome,
    ListedCharge,
    ProviderAway,
    RefundAnswer,
    RefundOrder,
    RefundOutcome,
)

ANSWER_BYTES_MAX = 1024 * 1024
PAGE_ROWS = 500
# of a refusal that will be the same for ever: no such charge, an amount that is none
_REFUSED = (HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY)


class MockProvider:
    """The account `account_id` at the mock provider on `url`. Cheap to make: connections are shared by all."""

    def __init__(self, url: str, account_id: str, *, deadline_seconds: float = DEADLINE_SECONDS) -> None:
        self._url = url.rstrip("/")
        self._account_id = account_id
        self._deadline_seconds = deadline_seconds

    def charge(self, order: ChargeOrder) -> Charge:
        def ask() -> Charge:
            answer = self._post("/charges", order.key, order.callback_url, _charge_of(order))
            if answer.status == HTTPStatus.UNPROCESSABLE_ENTITY:
                return Charge(ChargeOutcome.DECLINED, decline_code=mock_answers.read_error_code(answer.body))
            return mock_answers.read_charge(_expect(answer, HTTPStatus.CREATED), order.key)

        return _unless_unknown(ask, Charge(ChargeOutcome.UNKNOWN))

    def lookup(self, key: str, reference: str | None) -> Charge:
        def ask() -> Charge:
            rows = mock_answers.read_rows(self._list(reference=key))
            if not rows:
                return Charge(ChargeOutcome.ABSENT)
            if len(rows) > 1:
                raise Unreadable("two charges of one key")
            return mock_answers.read_charge(rows[0], key)

        return _unless_unknown(ask, Charge(ChargeOutcome.UNKNOWN))

    def refund(self, order: RefundOrder) -> RefundAnswer:
        def ask() -> RefundAnswer:
            what = {"charge": order.charge_reference, "amount": order.amount, "currency": order.currency}
            answer = self._post("/refunds", order.key, order.callback_url, what)
            if answer.status in _REFUSED:
                return RefundAnswer(RefundOutcome.FAILED, failure_code=mock_answers.read_error_code(answer.body))
            refund = _expect(answer, HTTPStatus.CREATED)
            return mock_answers.read_refund(refund, order.charge_reference, order.amount)

        return _unless_unknown(ask, RefundAnswer(RefundOutcome.UNKNOWN))

    def verify_callback(self, body: bytes, headers: Mapping[str, str]) -> CallbackNews:
        secrets = mock_signature.callback_secrets(self._account_id)
        mock_signature.check(body, headers.get(mock_signature.HEADER.lower(), ""), secrets)
        return mock_answers.read_news(body)

    def charges(self, since: datetime, until: datetime) -> Iterator[ListedCharge]:
        after: int | None = 0
        while after is not None:
            try:
                page = self._list(created_from=_rfc3339(since), created_to=_rfc3339(until), after=after)
                listed = [mock_answers.read_listed(row) for row in mock_answers.read_rows(page)]
                after = mock_answers.read_next(page, after)
            except (NoAnswer, Unreadable) as error:
                raise ProviderAway(str(error)) from error
            yield from listed

    def _post(self, path: str, key: str, callback_url: str, what: Mapping[str, Any]) -> Answer:
        body = {"merchant": self._account_id, "callback_url": callback_url, **what}
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        return self._call("POST", path, headers=headers, body=orjson.dumps(body))

    def _list(self, **parameters: str | int) -> Mapping[str, Any]:
        query = urlencode({"merchant": self._account_id, "limit": PAGE_ROWS, **parameters})
        return _expect(self._call("GET", f"/charges?{query}"), HTTPStatus.OK)

    def _call(self, method: str, path: str, **sent: Any) -> Answer:
        return call(
            method,
            self._url + path,
            deadline_seconds=self._deadline_seconds,
            answer_bytes_max=ANSWER_BYTES_MAX,
            **sent,
        )


def _charge_of(order: ChargeOrder) -> Mapping[str, Any]:
    return {
        "amount": order.amount,
        "currency": order.currency,
        "method": order.method,
        "description": order.description,
    }


def _expect(answer: Answer, status: HTTPStatus) -> Mapping[str, Any]:
    if answer.status != status:
        raise Unreadable(f"answered {answer.status}")
    return mock_answers.read_object(answer.body)


def _unless_unknown[T](ask: Callable[[], T], unknown: T) -> T:
    """What the outside world does is an answer: where it can't be read, nothing is known."""
    try:
        return ask()
    except (NoAnswer, Unreadable):
        return unknown


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()
