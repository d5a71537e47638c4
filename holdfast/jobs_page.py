"""Background jobs, for platform staff: what waits, what failed and who works, queue by queue.

What a job was given is never shown: arguments and their traces in an error may be somebody's secret.
"""

import time
from collections.abc import Callable
from typing import Any

import structlog
from django.conf import settings
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from redis import RedisError
from rq import Queue
from rq.exceptions import InvalidJobOperation, NoSuchJobError
from rq.job import Job
from rq.registry import FailedJobRegistry
from rq.serializers import JSONSerializer

from holdfast.failed_jobs import latest_failed
from holdfast.kernel.jobs import heartbeat_key
from holdfast.kernel.redis_client import redis_client

logger = structlog.get_logger(__name__)
AWAY = "Redis does not answer. Nothing is lost: what has to be done is in the database, and is found again from there."
GONE = "This job is not among the failed ones any more."


class JobsPages:
    """The views; the site that has them lets only platform staff in."""

    def __init__(self, site: AdminSite) -> None:
        self.site = site

    def show(self, request: HttpRequest) -> HttpResponse:
        context = {**self.site.each_context(request), "title": "Background jobs"}
        try:
            queues = _queues()
            context |= {"queues": [_state(queue) for queue in queues], "failed": latest_failed(queues)}
        except (RedisError, OSError) as error:
            logger.warning("jobs_not_shown", error=type(error).__name__)
            context["away"] = AWAY
        request.current_app = self.site.name
        return TemplateResponse(request, "admin/jobs.html", context)

    def run_again(self, request: HttpRequest) -> HttpResponse:
        return _with_the_job(_run_again, request)

    def discard(self, request: HttpRequest) -> HttpResponse:
        return _with_the_job(_discard, request)


def _run_again(registry: FailedJobRegistry, job_id: str) -> str:
    _refuse_what_has_not_failed(registry, job_id)
    registry.requeue(job_id)
    return "The job waits to be run again."


def _discard(registry: FailedJobRegistry, job_id: str) -> str:
    _refuse_what_has_not_failed(registry, job_id)
    # of two who ask at once, one has it: the other must not delete a job that waits again
    if not registry.remove(job_id):
        raise InvalidJobOperation
    Job.fetch(job_id, connection=registry.connection, serializer=JSONSerializer).delete()
    return "The job was discarded."


def _refuse_what_has_not_failed(registry: FailedJobRegistry, job_id: str) -> None:
    """Raises InvalidJobOperation."""
    if job_id not in registry:
        raise InvalidJobOperation


def _with_the_job(do: Callable[[FailedJobRegistry, str], str], request: HttpRequest) -> HttpResponse:
    """Do it to the failed job that the form names. Raises Http404 for a queue that is unknown."""
    name, job_id = request.POST.get("queue", ""), request.POST.get("job", "")
    try:
        registry = next((queue.failed_job_registry for queue in _queues() if queue.name == name), None)
        if registry is None:
            raise Http404
        messages.success(request, do(registry, job_id))
    except (NoSuchJobError, InvalidJobOperation):
        messages.error(request, GONE)
    except (RedisError, OSError) as error:
        logger.warning("job_left_alone", job=job_id, error=type(error).__name__)
        messages.error(request, AWAY)
    else:
        logger.info("failed_job", did=do.__name__.strip("_"), job=job_id, queue=name, by=request.user.get_username())
    return redirect("admin:jobs")


def _queues() -> list[Queue]:
    """All queues. A person waits, so Redis is asked once and not for long."""
    return [Queue(name, connection=redis_client(), serializer=JSONSerializer) for name in settings.RQ_QUEUES]


def _state(queue: Queue) -> dict[str, Any]:
    """What waits, what failed, and when a worker last told that it lives. Raises RedisError."""
    told = queue.connection.get(heartbeat_key(queue.name))
    return {
        "name": queue.name,
        "waiting": queue.count,
        "failed": queue.failed_job_registry.count,
        "seen_seconds_ago": None if told is None else max(0, round(time.time() - float(told))),
    }
