"""Somebody who listens, and ways to tell them something."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.database import settle_webhooks
from tests.support.hooks import Hooks, receiving_hooks
from tests.webhooks.post import Post


@pytest.fixture(scope="session")
def hooks() -> Iterator[Hooks]:
    """`hooks.place().url` takes deliveries."""
    with receiving_hooks() as running:
        yield running


@pytest.fixture
def make_post(hooks: Hooks, make_tenant: Callable[..., Any], shift_clock: Any) -> Callable[..., Post]:
    """`make_post(events=["hold.*"])`: a tenant of its own with one endpoint that listens, alone with its like in the
    world: no other test's messages keep the workers busy."""
    settle_webhooks()

    def make(**fields: Any) -> Post:
        post = Post(make_tenant().id, hooks)
        post.listen(**fields)
        return post

    return make


@pytest.fixture
def post(make_post: Callable[..., Post]) -> Post:
    return make_post()
