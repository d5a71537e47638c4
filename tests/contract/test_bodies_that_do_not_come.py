"""Whoever announces a body and does not send it keeps no other call waiting; who can't be served then is told so."""

import contextlib
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from holdfast.embedded.web import BLOCKING_THREADS
from tests.contract import expect
from tests.support.web import Web, granian

AT_ONCE_SECONDS = 30
LOOKS = 5
CLIENTS, CALLS_EACH = 64, 4
LOGIN = "POST /admin/login/ HTTP/1.1\r\nHost: localhost\r\nCookie: csrftoken=" + "a" * 32 + "\r\n"
LOGIN += "Content-Type: application/x-www-form-urlencoded\r\n"
HOLD = "POST /v1/holds HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
HOLD += "Content-Type: application/json\r\n"
LOOK = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
FORM = "application/x-www-form-urlencoded"
CALLBACK = f"POST /v1/payments/callbacks/mock/{uuid4()} HTTP/1.1\r\nHost: localhost\r\n"
WITH_A_LENGTH = "Content-Length: 1000\r\n\r\n"
IN_CHUNKS = "Transfer-Encoding: chunked\r\n\r\n5\r\nab"


@pytest.fixture
def one_process(database_name: str) -> Iterator[Web]:
    """With as many threads as `./hold up` gives it."""
    with granian(1, BLOCKING_THREADS) as web:
        yield web


def half_sent(web: Web, head: str, stack: contextlib.ExitStack) -> socket.socket:
    place = web.api(None).place
    connection = stack.enter_context(socket.create_connection((place.hostname, place.port), timeout=AT_ONCE_SECONDS))
    connection.sendall(head.encode())
    return connection


def is_answered(web: Web) -> bool:
    """Whether GET /healthz is, at once."""
    with contextlib.ExitStack() as stack:
        try:
            return half_sent(web, LOOK, stack).recv(15) == b"HTTP/1.1 200 OK"
        except TimeoutError:
            return False


@pytest.mark.parametrize(
    "head",
    [LOGIN + WITH_A_LENGTH, CALLBACK + WITH_A_LENGTH, CALLBACK + IN_CHUNKS, HOLD + WITH_A_LENGTH, HOLD + IN_CHUNKS],
    ids=["login", "callback", "callback in chunks", "key", "key and chunks"],
)
def test_a_body_that_does_not_come_stops_no_other_request(one_process: Web, tenant: Any, head: str) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(4 * BLOCKING_THREADS):
            half_sent(one_process, head.format(token=tenant.key), stack)
        # the slow ones take their threads one by one, within moments
        assert [is_answered(one_process) for _ in range(LOOKS)] == [True] * LOOKS


def test_strangers_do_not_keep_those_with_a_key_waiting(one_process: Web, tenant: Any) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(4 * BLOCKING_THREADS):
            half_sent(one_process, LOGIN + WITH_A_LENGTH, stack)
        for _ in range(LOOKS):
            expect.faults(one_process.api(tenant).post("/v1/holds", {}))


def test_who_finds_no_place_is_told_when_to_come_again_until_the_slow_ones_are_gone(
    one_process: Web, tenant: Any
) -> None:
    api = one_process.api(tenant)
    with contextlib.ExitStack() as stack:
        for _ in range(BLOCKING_THREADS):
            half_sent(one_process, (HOLD + WITH_A_LENGTH).format(token=tenant.key), stack)
        refused = first_refusal(api)
        expect.problem(refused, 503, "unavailable")
        assert int(refused.headers["retry-after"]) > 0
        login = one_process.api(None).post("/admin/login/", b"username=ada", media_type=FORM)
        assert login.status_code == 403, "the strangers' place is free; without a token the form is a forgery"
    deadline = time.monotonic() + AT_ONCE_SECONDS
    while api.post("/v1/holds", {}).status_code == 503 and time.monotonic() < deadline:
        pass
    expect.faults(api.post("/v1/holds", {}))


def first_refusal(api: Any) -> Any:
    """The slow ones may need a moment to be where they are."""
    deadline = time.monotonic() + AT_ONCE_SECONDS
    while (answer := api.post("/v1/holds", {})).status_code != 503 and time.monotonic() < deadline:
        pass
    return answer


def test_a_second_stranger_is_told_so_on_a_page(one_process: Web) -> None:
    stranger = one_process.api(None)
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            half_sent(one_process, LOGIN + WITH_A_LENGTH, stack)
        deadline = time.monotonic() + AT_ONCE_SECONDS
        while (answer := stranger.post("/admin/login/", b"a=b", media_type=FORM)).status_code != 503:
            assert time.monotonic() < deadline, answer
    assert (answer.headers["retry-after"], "in a moment" in answer.content.decode()) == ("1", True)


def test_a_rush_of_whole_bodies_is_never_sent_away(one_process: Web, make_sale: Any) -> None:
    sale = make_sale(CLIENTS)

    def buy(number: int) -> list[int]:
        api = one_process.api(sale.tenant)
        body = {"event": str(sale.event.id), "customer": f"ada-{number}@example.org", "quantity": 1}
        body["metadata"] = {"note": "x" * 3000}
        return [api.post("/v1/holds", body).status_code for _ in range(CALLS_EACH)]

    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = Counter(status for statuses in pool.map(buy, range(CLIENTS)) for status in statuses)
    assert answers == {201: CLIENTS, 409: CLIENTS * (CALLS_EACH - 1)}


@pytest.mark.parametrize(
    ("head", "sent"),
    [(LOGIN, "username=ada&password=x"), (HOLD, '{"quantity": 1}')],
    ids=["a form", "JSON"],
)
def test_a_body_that_breaks_off_is_not_read_as_a_whole_one(one_process: Web, tenant: Any, head: str, sent: str) -> None:
    whole = head.format(token=tenant.key) + f"Content-Length: {len(sent) + 1}\r\n\r\n{sent}"
    with contextlib.ExitStack() as stack:
        connection = half_sent(one_process, whole, stack)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(65_536).split()[1] == b"400"
