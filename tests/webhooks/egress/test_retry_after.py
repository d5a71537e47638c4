"""`Retry-After` in its two forms, never more than a day, never before now, and nonsense is nothing."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.egress.retry_after import SECONDS_MAX, retry_after_seconds

NOW = datetime(2026, 11, 30, 12, 0, 0, 500_000, UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("120", 120),
        ("86400", 86_400),
        ("86401", 86_400),
        ("99999999999999999999", 86_400),
        pytest.param("9" * 5000, 86_400, id="very many"),
        ("Mon, 30 Nov 2026 12:01:00 GMT", 60),
        ("Monday, 30-Nov-26 12:01:00 GMT", 60),
        ("Mon Nov 30 12:01:00 2026", 60),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0),
        ("Wed, 30 Nov 9999 12:00:00 GMT", 86_400),
    ],
)
def test_seconds_and_dates_are_heard(value, seconds):
    assert retry_after_seconds(value, NOW) == seconds


@pytest.mark.parametrize(
    "value",
    ["", "soon", "-1", "1.5", "1e3", "+5", "\N{ARABIC-INDIC DIGIT FIVE}", "Mon, 99 Nov 2026", "0x5"],
)
def test_nonsense_is_nothing(value):
    assert retry_after_seconds(value, NOW) is None


@given(st.text() | st.from_regex(r"[A-Z][a-z]{2}, [0-9 ]+ [A-Z][a-z]+ [0-9]+ [0-9:]+ ([A-Z]+|[+-][0-9]+)?"))
def test_no_text_breaks_it(value):
    seconds = retry_after_seconds(value, NOW)
    assert seconds is None or 0 <= seconds <= SECONDS_MAX
