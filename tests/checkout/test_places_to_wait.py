"""Whoever waits for a place among those who wait for a provider keeps nobody from working."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast.kernel.permits import Permits
from holdfast.kernel.room import Room
from reservations.checkout import waits

PROVIDER_SECONDS = 0.1


@pytest.fixture
def work(monkeypatch):
    """One place to wait, one permit to work."""
    monkeypatch.setattr(waits, "_waiting", Room(1, slow_after_seconds=waits.SLOW_AFTER_SECONDS))
    permits = Permits(1)
    monkeypatch.setattr(waits, "WORK", permits)
    monkeypatch.setattr(waits, "_lane", threading.BoundedSemaphore(1))
    return permits


def test_who_waits_for_a_place_keeps_nobody_from_working(work):
    waiting, arrived = threading.Event(), threading.Event()
    took = {}

    def first():
        with work.at_work(), waits.place_to_wait() as place:
            assert place
            with work.given_back():
                waiting.set()
                assert arrived.wait(60)
                time.sleep(PROVIDER_SECONDS)
                answered = time.monotonic()
            took["first"] = time.monotonic() - answered

    def second():
        assert waiting.wait(60)
        with work.at_work():
            arrived.set()
            with waits.place_to_wait() as place:
                took["place"] = place

    def hold():
        assert arrived.wait(60)
        began = time.monotonic()
        with work.at_work():
            took["hold"] = time.monotonic() - began

    with ThreadPoolExecutor(3) as threads:
        for done in [threads.submit(one) for one in (first, second, hold)]:
            done.result()
    assert took["place"], took  # the place falls free after 0.1 s
    assert took["hold"] < 0.4, took
    assert took["first"] < 0.4, took
