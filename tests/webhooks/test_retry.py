"""When a delivery is tried again, an endpoint given a rest, told of, and disabled."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.retry import Health, Verdict, breaker_seconds, seconds_until_next_attempt, verdict

NOW = datetime(2027, 1, 1, tzinfo=UTC)
HOUR, DAY = 3600, 86_400
WAITS = [0, 5, 300, 1800, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]
DICE = st.floats(0, 1)


def test_ten_attempts_are_made_and_then_no_more():
    waits = [seconds_until_next_attempt(made, dice=0.5) for made in range(12)]
    assert waits[:10] == pytest.approx(WAITS)
    assert waits[10:] == [None, None]


@given(made=st.integers(0, 9), dice=DICE)
def test_each_wait_is_off_by_a_fifth_at_the_most(made, dice):
    assert 0.799 * WAITS[made] <= seconds_until_next_attempt(made, dice=dice) <= 1.201 * WAITS[made]


@pytest.mark.parametrize("dice", [0, 1])
def test_the_dice_decide_within_that(dice):
    assert seconds_until_next_attempt(2, dice=dice) == pytest.approx((240, 360)[dice])


@pytest.mark.parametrize(
    ("made", "status", "asked", "wait"),
    [
        (1, 429, 60, 60),  # later than the schedule
        (1, 503, 60, 60),
        (3, 429, 60, 1800),  # sooner: the schedule stands
        (1, 429, 10 * DAY, DAY),
        (1, 429, 0, 5),
        (1, 429, None, 5),
        (1, 500, 60, 5),  # of another status it says nothing
        (1, 200, 60, 5),
        (1, None, 60, 5),
        (10, 429, 60, None),  # no attempt more for it
    ],
)
def test_what_the_receiver_asks_for_can_only_make_it_later(made, status, asked, wait):
    found = seconds_until_next_attempt(made, dice=0.5, status_code=status, retry_after_seconds=asked)
    assert found == (None if wait is None else pytest.approx(wait))


def test_the_breaker_stays_open_for_twice_as_long_each_time_and_a_quarter_of_an_hour_at_the_most():
    assert [breaker_seconds(openings) for openings in range(1, 7)] == [60, 120, 240, 480, 900, 900]
    assert breaker_seconds(100_000) == 900


def failed(health: Health, times: int, now: datetime = NOW) -> Health:
    for _ in range(times):
        health = health.after_failure(now)
    return health


def test_it_opens_at_the_fifth_failure_in_a_row():
    assert failed(Health(), 4).breaker_until is None
    opened = failed(Health(), 5)
    assert (opened.breaker_until, opened.breaker_openings) == (NOW + timedelta(seconds=60), 1)


def test_a_success_between_them_begins_the_count_anew():
    health = failed(failed(Health(), 4).after_success(NOW), 4)
    assert (health.failures, health.breaker_until) == (4, None)


def test_what_fails_while_it_is_open_was_sent_before_and_makes_the_rest_no_longer():
    opened = failed(Health(), 5)
    assert failed(opened, 3, NOW + timedelta(seconds=59)) == Health(
        failures=8, failing_since=NOW, breaker_openings=1, breaker_until=opened.breaker_until
    )


def test_the_first_failure_after_the_rest_opens_it_for_twice_as_long():
    later = NOW + timedelta(seconds=60)
    again = failed(failed(Health(), 5), 1, later)
    assert (again.breaker_until, again.breaker_openings) == (later + timedelta(seconds=120), 2)


def test_a_success_forgets_everything():
    assert failed(Health(notices=1), 50).after_success(NOW) == Health(last_success_at=NOW)


@pytest.mark.parametrize(
    ("days", "failures", "notices", "found"),
    [
        (0, 100, 0, Verdict.GO_ON),
        (0.99, 100, 0, Verdict.GO_ON),
        (1, 1, 0, Verdict.GIVE_NOTICE),
        (2.9, 100, 1, Verdict.GO_ON),
        (3, 100, 1, Verdict.GIVE_NOTICE),
        (4.99, 100, 2, Verdict.GO_ON),
        (5, 9, 2, Verdict.GO_ON),
        (5, 10, 2, Verdict.DISABLE),
        (5, 10, 0, Verdict.DISABLE),
    ],
)
def test_after_five_days_and_ten_failures_it_is_disabled_and_told_of_twice_before(days, failures, notices, found):
    health = Health(failures=failures, failing_since=NOW, notices=notices)
    assert verdict(health, NOW + timedelta(days=days)) == found


def test_one_that_does_not_fail_is_left_alone():
    assert verdict(Health(last_success_at=NOW), NOW + timedelta(days=50)) == Verdict.GO_ON
