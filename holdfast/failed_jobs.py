"""The jobs that failed last, without anything they were given."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rq import Queue
from rq.exceptions import DeserializationError, NoSuchJobError
from rq.job import Job
from rq.serializers import JSONSerializer

FAILED_SHOWN_MAX = 50
ERROR_LENGTH_MAX = 200
# shorter values are no secrets, and stand in too many words
HIDDEN_LENGTH_MIN = 3
_FRAME = re.compile(r"^ +File ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FailedJob:
    """One job that failed: `error` is the last line that its exception said."""

    id: str
    queue: str
    function: str
    failed_at: datetime
    error: str


def latest_failed(queues: Sequence[Queue]) -> list[FailedJob]:
    """The latest FAILED_SHOWN_MAX of all queues, the newest first. Raises RedisError."""
    jobs = [job for queue in queues for job in _newest_of(queue)]
    jobs.sort(key=_failed_at, reverse=True)
    return [_shown(job) for job in jobs[:FAILED_SHOWN_MAX]]


def _newest_of(queue: Queue) -> Iterator[Job]:
    # by the time until which they are kept, which is the same term for all
    for job_id in queue.failed_job_registry.get_job_ids(0, FAILED_SHOWN_MAX - 1, desc=True):
        with suppress(NoSuchJobError):  # it is run again or discarded meanwhile
            yield Job.fetch(job_id, connection=queue.connection, serializer=JSONSerializer)


def _failed_at(job: Job) -> datetime:
    """A job whose worker died has no end."""
    return job.ended_at or job.enqueued_at or job.created_at


def _shown(job: Job) -> FailedJob:
    result = job.latest_result()
    said = (result.exc_string if result else None) or ""
    try:
        function, given = job.func_name or "", [job.args, job.kwargs]
        error = _without(given, last_line(said))
    except DeserializationError:
        # what it was given can't be told from what it said
        function, error = "unreadable", last_line(said).partition(":")[0]
    return FailedJob(job.id, job.origin, function, _failed_at(job), error[:ERROR_LENGTH_MAX])


def last_line(traceback: str) -> str:
    """The line that names the exception, out of a printed traceback: what it adds in further lines may be anything."""
    *_, after = _FRAME.split(traceback)
    lines = [line for line in after.splitlines() if line.strip()]
    ends = [line for line in lines[1:] if not line.startswith(" ")] or lines[-1:]
    return ends[0].strip() if ends else ""


def _without(given: Any, text: str) -> str:
    """The text, with every value that the job was given left out; the longest first, as one may hold another."""
    for value in sorted(_values(given), key=len, reverse=True):
        text = text.replace(value, "…")
    return text


def _values(given: Any) -> Iterator[str]:
    match given:
        case dict():
            for value in given.values():
                yield from _values(value)
        case list() | tuple():
            for value in given:
                yield from _values(value)
        case None | bool():
            return
        case _:
            if len(text := str(given)) >= HIDDEN_LENGTH_MIN:
                yield from (text, repr(text)[1:-1])
