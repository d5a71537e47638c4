"""The processes beside the web: a worker for each queue, and the loop that asks for the periodic jobs."""

import sys

from holdfast.embedded.supervisor import Program

# one queue a process: a worker that takes from several can lose a job
QUEUES = ("holds", "payments", "watch", "webhooks", "webhooks-slow")


def background_programs() -> list[Program]:
    """Each may die and be restarted at any time: they only speed up what is found without them."""
    workers = [_manage(f"worker of {queue}", "work", queue) for queue in QUEUES]
    return [*workers, _manage("periodic jobs", "run_periodic")]


def _manage(name: str, *words: str) -> Program:
    return Program(name, [sys.executable, "manage.py", *words])
