"""One attempt to deliver, in three steps: claim, send, record. Whoever dies between two of them leaves a lease that
runs out, and the delivery is sent again: receivers are told at least once.

Claiming and recording are short transactions; the request in between is made outside of any.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
import structlog
from django.db import OperationalError, connection, transaction
from django.db.models import Count, F, Q

from holdfast.kernel.clock import Now
from holdfast.kernel.db.errors import LOCK_NOT_AVAILABLE, sqlstate
from holdfast.kernel.encryption import CannotDecrypt
from tenants.scope import tenant_transaction
from webhooks import egress
from webhooks.egress import Answer, Outcome
from webhooks.health import note_outcomes, note_unsigned
from webhooks.locks import claims_name, lock_endpoint_at_work, lock_endpoint_of_answer
from webhooks.models import LOST, Attempt, Delivery, DeliveryStatus, Endpoint
from webhooks.queries.feed import message_json
from webhooks.retry import ATTEMPTS_MAX, BREAKER_OPENS_AFTER_FAILURES, seconds_until_next_attempt
from webhooks.signing import blanked, signed_headers
from webhooks.signing_secrets import signing_secrets

logger = structlog.get_logger(__name__)
IN_FLIGHT_MAX = 4
IN_FLIGHT_OF_TENANT_MAX = 16
# slow endpoints leave some of those to the others
IN_FLIGHT_BEFORE_SLOW_MAX = 12
# longer than a request may take, so that nobody takes over from one who waits for its answer
LEASE_SECONDS = 60
# whoever claims or records has others to serve, and comes back to an endpoint that is locked for longer
LOCK_TIMEOUT_MS = 100
USER_AGENT = "HoldFast"
# in flight: its lease has not run out
CLAIMED = Q(claimed_at__isnull=False, look_at__gt=Now())

Send = Callable[[str, bytes, Mapping[str, str]], Answer]


class SendInTransaction(RuntimeError):
    """A fault of ours: a transaction, and with it locked rows, would have waited for somebody else's server."""


class EndpointTaken(RuntimeError):
    """Another transaction has locked the endpoint, and did not end while this one waited."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery that is the caller's to send, until the lease runs out (`lease_ends_at` on this process's monotonic
    clock) and another takes it with the next fence."""

    tenant_id: UUID
    endpoint_id: UUID
    delivery_id: UUID
    fence: int
    url: str
    body: bytes
    headers: Mapping[str, str]
    lease_ends_at: float


type Answered = tuple[Claimed, Answer]


def claim(*, tenant_id: UUID, endpoint_id: UUID, count_max: int, is_slow: bool) -> list[Claimed]:
    """Take due deliveries of the endpoint, the longest due first, as many as may be in flight. There are none where it
    is deleted, disabled, given a rest, or served by the other queue. Where nobody can sign for it that is a failure of
    the endpoint, and of no delivery.

    Raises NameTaken where others claim for this tenant for too long, and EndpointTaken.
    """
    with tenant_transaction(tenant_id, names=[claims_name(tenant_id)]), _short_of_patience():
        endpoint = lock_endpoint_at_work(endpoint_id, is_slow=is_slow)
        count = min(count_max, _room(endpoint)) if endpoint else 0
        if endpoint is None or count <= 0:
            return []
        # a statement of its own, after the lock: it sees what another has claimed meanwhile
        taken = _due(endpoint, count)
        if not taken:
            return []
        now: datetime = taken[0].now
        try:
            secrets = signing_secrets(endpoint, now)
        except CannotDecrypt:
            logger.exception("nobody_can_sign", tenant=str(tenant_id), endpoint=str(endpoint_id))
            note_unsigned(endpoint, now)
            return []
        _note_the_lost(taken, now)
        taken = [delivery for delivery in taken if not _is_spent(delivery)]
        Delivery.objects.filter(id__in=[delivery.id for delivery in taken]).update(
            claimed_at=now,
            look_at=now + timedelta(seconds=LEASE_SECONDS),
            fence=F("fence") + 1,
            attempts_made=F("attempts_made") + 1,
        )
        return [_claimed(endpoint, delivery, secrets) for delivery in taken]


