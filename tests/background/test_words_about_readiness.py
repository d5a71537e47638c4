"""A probe asks every few seconds: the log hears that a part fails, and that it answers again; not each answer."""

import logging

import pytest
from django.conf import settings

from holdfast.observability import health
from holdfast.observability.logging import is_news


@pytest.fixture
def words(caplog):
    """Of this module alone: threads of other tests may have something to say as well."""
    caplog.set_level(logging.WARNING)

    def said():
        ours = [record.msg for record in caplog.records if record.name == health.__name__]
        return [(words["event"], words["part"]) for words in ours]

    return said


def test_a_part_that_fails_is_told_of_once_and_again_when_it_is_well(database_name, api, words, monkeypatch):
    monkeypatch.setattr(health, "_told", set())  # other tests have it fail as well
    good = settings.REDIS_URL
    monkeypatch.setattr(settings, "REDIS_URL", "unix:///nowhere/redis.sock")
    for _ in range(3):
        assert b"redis: failing" in api(None).get("/readyz").content
    assert sorted(words()) == [("not_ready", "redis"), ("not_ready", "workers")]
    monkeypatch.setattr(settings, "REDIS_URL", good)
    for _ in range(2):
        assert b"redis: ok" in api(None).get("/readyz").content
    assert sorted(words()[2:]) == [("answers_again", "redis"), ("answers_again", "workers")]


@pytest.mark.parametrize(("status", "news"), [(503, False), (500, True)])
def test_an_answer_that_was_given_on_purpose_is_no_news(status, news):
    record = logging.makeLogRecord({"name": "django.request", "status_code": status})
    assert is_news(record) is news
