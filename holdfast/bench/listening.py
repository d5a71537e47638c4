"""Somebody who listens: the receiver of a run as the run sees it, in a process of its own."""

import http.client
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import orjson
from django.conf import settings

from holdfast.bench.processes import CantRun, free_port, running, wait_until

ANSWER_WITHIN_SECONDS = 10.0

# the webhook-id, and when it came by the monotonic clock, which all processes of a machine share
type Arrival = tuple[str, float]


@dataclass(frozen=True, slots=True)
class Receiver:
    """`pid` is its process."""

    port: int
    pid: int

    def url(self, path: str) -> str:
        """`path` begins with how it answers: /fast/…, /hang/…, /drip/…."""
        return f"http://127.0.0.1:{self.port}{path}"

    def arrivals(self, path: str) -> list[Arrival]:
        """What came there, in order."""
        return [(webhook_id, at) for webhook_id, at in self._get("/arrivals").get(path, [])]

    def counts(self) -> Mapping[str, int]:
        """How many came to each path."""
        counts: Mapping[str, int] = self._get("/counts")
        return counts

    def has(self, wanted: Mapping[str, int]) -> bool:
        """Whether so many came to each path."""
        counts = self.counts()
        return all(counts.get(path, 0) >= count for path, count in wanted.items())

    def answers(self) -> bool:
        try:
            self.counts()
        except OSError:
            return False
        return True

    def _get(self, path: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_WITHIN_SECONDS)
        try:
            connection.request("GET", path)
            return orjson.loads(connection.getresponse().read())
        finally:
            connection.close()


@contextmanager
def receiving(environment: Mapping[str, str]) -> Iterator[Receiver]:
    """A receiver for as long as the block runs; whoever waits for it then is cut off. Raises CantRun."""
    if not settings.WEBHOOK_LOOPBACK_ALLOWED:
        raise CantRun("webhooks go to this machine in development alone: HOLDFAST_ENV must not be production")
    port = free_port()
    with running([sys.executable, "-m", "holdfast.bench.receiver", str(port)], environment) as process:
        receiver = Receiver(port, process.pid)
        wait_until(receiver.answers, process, "the receiver of webhooks")
        yield receiver
