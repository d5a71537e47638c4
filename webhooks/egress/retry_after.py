"""What a receiver asks for by `Retry-After` (RFC 9110, 10.2.3): seconds, or a date. Pure."""

import math
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

SECONDS_MAX = 24 * 3600


def retry_after_seconds(value: str, now: datetime) -> int | None:
    """From now, at least 0 and at most a day; None for what is neither seconds nor a date."""
    if re.fullmatch(r"[0-9]+", value, re.ASCII):
        # longer than any day is; Python reads no number of thousands of digits
        return min(int(value[:20]), SECONDS_MAX)
    try:
        until = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    seconds = (until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds()
    return min(max(math.ceil(seconds), 0), SECONDS_MAX)
