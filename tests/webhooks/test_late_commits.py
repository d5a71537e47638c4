"""An endpoint is told whatever commits after it has begun to listen, however long before that it was written."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import pytest
from django.db import OperationalError, connection, connections

from holdfast.kernel.clock import database_now
from holdfast.kernel.db.errors import LOCK_NOT_AVAILABLE, sqlstate
from tenants.scope import tenant_transaction
from tests.support.hooks import Hooks
from tests.support.processes import wait_until
from tests.webhooks.post import Post, fact
from webhooks import replay as replays
from webhooks.models import Endpoint
from webhooks.operations.endpoints import change_endpoint, disable_endpoint, enable_endpoint
from webhooks.operations.replays import Selection, begin_replay
from webhooks.outbox import publish
from webhooks.relay import relay


class Writer:
    """Writes a message in a transaction of its own, which commits when `commit` is called."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._written, self._may_end = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._written.wait(60)

    def commit(self) -> None:
        self._may_end.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            with tenant_transaction(self._post.tenant):
                (self.message_id,) = publish([fact()])
                self._written.set()
                self._may_end.wait(60)
        finally:
            connections.close_all()


@contextmanager
def writing(post: Post) -> Iterator[Writer]:
    writer = Writer(post)
    try:
        yield writer
    finally:
        writer.commit()


@contextmanager
def meanwhile(work: Callable[[], Any]) -> Iterator[None]:
    """Runs it in a thread, which has ended when the block has."""

    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join(60)
    assert not thread.is_alive()


def somebody_waits(mode: str) -> bool:
    """Whether somebody waits for a lock by name, shared or alone."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND mode = %s"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))",
            [mode],
        )
        (found,) = cursor.fetchone()
    return bool(found)


def wait_until_it_wants_to_listen() -> None:
    wait_until(lambda: somebody_waits("ExclusiveLock"), "the endpoint")


def made(post: Post) -> None:
    post.listen()


def enabled(post: Post) -> None:
    enable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)


class Beginning(NamedTuple):
    """Call it, and somebody begins to listen to `post`, whom nobody listens to."""

    post: Post
    act: Callable[[Post], None]

    def __call__(self) -> None:
        self.act(self.post)


@pytest.fixture(params=[made, enabled])
def begin(request: pytest.FixtureRequest, tenant: Any, hooks: Hooks) -> Beginning:
    post = Post(tenant.id, hooks)
    if request.param is enabled:
        post.listen()
        disable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    return Beginning(post, request.param)


def is_listening(post: Post) -> bool:
    return Endpoint.everywhere.filter(tenant_id=post.tenant, status="enabled").exists()


def told(post: Post) -> list[Any]:
    relay(post.tenant)
    return [each.message_id for each in post.deliveries()]


def test_it_begins_to_listen_once_what_is_being_written_is_committed_and_can_be_replayed(begin):
    post = begin.post
    with writing(post) as writer, meanwhile(begin):
        wait_until_it_wants_to_listen()
        assert not is_listening(post)
        writer.commit()
    assert is_listening(post)
    selection = Selection(since=database_now() - timedelta(days=1))
    replay = begin_replay(tenant_id=post.tenant, endpoint_id=post.id, selection=selection)
    replays.carry_on(post.tenant, replay.id)
    assert told(post) == [writer.message_id]


def test_who_writes_while_it_begins_to_listen_waits_for_it_and_is_told_of(begin):
    post, written = begin.post, []
    with ExitStack() as stack, tenant_transaction(post.tenant):
        begin()
        stack.enter_context(meanwhile(lambda: written.extend(post.say())))
        wait_until(lambda: somebody_waits("ShareLock"), "the writer")
        assert written == []
    assert (len(written), told(post)) == (1, written)


def test_who_writes_is_not_kept_waiting_behind_one_who_waits_to_listen(begin):
    post, took = begin.post, []
    with writing(post) as writer, meanwhile(begin):
        wait_until_it_wants_to_listen()
        for _ in range(5):
            began = time.monotonic()
            post.say()
            took.append(time.monotonic() - began)
        assert not is_listening(post)
        writer.commit()
    assert median(took) < 0.5  # each would wait, not one or another that the machine keeps waiting


def test_a_writer_who_does_not_end_is_contention(begin):
    post = begin.post
    with writing(post), pytest.raises(OperationalError) as refused:
        begin()
    assert sqlstate(refused.value) == LOCK_NOT_AVAILABLE
    assert not is_listening(post)


def test_what_an_endpoint_asks_for_as_a_message_is_relayed_counts(post):
    change = partial(change_endpoint, tenant_id=post.tenant, endpoint_id=post.id)
    change(events=["order.*"])
    with writing(post) as late:
        change(events=["hold.*"])
        assert told(post) == []
    assert told(post) == [late.message_id]
