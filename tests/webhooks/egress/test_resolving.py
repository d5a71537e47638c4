"""A name is looked up once; each address it has must be public, and the one that was looked at is connected to."""

import socket
import threading
import time
from dataclasses import replace

import pytest

from tests.support.processes import wait_until
from tests.webhooks.egress.conftest import BODY, BUSY_SECONDS, HOST, PATIENT, send_to
from tests.webhooks.egress.listener import answer, full_server
from webhooks.egress import Outcome, Policy, Sender, connection, on_behalf_of, resolve
from webhooks.egress.policy import Limits

PRODUCTION = Policy({443}, loopback_allowed=False)
URL = f"https://{HOST}/"
PUBLIC = "93.184.215.14"


def finding(*addresses: str):
    """A resolver that finds these for any name."""
    return lambda _: addresses


def send(lookup, limits: Limits = PATIENT):
    return Sender(PRODUCTION, limits, lookup).send(URL, BODY, {})


@pytest.fixture
def connected_to(monkeypatch) -> list[str]:
    """The addresses that would have been connected to; nothing is."""
    asked: list[str] = []

    def refuse(address, port, timeout):
        asked.append(str(address))
        raise ConnectionRefusedError

    monkeypatch.setattr(connection, "_connected", refuse)
    return asked


@pytest.mark.parametrize(
    "found",
    [
        ["127.0.0.1"],
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["100.100.100.200"],
        ["168.63.129.16"],
        ["fd00:ec2::254"],
        ["::ffff:93.184.215.14"],
        ["64:ff9b::5db8:d70e"],
        ["fe80::1%1"],
        [PUBLIC, "10.0.0.1"],
        ["10.0.0.1", PUBLIC],
        [PUBLIC, "2606:4700::1111", "::1"],
        [*(f"93.184.215.{number}" for number in range(100)), "192.168.0.1"],
    ],
)
def test_one_address_that_is_not_public_is_enough_to_refuse(found, connected_to):
    sent = send(finding(*found))
    assert (sent.outcome, sent.status_code) == (Outcome.REFUSED_ADDRESS, None)
    assert connected_to == []


def test_a_name_is_looked_up_once_an_attempt_and_what_was_found_is_connected_to(connected_to):
    asked = []
    answers = iter([[PUBLIC], ["127.0.0.1"], [PUBLIC]])

    def rebinding(name: str) -> list[str]:
        asked.append(name)
        return next(answers)

    assert send(rebinding).outcome == Outcome.CONNECT_FAILED
    assert (asked, connected_to) == ([HOST], [PUBLIC])
    assert send(rebinding).outcome == Outcome.REFUSED_ADDRESS
    assert (asked, connected_to) == ([HOST, HOST], [PUBLIC])


def test_an_address_in_the_url_is_looked_up_nowhere(connected_to):
    def lookup(name: str) -> list[str]:
        pytest.fail("looked up")

    sent = Sender(PRODUCTION, PATIENT, lookup).send(f"https://{PUBLIC}/", BODY, {})
    assert (sent.outcome, connected_to) == (Outcome.CONNECT_FAILED, [PUBLIC])


@pytest.mark.parametrize("found", [[], ["nonsense"], [""], [PUBLIC, "1.2.3"]])
def test_a_name_without_an_address_is_unresolvable(found, connected_to):
    assert send(finding(*found)).outcome == Outcome.UNRESOLVABLE
    assert connected_to == []


def test_a_resolver_that_fails_makes_the_name_unresolvable():
    def failing(name: str) -> list[str]:
        raise socket.gaierror(socket.EAI_AGAIN, "try again")

    assert send(failing).outcome == Outcome.UNRESOLVABLE