def send(claimed: Claimed, by: Send = egress.send) -> Answer:
    """Make the request. Raises SendInTransaction."""
    if transaction.get_connection().in_atomic_block:
        raise SendInTransaction(claimed.url)
    with egress.on_behalf_of(str(claimed.tenant_id)):
        return by(claimed.url, claimed.body, claimed.headers)


def record(endpoint_id: UUID, answers: Sequence[Answered]) -> int:
    """Write down what came of these, all of one endpoint; how many of them are the caller's to say. The others another
    has taken over, whose word it is then. Raises EndpointTaken."""
    tenant_id = answers[0][0].tenant_id
    with tenant_transaction(tenant_id), _short_of_patience():
        endpoint = lock_endpoint_of_answer(endpoint_id)
        claimed = Delivery.objects.filter(id__in=[one.delivery_id for one, _ in answers], claimed_at__isnull=False)
        found = {delivery.id: delivery for delivery in claimed.annotate(now=Now())}
        mine = [
            (one, delivery, answer)
            for one, answer in answers
            if (delivery := found.get(one.delivery_id)) is not None and delivery.fence == one.fence
        ]
        if len(mine) < len(answers):
            logger.warning("answers_came_too_late", endpoint=str(endpoint_id), count=len(answers) - len(mine))
        if endpoint is None or not mine:
            return 0
        now: datetime = mine[0][1].now
        Attempt.objects.bulk_create(_attempt(*each) for each in mine)
        _settle(endpoint, mine, now)
        # what the URL it had before has answered says nothing of how it does
        note_outcomes(endpoint, [answer for one, _, answer in mine if one.url == endpoint.url], now)
        return len(mine)


def readable(response: bytes) -> str:
    """As text that any database and page can hold; what is no text is shown by its bytes."""
    return response.decode("utf-8", "backslashreplace").replace("\0", "\\x00")


