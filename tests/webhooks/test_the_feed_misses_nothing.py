"""Transactions commit in another order than they wrote. Whoever follows the feed's cursors sees each message once."""

import random
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connections, transaction

from tenants.scope import tenant_transaction
from tests.support import feed
from tests.support.client import Api
from webhooks.models import Message
from webhooks.outbox import Fact, publish

DEADLINE_SECONDS = 60


def say(name: str) -> None:
    publish([Fact(f"test.{name}", "test", UUID(bytes=secrets.token_bytes(16)), {"name": name}, is_first=True)])


class Writer:
    """A transaction in a thread of its own, held open: it has said something and commits when told to."""

    def __init__(self, tenant_id: UUID, name: str, *, undone: bool = False) -> None:
        self.said, self.may_end = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._run, args=(tenant_id, name, undone), daemon=True)
        self.thread.start()
        assert self.said.wait(DEADLINE_SECONDS)

    def _run(self, tenant_id: UUID, name: str, undone: bool) -> None:  # noqa: FBT001 - an argument of a thread
        try:
            with tenant_transaction(tenant_id):
                say(name)
                self.said.set()
                self.may_end.wait(DEADLINE_SECONDS)
                transaction.set_rollback(undone)
        finally:
            connections.close_all()

    def end(self) -> None:
        self.may_end.set()
        self.thread.join(DEADLINE_SECONDS)
        assert not self.thread.is_alive()


class Reader:
    """Follows the cursors to the end, and the last of them again for what has come since."""

    def __init__(self, api: Api, limit: int = 3) -> None:
        self.api, self.limit = api, limit
        self.cursor: str | None = None
        self.on_last_page: set[str] = set()
        self.seen: list[str] = []

    def follow(self) -> list[str]:
        """Read on to the end; the names that are new."""
        found = []
        while True:
            tail = f"&cursor={self.cursor}" if self.cursor else ""
            answer = self.api.get(f"{feed.PATH}?limit={self.limit}{tail}")
            assert answer.status_code == 200, answer.content
            page = answer.json()
            found += [row for row in page["data"] if row["id"] not in self.on_last_page]
            if page["next"] is None:
                self.on_last_page = {row["id"] for row in page["data"]}
                break
            self.cursor, self.on_last_page = page["next"], set()
        names = [row["data"]["name"] for row in found]
        self.seen += names
        return names

    def follow_until(self, name: str) -> None:
        """Other tests on this server may hold the feed back for a moment."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while name not in self.seen and time.monotonic() < deadline:
            self.follow()
        assert name in self.seen


@pytest.fixture
def reader(tenant: Any, api: Callable[..., Api]) -> Reader:
    return Reader(api(tenant))


def commit(tenant: Any, name: str) -> None:
    with tenant_transaction(tenant.id):
        say(name)


def test_a_message_that_commits_late_is_shown_before_those_that_overtook_it(tenant: Any, reader: Reader) -> None:
    late = Writer(tenant.id, "late")
    commit(tenant, "early")
    assert reader.follow() == []
    late.end()
    feed.settle()
    assert reader.follow() == ["late", "early"]
    assert reader.follow() == []


def test_transactions_that_end_in_the_opposite_order_are_all_seen_once(tenant: Any, reader: Reader) -> None:
    writers = [Writer(tenant.id, str(number)) for number in range(8)]
    for writer in reversed(writers):
        reader.follow()
        writer.end()
        commit(tenant, f"after {writer.thread.name}")
    feed.settle()
    reader.follow()
    assert len(reader.seen) == len(set(reader.seen)) == 16
    assert [name for name in reader.seen if name.isdigit()] == [str(number) for number in range(8)]


def test_a_transaction_that_is_undone_holds_nobody_back_for_good_and_shows_nothing(tenant: Any, reader: Reader) -> None:
    undone = Writer(tenant.id, "undone", undone=True)
    commit(tenant, "kept")
    assert reader.follow() == []
    undone.end()
    feed.settle()
    assert reader.follow() == ["kept"]


def test_another_tenants_open_transaction_only_delays(
    tenant: Any, make_tenant: Callable[..., Any], reader: Reader
) -> None:
    theirs = Writer(make_tenant().id, "theirs")
    commit(tenant, "mine")
    assert reader.follow() == []
    theirs.end()
    feed.settle()
    assert reader.follow() == ["mine"]


def test_a_transaction_that_reads_alone_holds_nobody_back(tenant: Any, reader: Reader) -> None:
    feed.settle()
    with tenant_transaction(tenant.id):
        assert not Message.objects.exists()
        other = threading.Thread(target=lambda: (commit(tenant, "mine"), connections.close_all()))
        other.start()
        other.join(DEADLINE_SECONDS)
        reader.follow_until("mine")


@pytest.mark.gate
def test_writers_and_a_reader_side_by_side(tenant: Any, reader: Reader, rounds: range) -> None:
    """Some of them commit at once, some late, some never."""
    count = 4
    said: list[list[str]] = [[] for _ in range(count)]

    def write(number: int) -> None:
        dice = random.Random(number)
        try:
            for each in range(3 * len(rounds)):
                name = f"{number}-{each}"
                with tenant_transaction(tenant.id):
                    for part in range(dice.randrange(1, 4)):
                        say(f"{name}-{part}")
                    time.sleep(dice.choice([0, 0, 0.001, 0.01]))
                    undone = dice.random() < 0.2
                    transaction.set_rollback(undone)
                if not undone:
                    said[number] += [f"{name}-{at}" for at in range(part + 1)]
        finally:
            connections.close_all()

    threads = [threading.Thread(target=write, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        reader.follow()
    feed.settle()
    reader.follow()
    wanted = [name for names in said for name in names]
    assert len(reader.seen) == len(wanted)
    assert set(reader.seen) == set(wanted)
    for number, names in enumerate(said):  # what one writer said one after another comes in that order
        assert [name for name in reader.seen if name.startswith(f"{number}-")] == names


# --- the controls: the same reader with one of the two precautions


class NaiveReader:
    """Reads what is committed, and goes on from the last value of one field."""

    def __init__(self, tenant_id: UUID, order: str) -> None:
        self.tenant_id, self.order = tenant_id, order
        self.last: Any = None

    def follow(self) -> list[str]:
        with tenant_transaction(self.tenant_id):
            rows = Message.objects.order_by(self.order)
            if self.last is not None:
                rows = rows.filter(**{f"{self.order}__gt": self.last})
            found = list(rows)
        if found:
            self.last = getattr(found[-1], self.order)
        return [row.type for row in found]


@pytest.mark.parametrize("order", ["id", "transaction", "occurred_at"])
def test_a_reader_by_one_number_alone_would_miss_what_commits_late(tenant: Any, order: str) -> None:
    reader = NaiveReader(tenant.id, order)
    late = Writer(tenant.id, "late")
    commit(tenant, "early")
    assert reader.follow() == ["test.early"]
    late.end()
    assert reader.follow() == []
    with tenant_transaction(tenant.id):
        assert Message.objects.count() == 2