def test_a_resolver_that_hangs_is_left_and_many_of_them_fill_no_process(connected_to, monkeypatch):
    monkeypatch.setattr(resolve, "_under_way", resolve.Places(8, 8))
    answers = threading.Event()

    def hanging(name: str) -> list[str]:
        answers.wait(60)
        return [PUBLIC]

    quick = Limits(resolve_seconds=0.05)
    began, before = time.monotonic(), threading.active_count()
    outcomes = {send(hanging, quick).outcome for _ in range(12)}
    assert outcomes == {Outcome.UNRESOLVABLE}
    assert time.monotonic() - began < BUSY_SECONDS
    assert threading.active_count() - before <= 8
    assert send(finding(PUBLIC), quick).outcome == Outcome.UNRESOLVABLE
    answers.set()
    wait_until(lambda: threading.active_count() == before, "the end of the lookups")
    assert send(finding(PUBLIC)).outcome == Outcome.CONNECT_FAILED
    assert connected_to == [PUBLIC]


def test_names_of_one_sender_that_hang_leave_others_resolvable(connected_to, monkeypatch):
    monkeypatch.setattr(resolve, "_under_way", resolve.Places(8, 4))
    answers = threading.Event()

    def hanging(name: str) -> list[str]:
        answers.wait(60)
        return [PUBLIC]

    quick, before = Limits(resolve_seconds=0.05), threading.active_count()
    with on_behalf_of("one"):
        assert {send(hanging, quick).outcome for _ in range(6)} == {Outcome.UNRESOLVABLE}
        assert threading.active_count() - before == 4
        assert send(finding(PUBLIC), quick).outcome == Outcome.UNRESOLVABLE
    with on_behalf_of("another"):
        assert send(finding(PUBLIC)).outcome == Outcome.CONNECT_FAILED
    answers.set()
    wait_until(lambda: threading.active_count() == before, "the end of the lookups")
    with on_behalf_of("one"):
        assert send(finding(PUBLIC)).outcome == Outcome.CONNECT_FAILED
    assert connected_to == [PUBLIC] * 2


def test_the_systems_resolver_is_asked_for_the_full_name_alone(monkeypatch):
    asked = []

    def getaddrinfo(*args, **options):
        asked.append(args[0])
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (PUBLIC, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert resolve.system_lookup(HOST) == [PUBLIC]
    assert asked == [b"hooks.example.org."]


@pytest.mark.usefixtures("loopback_is_public")
def test_the_next_address_is_tried_where_one_does_not_answer(listen, authority):
    listener = listen(answer(), authority.server(HOST))
    assert send_to(listener, found=["127.0.0.2", "::1", "127.0.0.1"]).outcome == Outcome.DELIVERED


@pytest.mark.usefixtures("loopback_is_public")
def test_an_address_that_is_silent_leaves_time_for_the_next(listen, authority):
    listener = listen(answer(), authority.server(HOST))
    with full_server("127.0.0.2", listener.port):
        sent = send_to(listener, found=["127.0.0.2", "127.0.0.1"], limits=replace(PATIENT, connect_seconds=2))
    assert sent.outcome == Outcome.DELIVERED
    assert 1000 <= sent.duration_ms < 2000


def test_a_name_with_many_addresses_is_not_tried_at_all_of_them(connected_to):
    found = [f"93.184.215.{number}" for number in range(100)]
    assert send(finding(*found)).outcome == Outcome.CONNECT_FAILED
    assert connected_to == found[: connection.ADDRESSES_TRIED_MAX]


@pytest.mark.usefixtures("loopback_is_public")
def test_whoever_answers_at_another_address_is_told_nothing(listen, authority, monkeypatch):
    class Diverted(socket.socket):
        def getpeername(self):
            return ("10.0.0.1", 443)

    listener = listen(answer(), authority.server(HOST))
    monkeypatch.setattr(connection, "socket", Diverted)
    assert send_to(listener).outcome == Outcome.REFUSED_ADDRESS
    assert listener.requests == []


def test_the_address_is_what_is_given_to_the_socket(monkeypatch):
    asked = []

    class Recording(socket.socket):
        def connect(self, place):
            asked.append(place)
            raise ConnectionRefusedError

    monkeypatch.setattr(connection, "socket", Recording)
    assert send(finding(PUBLIC)).outcome == Outcome.CONNECT_FAILED
    assert asked == [(PUBLIC, 443)]
