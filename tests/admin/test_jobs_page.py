"""Background jobs: for platform staff alone, with no secrets, and there even when Redis is not."""

import secrets
import time

import pytest
from django.apps import apps
from redis import Redis
from rq import Queue, SimpleWorker
from rq.serializers import JSONSerializer

from holdfast.failed_jobs import FAILED_SHOWN_MAX, last_line
from holdfast.kernel.jobs import heartbeat_key
from tenants.models import User
from tests.admin.conftest import browser_of, page, said

ADDRESSES = ("jobs", "jobs_run_again", "jobs_discard")
SECRET = "whsec_bm9ib2R5IHNoYWxsIHNlZSB0aGlz"


def fail(*args, **kwargs) -> None:
    """A job that says in its error what it was given."""
    raise ValueError(f"bad: {args} {kwargs}\nDETAIL: in full {args}")


@pytest.fixture
def queue(settings, database_name):
    """A queue of this test alone."""
    name = f"test-{secrets.token_hex(6)}"
    settings.RQ_QUEUES = {name: settings.RQ_QUEUES["holds"]}
    with Redis.from_url(settings.REDIS_URL) as connection:
        made = Queue(name, connection=connection, serializer=JSONSerializer)
        yield made
        for job_id in made.failed_job_registry.get_job_ids():
            made.failed_job_registry.remove(job_id, delete_job=True)
        made.delete(delete_jobs=True)
        connection.delete(heartbeat_key(name))


@pytest.fixture
def failed(queue):
    """`failed(SECRET, token=SECRET)`: a job that was given that and has failed."""

    def make(*args, **kwargs):
        job = queue.enqueue("tests.admin.test_jobs_page.fail", args=args, kwargs=kwargs, failure_ttl=600)
        SimpleWorker([queue], connection=queue.connection, serializer=JSONSerializer).work(burst=True)
        return job

    return make


@pytest.fixture
def staff(tenant):
    return browser_of(User.objects.create_superuser(f"root-{secrets.token_hex(6)}", password="a long password"))


def form(queue, job) -> dict[str, str]:
    return {"queue": queue.name, "job": job.id}


@pytest.mark.parametrize("role", ["owner", "manager", "support", "scanner", "viewer"])
def test_for_organizers_it_does_not_exist(role, tenant, make_member, failed, queue):
    job = failed()
    user = make_member(tenant, role).user
    user.is_staff = True
    user.save()
    browser = browser_of(user)
    for name in ADDRESSES:
        assert browser.get(page(name)).status_code == 404
        assert browser.post(page(name), form(queue, job)).status_code == 404
    assert job.id in queue.failed_job_registry
    assert page("jobs") not in browser.get(page("index"), follow=True).content.decode()


def test_who_is_not_logged_in_is_asked_to(client, queue):
    for name in ADDRESSES:
        assert client.post(page(name))["Location"].startswith("/admin/login/")


def test_staff_find_it_in_the_sidebar(staff, queue):
    assert f'href="{page("jobs")}"' in staff.get(page("index"), follow=True).content.decode()


def test_it_tells_what_waits_what_failed_and_who_works(staff, queue, failed):
    failed()
    queue.enqueue("tests.admin.test_jobs_page.fail")
    text = staff.get(page("jobs")).content.decode()
    assert "none lately" in text
    queue.connection.set(heartbeat_key(queue.name), time.time() - 7)
    shown = staff.get(page("jobs"))
    (state,) = shown.context["queues"]
    assert (state["name"], state["waiting"], state["failed"]) == (queue.name, 1, 1)
    assert 7 <= state["seen_seconds_ago"] <= 9
    assert f"{state['seen_seconds_ago']} s ago" in shown.content.decode()


def test_a_failed_job_is_shown_without_what_it_was_given(staff, failed):
    failed(SECRET, {"deep": [SECRET[::-1], 987654]}, token=f"{SECRET}'\n")
    text = staff.get(page("jobs")).content.decode()
    assert "tests.admin.test_jobs_page.fail" in text
    assert "ValueError: bad: (" in text
    for secret in (SECRET, SECRET[::-1], "987654", "DETAIL"):
        assert secret not in text


