"""What a method does: its token chooses the outcome of a charge, and the fault."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

# longer than HoldFast waits for an answer, and no thread waits longer
NEVER_SECONDS = 12.0
_SLOW = re.compile(r"tok_slow_([0-9]{1,6})")


class Fault(Enum):
    """How an answer fails to come."""

    ERROR = auto()
    SILENCE = auto()
    RESET = auto()


@dataclass(frozen=True, slots=True)
class Method:
    """`before` strikes before anything is charged, on each send; `after` in place of the answer. The charge takes
    `extra` more than was ordered. The news of it is sent `callbacks` times, `late` or at once."""

    decline_code: str | None = None
    extra: int = 0
    before: Fault | None = None
    after: Fault | None = None
    answer_after_seconds: float = 0.0
    callbacks: int = 1
    late: bool = False


_METHODS: Mapping[str, Method] = {
    "tok_ok": Method(),
    "tok_declined": Method(decline_code="card_declined"),
    "tok_timeout_before_charge": Method(before=Fault.SILENCE),
    "tok_timeout_after_charge": Method(after=Fault.SILENCE),
    "tok_error_500": Method(before=Fault.ERROR),
    "tok_reset_before_charge": Method(before=Fault.RESET),
    "tok_reset_after_charge": Method(after=Fault.RESET),
    "tok_wrong_amount": Method(extra=1),
    "tok_duplicate_callbacks": Method(callbacks=3),
    "tok_late_callback": Method(late=True),
    "tok_no_callback": Method(callbacks=0),
}


def method_of(token: str) -> Method:
    """What the token chooses; one that nobody knows is declined."""
    if slow := _SLOW.fullmatch(token):
        return Method(answer_after_seconds=min(int(slow[1]) / 1000, NEVER_SECONDS))
    return _METHODS.get(token, Method(decline_code="invalid_token"))