@contextmanager
def _short_of_patience() -> Iterator[None]:
    """Wait for rows no longer than who serves many endpoints may for one. In a transaction, to its end."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{LOCK_TIMEOUT_MS}ms"])
    try:
        yield
    except OperationalError as error:
        if sqlstate(error) == LOCK_NOT_AVAILABLE:
            raise EndpointTaken from error
        raise


def has_no_room(*, is_slow: bool) -> Q:
    """Endpoints of this queue that a claim finds with as much in flight as may be; read across tenants."""
    in_flight = Delivery.everywhere.filter(CLAIMED)

    def with_at_least(count_min: int, of: str) -> Any:
        return in_flight.values(of).annotate(count=Count("id")).filter(count__gte=count_min).values(of)

    return (
        Q(tenant_id__in=with_at_least(_in_flight_of_tenant_max(is_slow=is_slow), "tenant_id"))
        | Q(id__in=with_at_least(IN_FLIGHT_MAX, "endpoint_id"))
        | Q(id__in=with_at_least(1, "endpoint_id"), failures__gte=BREAKER_OPENS_AFTER_FAILURES)
    )


def _in_flight_of_tenant_max(*, is_slow: bool) -> int:
    return IN_FLIGHT_BEFORE_SLOW_MAX if is_slow else IN_FLIGHT_OF_TENANT_MAX


def _room(endpoint: Endpoint) -> int:
    """How many more of its deliveries may be in flight."""
    counts = Delivery.objects.filter(CLAIMED).aggregate(
        of_tenant=Count("id"), of_endpoint=Count("id", filter=Q(endpoint=endpoint))
    )
    in_flight_max = 1 if endpoint.health.is_doubtful else IN_FLIGHT_MAX
    of_tenant_max = _in_flight_of_tenant_max(is_slow=endpoint.is_slow)
    room: int = min(in_flight_max - counts["of_endpoint"], of_tenant_max - counts["of_tenant"])
    return room


def _due(endpoint: Endpoint, count_max: int) -> list[Any]:
    """The longest due first. At the end of a rest, when a single one is tried, first what is due since then: so that is
    the ping or the retried delivery for which a person ended it, and none of the backlog."""
    due = Delivery.objects.filter(endpoint=endpoint, look_at__lte=Now()).order_by("look_at")
    due = due.select_related("message").annotate(now=Now())
    since_rest = due.filter(look_at__gte=endpoint.breaker_until) if endpoint.breaker_until else due.none()
    return list(since_rest[:count_max]) or list(due[:count_max])


def _attempt(claimed: Claimed, delivery: Any, answer: Answer) -> Attempt:
    return Attempt(
        tenant_id=delivery.tenant_id,
        delivery=delivery,
        at=delivery.claimed_at,
        duration_ms=answer.duration_ms,
        outcome=answer.outcome,
        status_code=answer.status_code,
        response=blanked(readable(answer.response), claimed.headers["webhook-signature"]),
    )


def _settle(endpoint: Endpoint, mine: Sequence[tuple[Claimed, Any, Answer]], now: datetime) -> None:
    """What becomes of each; those that were delivered in one statement. One that the URL of before is gone for goes to
    the new one."""
    delivered = [delivery.id for _, delivery, answer in mine if answer.outcome == Outcome.DELIVERED]
    if delivered:
        Delivery.objects.filter(id__in=delivered).update(
            status=DeliveryStatus.DELIVERED, look_at=None, claimed_at=None, settled_at=now
        )
    for one, delivery, answer in mine:
        if answer.outcome != Outcome.DELIVERED:
            is_gone = answer.outcome == Outcome.GONE and one.url == endpoint.url
            what_follows = _after_failure(delivery, answer, now, is_gone=is_gone)
            Delivery.objects.filter(id=delivery.id).update(claimed_at=None, **what_follows)


def _is_spent(delivery: Delivery) -> bool:
    return delivery.attempts_made - delivery.attempts_before >= ATTEMPTS_MAX


def _note_the_lost(taken: Sequence[Delivery], now: datetime) -> None:
    """An attempt whose end nobody wrote down is in the log, too: the receiver may have had it. After the last one the
    delivery is dead, so that one which kills whoever sends it does not go on for ever."""
    spent = [delivery.id for delivery in taken if _is_spent(delivery)]
    if spent:
        Delivery.objects.filter(id__in=spent).update(
            status=DeliveryStatus.DEAD, look_at=None, claimed_at=None, settled_at=now
        )
    Attempt.objects.bulk_create(
        Attempt(tenant_id=delivery.tenant_id, delivery=delivery, at=delivery.claimed_at, outcome=LOST)
        for delivery in taken
        if delivery.claimed_at is not None
    )


def _claimed(endpoint: Endpoint, delivery: Any, secrets: Sequence[str]) -> Claimed:
    """Signed as it is claimed: each attempt has a time of its own, and the bytes stay the same."""
    body = orjson.dumps(message_json(delivery.message))
    headers = signed_headers(str(delivery.message_id), int(delivery.now.timestamp()), body, secrets)
    return Claimed(
        tenant_id=delivery.tenant_id,
        endpoint_id=endpoint.id,
        delivery_id=delivery.id,
        fence=delivery.fence + 1,
        url=endpoint.url,
        body=body,
        headers={"content-type": "application/json", "user-agent": USER_AGENT, **headers},
        lease_ends_at=time.monotonic() + LEASE_SECONDS,
    )


def _after_failure(delivery: Delivery, answer: Answer, now: datetime, *, is_gone: bool) -> dict[str, Any]:
    """When it is tried again, or that it is dead."""
    wait = seconds_until_next_attempt(
        delivery.attempts_made - delivery.attempts_before,
        dice=random.random(),  # noqa: S311 - spreads load; guards nothing
        status_code=answer.status_code,
        retry_after_seconds=answer.retry_after_seconds,
    )
    if wait is None or is_gone:
        return {"status": DeliveryStatus.DEAD, "look_at": None, "settled_at": now}
    return {"look_at": now + timedelta(seconds=wait)}
