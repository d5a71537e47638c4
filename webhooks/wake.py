"""Have workers look at what is due. What is missed now is found within seconds by the sweep.

Messages are written by the hundred each second, so the path that writes them pays for no call to Redis: it only raises
a flag, and one thread of the process asks for the relay, at most four times a second.
"""

import threading
import time
from uuid import UUID

from holdfast.kernel.jobs import wake_once

QUEUE, SLOW_QUEUE = "webhooks", "webhooks-slow"
RELAY, DELIVER, REPLAY = "webhooks.jobs.relay", "webhooks.jobs.deliver", "webhooks.jobs.replay"
PAUSE_SECONDS = 0.25


def wake_relay() -> None:
    """Relay what was committed by now. Costs its caller next to nothing."""
    _caller.call()


def wake_deliverers(tenant_id: UUID, endpoint_id: UUID, *, is_slow: bool) -> None:
    """Deliver what is due to this endpoint: one job an endpoint, however often it is asked for."""
    wake_once(queue_of(is_slow=is_slow), DELIVER, str(tenant_id), str(endpoint_id), is_slow)


def queue_of(*, is_slow: bool) -> str:
    """The queue that serves such endpoints: one that takes its time must keep none of the others waiting."""
    return SLOW_QUEUE if is_slow else QUEUE


class _Caller:
    """Calls made while it waits are one call; the last of them is never lost."""

    def __init__(self) -> None:
        self._called = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def call(self) -> None:
        self._called.set()
        if self._thread is None or not self._thread.is_alive():  # there is none after a fork, either
            self._start()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="wake relay", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            self._called.wait()
            self._called.clear()
            wake_once(QUEUE, RELAY)
            time.sleep(PAUSE_SECONDS)


_caller = _Caller()
