"""When to try again, when to rest and when to give up. Pure.

A delivery is tried ten times in about three days. An endpoint that fails five times in a row is given a rest by its
breaker, during which nothing is tried and no attempt used up; then one delivery at a time is tried, and where that
fails, too, the next rest is longer. One to which nothing was delivered for five days is disabled; its people are told
before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto

MINUTE_SECONDS, HOUR_SECONDS, DAY_SECONDS = 60, 3600, 86_400
# how long before each attempt: the first is made at once, and there are no others
SCHEDULE_SECONDS: Sequence[int] = (
    0,
    5,
    5 * MINUTE_SECONDS,
    30 * MINUTE_SECONDS,
    *(hours * HOUR_SECONDS for hours in (2, 5, 10, 14, 20, 24)),
)
ATTEMPTS_MAX = len(SCHEDULE_SECONDS)
# so that what failed together does not come back together
JITTER = 0.2
RETRY_AFTER_SECONDS_MAX = DAY_SECONDS
RETRY_AFTER_STATUS_CODES = frozenset({429, 503})

BREAKER_OPENS_AFTER_FAILURES = 5
BREAKER_SECONDS = 60
BREAKER_SECONDS_MAX = 15 * MINUTE_SECONDS

DISABLED_AFTER = timedelta(days=5)
DISABLED_AFTER_FAILURES = 10
NOTICES_AFTER: Sequence[timedelta] = (timedelta(days=1), timedelta(days=3))


def seconds_until_next_attempt(
    attempts_made: int, *, dice: float, status_code: int | None = None, retry_after_seconds: int | None = None
) -> float | None:
    """How long to wait after so many attempts of this schedule failed; None where there are no more.

    `dice` is a random number from 0 to 1. What the receiver asks for by `Retry-After` with 429 or 503 can only make it
    later, and not by more than a day.
    """
    if attempts_made >= ATTEMPTS_MAX:
        return None
    wait = SCHEDULE_SECONDS[attempts_made] * (1 - JITTER + 2 * JITTER * dice)
    if retry_after_seconds is None or status_code not in RETRY_AFTER_STATUS_CODES:
        return wait
    return max(wait, min(retry_after_seconds, RETRY_AFTER_SECONDS_MAX))


def breaker_seconds(openings: int) -> int:
    """How long the breaker stays open when it opens for the first, second, … time in a row."""
    return min(BREAKER_SECONDS << min(openings - 1, 30), BREAKER_SECONDS_MAX)


@dataclass(frozen=True, slots=True)
class Health:
    """How an endpoint has answered lately; the fields of `webhooks.models.Endpoint` by the same names."""

    failures: int = 0
    failing_since: datetime | None = None
    last_success_at: datetime | None = None
    breaker_openings: int = 0
    breaker_until: datetime | None = None
    notices: int = 0

    def after_success(self, now: datetime) -> "Health":
        """All is well: whatever failed before is forgotten."""
        return Health(last_success_at=now)

    def after_failure(self, now: datetime) -> "Health":
        """One more in a row; the breaker opens where that is one too many, and it is not open already: what fails then
        was sent before."""
        failed = replace(self, failures=self.failures + 1, failing_since=self.failing_since or now)
        is_open = self.breaker_until is not None and self.breaker_until > now
        if is_open or failed.failures < BREAKER_OPENS_AFTER_FAILURES:
            return failed
        openings = self.breaker_openings + 1
        until = now + timedelta(seconds=breaker_seconds(openings))
        return replace(failed, breaker_openings=openings, breaker_until=until)

    @property
    def is_doubtful(self) -> bool:
        """Whether one delivery at a time is enough to see if it answers again."""
        return self.failures >= BREAKER_OPENS_AFTER_FAILURES


class Verdict(Enum):
    """What is to be done about an endpoint that fails."""

    GO_ON = auto()
    GIVE_NOTICE = auto()
    DISABLE = auto()


def verdict(health: Health, now: datetime) -> Verdict:
    """After a failure: disable it, tell its people that it will be, or go on."""
    if health.failing_since is None:
        return Verdict.GO_ON
    failing_for = now - health.failing_since
    if failing_for >= DISABLED_AFTER and health.failures >= DISABLED_AFTER_FAILURES:
        return Verdict.DISABLE
    if sum(failing_for >= after for after in NOTICES_AFTER) > health.notices:
        return Verdict.GIVE_NOTICE
    return Verdict.GO_ON
