"""What `/metrics` tells of messages on their way."""

from collections.abc import Callable

import pytest

from tests.webhooks.post import FAILED, OK
from webhooks.egress import Answer
from webhooks.metrics import webhook_metrics
from webhooks.models import Endpoint
from webhooks.operations.endpoints import delete_endpoint, disable_endpoint
from webhooks.relay import relay

A_YEAR_SECONDS = 365 * 24 * 3600


@pytest.fixture
def told() -> Callable[..., float]:
    def read(name: str, **labels: str) -> float:
        families = {family.name: family for family in webhook_metrics()}
        return next(each.value for each in families[f"holdfast_{name}"].samples if each.labels == labels)

    return read


def test_a_message_is_counted_until_it_is_relayed_and_its_delivery_until_it_has_ended(post, told):
    waiting, backlog = told("messages_to_relay"), told("webhook_backlog", queue="webhooks")
    post.say(3)
    assert told("messages_to_relay") == waiting + 3
    relay(post.tenant)
    assert told("messages_to_relay") == waiting
    assert told("webhook_backlog", queue="webhooks") == backlog + 3
    post.answer(OK)
    assert told("webhook_backlog", queue="webhooks") == backlog


def test_a_slow_endpoints_backlog_is_the_other_queues(post, told):
    quick, slow = (told("webhook_backlog", queue=name) for name in ("webhooks", "webhooks-slow"))
    post.tell(2)
    post.answer(Answer("timed_out", None, None, b"", 10_000), count=1)
    assert told("webhook_backlog", queue="webhooks") == quick
    assert told("webhook_backlog", queue="webhooks-slow") == slow + 2


def test_the_lag_is_that_of_the_oldest_that_nothing_holds_back(post, told, shift_clock):
    for other in Endpoint.everywhere.filter(deleted_at=None).exclude(id=post.id):  # other tests left them
        disable_endpoint(tenant_id=other.tenant_id, endpoint_id=other.id)
    assert told("webhook_lag_seconds", queue="webhooks") == 0
    post.tell(9)
    shift_clock(100)
    assert 100 <= told("webhook_lag_seconds", queue="webhooks") < 110
    for _ in range(5):
        post.answer(FAILED, count=1)
    assert told("resting_endpoints") >= 1
    assert told("webhook_lag_seconds", queue="webhooks") == 0


def test_attempts_are_counted_by_their_outcome_for_five_minutes(post, told, shift_clock):
    shift_clock(A_YEAR_SECONDS)  # what other tests left is older, though their clocks were ahead
    assert [told("webhook_attempts", outcome=each) for each in ("delivered", "rejected", "lost")] == [0, 0, 0]
    post.tell(3)
    post.answer(OK, count=2)
    post.answer(FAILED)
    assert [told("webhook_attempts", outcome=each) for each in ("delivered", "rejected", "lost")] == [2, 1, 0]
    shift_clock(301)
    assert told("webhook_attempts", outcome="delivered") == 0


@pytest.mark.parametrize("end", [disable_endpoint, delete_endpoint])
def test_what_waits_for_a_disabled_endpoint_is_nobodys_backlog(post, told, end):
    backlog, failing = told("webhook_backlog", queue="webhooks"), told("failing_endpoints")
    post.tell(2)
    post.answer(FAILED, count=1)
    assert told("failing_endpoints") == failing + 1
    end(tenant_id=post.tenant, endpoint_id=post.id)
    assert (told("webhook_backlog", queue="webhooks"), told("failing_endpoints")) == (backlog, failing)
