"""A form that is half sent by somebody who is logged in takes no place of those who are not."""

import contextlib
import socket
import time

from django.conf import settings

from holdfast.embedded.web import BLOCKING_THREADS
from tests.support.web import granian

FORM = "application/x-www-form-urlencoded"
HEAD = f"POST /admin/join/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM}\r\nContent-Length: 1000\r\n"
WITHIN_SECONDS = 60


def test_slow_forms_of_members_keep_members_from_sending_theirs_and_nobody_from_the_login(tenant, sign_in):
    session = sign_in(tenant).cookies[settings.SESSION_COOKIE_NAME].value
    cookie = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={session}"}
    with granian(1, BLOCKING_THREADS) as web, contextlib.ExitStack() as stack:
        api = web.api(None)
        for _ in range(BLOCKING_THREADS):
            slow = stack.enter_context(socket.create_connection((api.place.hostname, api.place.port), timeout=60))
            slow.sendall(f"{HEAD}Cookie: {cookie['Cookie']}\r\n\r\n".encode())
        deadline = time.monotonic() + WITHIN_SECONDS
        while (answer := api.post("/admin/join/", b"code=x", media_type=FORM, headers=cookie)).status_code != 503:
            assert time.monotonic() < deadline, answer
        assert int(answer.headers["retry-after"]) > 0
        # without a token it is a forgery, which only a form that was read is
        assert api.post("/admin/login/", b"username=ada", media_type=FORM).status_code == 403
