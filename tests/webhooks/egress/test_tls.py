"""Over https the other end proves to be the host that was named, by TLS that is good enough; or is told nothing."""

import os
import socket
import ssl
import time

import pytest

from tests.webhooks.egress.conftest import BUSY_SECONDS, HOST, SHORT_CONNECT, SHORT_IDLE, SHORT_TOTAL, send_to
from tests.webhooks.egress.listener import Authority, answer
from webhooks.egress import Outcome

pytestmark = pytest.mark.usefixtures("loopback_is_public")


def test_a_host_with_a_certificate_for_its_name_is_sent_to_by_that_name(listen, authority):
    named = []
    tls = authority.server(HOST)
    tls.sni_callback = lambda _, name, __: named.append(name)
    listener = listen(answer(body=b"yes"), tls)
    sent = send_to(listener)
    assert (sent.outcome, sent.response) == (Outcome.DELIVERED, b"yes")
    assert named == [HOST]
    assert f"\r\nHost: {HOST}:{listener.port}\r\n".lower().encode() in listener.requests[0].lower()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_1_2_and_newer_is_good_enough(listen, authority, version):
    tls = authority.server(HOST)
    tls.minimum_version = tls.maximum_version = version
    assert send_to(listen(answer(), tls)).outcome == Outcome.DELIVERED


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1])
def test_tls_older_than_1_2_is_not(listen, authority, version):
    tls = authority.server(HOST)
    tls.set_ciphers("ALL:@SECLEVEL=0")
    tls.minimum_version = tls.maximum_version = version
    listener = listen(answer(), tls)
    assert send_to(listener).outcome == Outcome.TLS_FAILED
    assert listener.requests == []


@pytest.mark.parametrize(
    "certificate",
    [
        {"names": ["other.example.org"]},
        {"names": ["example.org"]},
        {"names": ["*.hooks.example.org"]},
        {"names": ["*.org"]},
        {"names": ["127.0.0.1"]},
        {"names": [], "common_name": HOST},
        {"names": [HOST], "days": (-9, -1)},
        {"names": [HOST], "days": (1, 9)},
    ],
    ids=["another name", "the domain", "one below", "two above", "the address", "no name", "expired", "not yet good"],
)
def test_a_certificate_that_is_not_for_the_host_now_is_refused(listen, authority, certificate):
    listener = listen(answer(), authority.server(*certificate.pop("names"), **certificate))
    assert send_to(listener).outcome == Outcome.TLS_FAILED
    assert listener.requests == []


@pytest.mark.usefixtures("authority")
def test_a_certificate_of_an_authority_that_nobody_knows_is_refused(listen, tmp_path):
    listener = listen(answer(), Authority(tmp_path / "unknown.pem").server(HOST))
    assert send_to(listener).outcome == Outcome.TLS_FAILED
    assert listener.requests == []


@pytest.mark.usefixtures("authority")
@pytest.mark.parametrize("greeting", [answer(), b"SSH-2.0-OpenSSH_9.2\r\n", b""])
def test_a_server_without_tls_is_told_nothing(listen, greeting):
    def greet(connected):
        connected.sendall(greeting)
        first = connected.recv(65_536)
        assert not first or first[0] == 0x16  # a handshake, and nothing of the message

    assert send_to(listen(greet, reads=False)).outcome == Outcome.TLS_FAILED


def test_a_server_that_asks_for_our_certificate_gets_none(listen, authority):
    tls = authority.server(HOST)
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(authority.file)
    listener = listen(answer(), tls)
    assert send_to(listener).outcome == Outcome.TLS_FAILED
    assert listener.requests == []


@pytest.mark.usefixtures("authority")
@pytest.mark.parametrize("pieces", [[], [b"\x16\x03\x03\x3f\xff", *([b"\0"] * 1000)]], ids=["silence", "drip"])
def test_a_handshake_that_takes_long_is_left(listen, pieces):
    listener = listen(b"", reads=False)
    drip = listener.drip(pieces)

    def treat(connected):
        drip(connected)
        listener.stopped.wait(60)

    listener.treat = treat
    began = time.monotonic()
    assert send_to(listener, limits=SHORT_CONNECT).outcome == Outcome.TIMED_OUT
    assert SHORT_CONNECT.connect_seconds <= time.monotonic() - began < BUSY_SECONDS


def test_an_answer_that_drips_within_tls_is_cut_off(listen, authority):
    listener = listen(b"", authority.server(HOST))
    listener.treat = listener.drip([b"HTTP/1.1 200 OK\r\n", *([b"X: y\r\n"] * 1000)])
    began = time.monotonic()
    sent = send_to(listener, limits=SHORT_TOTAL)
    assert (sent.outcome, sent.status_code) == (Outcome.TIMED_OUT, None)
    assert SHORT_TOTAL.total_seconds <= time.monotonic() - began < BUSY_SECONDS


def test_a_record_of_tls_that_drips_is_a_silence(listen, authority):
    listener = listen(b"", authority.server(HOST))

    def treat(connected):
        with socket.socket(fileno=os.dup(connected.fileno())) as beneath:
            listener.drip([b"\x17\x03\x03\x3f\xff", *([b"\0"] * 1000)])(beneath)

    listener.treat = treat
    began = time.monotonic()
    assert send_to(listener, limits=SHORT_IDLE).outcome == Outcome.TIMED_OUT
    assert SHORT_IDLE.idle_seconds <= time.monotonic() - began < BUSY_SECONDS