def test_the_latest_are_shown_the_newest_first(staff, failed, queue):
    jobs = [failed() for _ in range(FAILED_SHOWN_MAX + 2)]
    shown = staff.get(page("jobs")).context
    assert shown["queues"][0]["failed"] == FAILED_SHOWN_MAX + 2
    assert len(shown["failed"]) == FAILED_SHOWN_MAX
    times = [job.failed_at for job in shown["failed"]]
    assert times == sorted(times, reverse=True)
    assert {job.id for job in shown["failed"]} <= {job.id for job in jobs}


def test_a_job_that_can_not_be_read_is_shown_as_that(staff, failed, queue):
    job = failed(SECRET)
    queue.connection.hset(job.key, "data", b"\x80nonsense")
    (shown,) = staff.get(page("jobs")).context["failed"]
    assert (shown.function, shown.error) == ("unreadable", "ValueError")


def test_run_again_puts_it_back_and_discard_ends_it(staff, failed, queue):
    again, gone = failed(), failed()
    assert "waits to be run again" in said(staff.post(page("jobs_run_again"), form(queue, again)))
    assert (queue.job_ids, queue.failed_job_registry.get_job_ids()) == ([again.id], [gone.id])
    assert "was discarded" in said(staff.post(page("jobs_discard"), form(queue, gone)))
    assert queue.failed_job_registry.count == 0
    assert not queue.connection.exists(gone.key)


def test_what_has_not_failed_is_left_alone(staff, failed, queue):
    waiting = queue.enqueue("tests.admin.test_jobs_page.fail")
    for name in ADDRESSES[1:]:
        for job_id in (waiting.id, "unknown", "", "a:b"):
            answer = staff.post(page(name), {"queue": queue.name, "job": job_id})
            assert (answer.status_code, "not among the failed ones" in said(answer)) == (302, True), job_id
            staff.cookies.pop("messages", None)
    assert queue.job_ids == [waiting.id]


def test_only_by_post_and_only_for_queues_that_are(staff, failed, queue):
    job = failed()
    for name in ADDRESSES[1:]:
        assert staff.get(page(name), form(queue, job)).status_code == 405
        assert staff.post(page(name), {"queue": "default", "job": job.id}).status_code == 404
    assert job.id in queue.failed_job_registry


def test_a_form_without_its_token_does_nothing(staff, failed, queue):
    job = failed()
    staff.handler.enforce_csrf_checks = True
    assert staff.post(page("jobs_discard"), form(queue, job)).status_code == 403
    assert job.id in queue.failed_job_registry


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "unix:///nowhere/redis.sock"])
def test_without_redis_it_says_so_at_once(url, staff, queue, settings):
    settings.REDIS_URL = url
    began = time.monotonic()
    shown = staff.get(page("jobs"))
    assert (shown.status_code, "Redis does not answer" in shown.content.decode()) == (200, True)
    for name in ADDRESSES[1:]:
        answer = staff.post(page(name), {"queue": queue.name, "job": "x"})
        assert (answer.status_code, "Redis does not answer" in said(answer)) == (302, True)
    assert time.monotonic() - began < 20


def test_the_line_of_an_exception_is_found_in_what_was_printed():
    frames = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n    ~^^\n'
    assert last_line(f"{frames}KeyError: 'x'\n") == "KeyError: 'x'"
    assert last_line(f"{frames}A: 1\n\nDuring handling of it:\n\n{frames}b.C: 2\nDETAIL:  (k)=(v)\n") == "b.C: 2"
    assert last_line("Moved to FailedJobRegistry, due to AbandonedJobError\n") == (
        "Moved to FailedJobRegistry, due to AbandonedJobError"
    )
    assert last_line("") == ""


def test_the_queues_own_pages_are_nowhere(staff):
    assert not apps.is_installed("django_rq")
    for path in ("/django-rq/", "/rq/", "/admin/django_rq/", "/admin/django_rq/queue/", "/admin/rq/", "/admin/queues/"):
        assert staff.get(path).status_code == 404, path
