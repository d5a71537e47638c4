"""What may be sent to, and how long and how much of an answer is waited for."""

import time
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """https to public addresses at these ports; where `loopback_allowed` (development), http to loopback at any."""

    ports: Collection[int]
    loopback_allowed: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one attempt. `connect_seconds` is for TCP and TLS together, `idle_seconds` for the next byte."""

    resolve_seconds: float = 3.0
    connect_seconds: float = 5.0
    idle_seconds: float = 10.0
    total_seconds: float = 15.0
    answer_bytes_max: int = 64 * 1024
    kept_bytes_max: int = 4 * 1024


class Deadline:
    """A moment on the monotonic clock. Each wait asks for what is left, so that many short waits are no long one."""

    def __init__(self, seconds: float) -> None:
        self._ends_at = time.monotonic() + seconds

    def left(self, at_most: float = float("inf")) -> float:
        """Seconds to wait. Raises TimeoutError where none are left."""
        left = min(at_most, self._ends_at - time.monotonic())
        if left <= 0:
            raise TimeoutError
        return left
