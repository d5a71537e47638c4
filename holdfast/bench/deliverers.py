"""The workers that deliver, as `./hold up` has them, and the sweeps that find what they lost."""

import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial

from django.db import connections

from holdfast.bench.processes import CantRun, running, wait_until
from holdfast.kernel.jobs import heartbeat_key, wake_in
from holdfast.kernel.redis_client import redis_client
from holdfast.periodic import PERIODIC
from webhooks.wake import QUEUE, SLOW_QUEUE

SWEEPS = [periodic for periodic in PERIODIC if periodic.queue in (QUEUE, SLOW_QUEUE)]
SWEEP_EVERY_SECONDS = min(sweep.every_seconds for sweep in SWEEPS)


@contextmanager
def deliverers(environment: Mapping[str, str]) -> Iterator[int]:
    """The pid of the worker that serves quick endpoints. Raises CantRun where other workers would take its jobs."""
    keys = {queue: heartbeat_key(queue) for queue in (QUEUE, SLOW_QUEUE)}
    if redis_client().exists(*keys.values()):
        raise CantRun("other workers of webhooks were at work on this Redis within a minute: they would take the jobs")
    with ExitStack() as stack:
        stack.callback(redis_client().delete, *keys.values())  # so that the next run need not wait
        command = [sys.executable, "manage.py", "work"]
        workers = {queue: stack.enter_context(running([*command, queue], environment)) for queue in keys}
        for queue, worker in workers.items():
            wait_until(partial(_is_heard, keys[queue]), worker, f"the worker of {queue}")
        stack.enter_context(_sweeping())
        yield workers[QUEUE].pid


def _is_heard(key: str) -> bool:
    return bool(redis_client().exists(key))


@contextmanager
def _sweeping() -> Iterator[None]:
    """Ask for the sweeps of webhooks. The loop of all periodic jobs would fill queues that nobody works on here."""
    stopped = threading.Event()

    def run() -> None:
        while not stopped.wait(SWEEP_EVERY_SECONDS):
            for sweep in SWEEPS:
                wake_in(0, sweep.queue, sweep.function)
        connections.close_all()  # a wake-up looks for the transaction that it is to wait for

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
