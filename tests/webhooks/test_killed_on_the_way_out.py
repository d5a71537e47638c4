"""A process that relays and sends, killed between any two of its steps: each message still arrives, under its id."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.mortal import Mortals
from tests.support.posting import post as go_on
from tests.webhooks.post import Post
from webhooks.delivery import LEASE_SECONDS

# how often each message has arrived when all is over
POINTS = {
    "before anything": ("before webhooks.relay.lock_messages_to_relay", 1),
    "with the messages locked": ("after webhooks.relay.lock_messages_to_relay", 1),
    "with the deliveries made and not committed": ("after webhooks.relay.types_of", 1),
    "after the relay": ("after tests.support.posting.relay", 1),
    "before the claim": ("before webhooks.couriers.claim", 1),
    "with the claim not committed": ("after webhooks.delivery.signed_headers", 1),
    "with the claim committed": ("after webhooks.couriers.claim", 1),
    "before the request": ("before webhooks.couriers.send", 1),
    "after the answer": ("after webhooks.couriers.send", 2),
    "before the record": ("before webhooks.couriers.record", 2),
    "with the attempt not committed": ("before webhooks.delivery.note_outcomes", 2),
    "with everything written and not committed": ("after webhooks.delivery.note_outcomes", 2),
    "after the record": ("after webhooks.couriers.record", 1),
}


@pytest.fixture(scope="session")
def mortals(database_name: str) -> Iterator[Mortals]:
    """`mortals.run("post", "before webhooks.couriers.send", …)`: in a process that is killed there."""
    with Mortals() as running:
        yield running


def has_arrived(post: Post, message_id: Any, times: int) -> None:
    delivery = post.delivery(message_id)
    assert delivery.status == "delivered"
    assert post.place.ids == [str(message_id)] * times
    assert len({hook.body for hook in post.place.received}) == 1
    attempts = post.attempts(delivery)
    assert len(attempts) == delivery.attempts_made
    assert {attempt.outcome for attempt in attempts[:-1]} <= {"lost"}
    assert attempts[-1].outcome == "delivered"


@pytest.mark.parametrize(("at", "times"), POINTS.values(), ids=POINTS)
def test_another_goes_on_and_each_message_arrives(post, mortals, shift_clock, at, times):
    (message_id,) = post.say()
    end = mortals.run("post", at, tenant=str(post.tenant))
    assert end.how == "killed", end
    go_on(post.tenant)
    shift_clock(LEASE_SECONDS + 1)
    go_on(post.tenant)
    assert go_on(post.tenant) == "0"
    has_arrived(post, message_id, times)


@pytest.mark.parametrize("at", ["before webhooks.couriers.send", "before webhooks.couriers.record"])
def test_one_who_wakes_after_another_took_over_sends_perhaps_and_changes_nothing(post, mortals, shift_clock, at):
    (message_id,) = post.say()
    zombie = mortals.run("post", at, stops=True, tenant=str(post.tenant))
    assert zombie.how == "stopped"
    shift_clock(LEASE_SECONDS + 1)
    assert go_on(post.tenant) == "1"
    before = post.delivery(message_id)
    assert mortals.wake(zombie).how == "done"
    has_arrived(post, message_id, 2)
    assert post.delivery(message_id).fence == before.fence == 2
