"""The change feed, as a client reads it, once everything that was written by now is final."""

import time
from typing import Any

from django.db import connections

from tests.support.client import Api

PATH = "/v1/webhooks/messages"
DEADLINE_SECONDS = 60


def settle() -> None:
    """Wait for every transaction that writes at this moment, on the whole server: until then the feed stops short."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
        (next_one,) = cursor.fetchone()
        while time.monotonic() < deadline:
            cursor.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint >= %s", [next_one])
            if cursor.fetchone() == (True,):
                return
            time.sleep(0.01)
    raise TimeoutError(f"a transaction on this server has not ended in {DEADLINE_SECONDS} s")


def read(api: Api, query: str = "", limit: int = 200) -> list[Any]:
    """All messages that are there, page after page; `query` is more of the query, as in `type=hold.created`."""
    settle()
    found: list[Any] = []
    address: str | None = f"{PATH}?limit={limit}&{query}"
    while address:
        answer = api.get(address)
        assert answer.status_code == 200, answer.content
        page = answer.json()
        assert len(page["data"]) <= limit
        found += page["data"]
        address = page["next"] and f"{PATH}?limit={limit}&{query}&cursor={page['next']}"
    return found


def types(messages: list[Any]) -> list[str]:
    return [message["type"] for message in messages]
