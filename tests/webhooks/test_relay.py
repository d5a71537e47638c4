"""From a message to its deliveries: to whoever wants it, once, whoever relays and whatever commits when."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections, transaction

from holdfast.kernel.clock import database_now
from tenants.scope import tenant_transaction
from tests.webhooks.post import Post, fact
from webhooks.models import Delivery, Endpoint, Message
from webhooks.operations.endpoints import delete_endpoint, disable_endpoint, enable_endpoint
from webhooks.operations.replays import Selection, begin_replay
from webhooks.outbox import publish
from webhooks.relay import BATCH_MAX, relay, relay_all
from webhooks.replay import carry_on


def told(post: Post, endpoint: Endpoint) -> list[Any]:
    return [delivery.message_id for delivery in post.deliveries(endpoint.id)]


def test_each_endpoint_is_told_what_it_asks_for_and_nothing_else(post):
    orders, all_of_both = post.listen(["order.confirmed"]), post.listen(["order.*", "hold.created"])
    (hold,) = post.say(message_type="hold.created")
    (extended,) = post.say(message_type="hold.extended")
    (order,) = post.say(message_type="order.confirmed")
    (failed,) = post.say(message_type="order.failed")
    relay(post.tenant)
    assert told(post, post.endpoint) == [hold, extended]
    assert told(post, orders) == [order]
    assert told(post, all_of_both) == [hold, order, failed]
    assert post.waiting() == 0


def test_another_tenants_endpoint_is_told_nothing(make_post):
    mine, other = make_post(), make_post()
    mine.say()
    assert relay(other.tenant) == (0, [])
    relay(mine.tenant)
    assert (len(mine.deliveries()), other.deliveries()) == (1, [])


def test_where_nobody_listens_nothing_waits(post):
    disable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    post.say(3)
    assert post.waiting() == 0
    enable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    post.say()
    assert post.waiting() == 1
    delete_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    post.say(3)
    assert post.waiting() == 1
    relay(post.tenant)
    assert (post.waiting(), post.deliveries()) == (0, [])


def test_a_new_tenants_messages_wait_for_nobody(tenant):
    with tenant_transaction(tenant.id):
        publish([fact()])
        assert not Message.objects.get().waits_for_relay


def test_messages_from_before_an_endpoint_was_there_are_not_told(tenant, hooks):
    post = Post(tenant.id, hooks)
    post.say()
    post.listen()
    (later,) = post.say()
    relay(tenant.id)
    assert [delivery.message_id for delivery in post.deliveries()] == [later]


def test_what_rolls_back_is_told_to_nobody(post):
    with tenant_transaction(post.tenant):
        publish([fact()])
        transaction.set_rollback(True)
    assert relay(post.tenant) == (0, [])
    assert post.deliveries() == []


def test_a_message_that_commits_late_is_relayed_though_later_ones_were_before_it(post):
    said, may_end = threading.Event(), threading.Event()

    def late() -> None:
        try:
            with tenant_transaction(post.tenant):
                publish([fact()])
                said.set()
                may_end.wait(60)
        finally:
            connections.close_all()

    thread = threading.Thread(target=late)
    thread.start()
    assert said.wait(60)
    post.say()
    relay(post.tenant)
    assert len(post.deliveries()) == 1
    may_end.set()
    thread.join()
    relay(post.tenant)
    assert len(post.deliveries()) == 2


def test_two_relays_at_once_share_the_work_and_tell_nobody_twice(post, run_together):
    post.listen()
    post.say(3 * BATCH_MAX)
    counts = run_together([lambda: relay(post.tenant)[0]] * 4)
    assert sum(counts) == 3 * BATCH_MAX
    assert post.waiting() == 0
    assert Delivery.everywhere.filter(tenant_id=post.tenant).count() == 6 * BATCH_MAX


def test_a_message_that_another_has_locked_is_left_to_it(post):
    first, second = post.say(2)
    with tenant_transaction(post.tenant):
        Message.objects.select_for_update().get(id=first)
        other = threading.Thread(target=lambda: (relay(post.tenant), connections.close_all()))
        other.start()
        other.join(60)
        assert [delivery.message_id for delivery in post.deliveries()] == [second]
    relay(post.tenant)
    assert len(post.deliveries()) == 2


def test_all_tenants_are_relayed_in_turn_and_each_who_is_told_is_named(make_post):
    posts = [make_post() for _ in range(3)]
    for post in posts:
        post.say(BATCH_MAX + 1)
    named = [(found.tenant_id, found.endpoint_id) for found in relay_all()]
    for post in posts:
        assert named.count((post.tenant, post.id)) == 2
        assert (post.waiting(), len(post.deliveries())) == (0, BATCH_MAX + 1)


def test_what_a_replay_made_first_is_not_made_twice(post):
    (message_id,) = post.say()
    with tenant_transaction(post.tenant):
        Delivery.objects.create(tenant_id=post.tenant, endpoint_id=post.id, message_id=message_id)
    relay(post.tenant)
    assert (post.waiting(), len(post.deliveries())) == (0, 1)


def test_a_relay_and_a_replay_at_once_do_not_deadlock(post, run_together):
    for _ in range(10):
        ids = post.say(100)
        with tenant_transaction(post.tenant):
            now = database_now()
            for place, message_id in enumerate(ids):  # the replay finds them in another order than the relay
                Message.objects.filter(id=message_id).update(occurred_at=now - timedelta(milliseconds=place))
        selection = Selection(since=now - timedelta(milliseconds=100), until=now + timedelta(milliseconds=1))
        replay = begin_replay(tenant_id=post.tenant, endpoint_id=post.id, selection=selection)
        found = run_together([lambda: relay(post.tenant), lambda: carry_on(post.tenant, replay.id)])  # noqa: B023
        assert not [each for each in found if isinstance(each, Exception)], found
        assert set(ids) <= {each.message_id for each in post.deliveries()}
        with tenant_transaction(post.tenant):
            Delivery.objects.all().delete()


@pytest.mark.parametrize("count", [1, 100])
def test_a_batch_takes_seven_statements(post, queries, count):
    post.listen()
    post.say(count)
    relay(post.tenant)
    post.say(count)
    with queries() as seen:
        relay(post.tenant)
    assert seen.count == 7, seen


def test_a_message_costs_no_statement_more_where_somebody_listens(post, queries):
    def statements() -> int:
        with queries() as seen, tenant_transaction(post.tenant):
            publish([fact(), fact()])
        return seen.count

    statements()
    heard = statements()
    disable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    assert heard == statements() == 4
