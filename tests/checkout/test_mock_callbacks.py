"""What the mock provider sends: signed, at least once, however long nobody takes it; and what the adapter believes."""

import socket
import time

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reservations.checkout.mock import MockProvider
from reservations.checkout.mock_signature import AGE_SECONDS_MAX, HEADER, callback_secrets, sign
from reservations.checkout.provider import BadSignature, CallbackNews, ChargeOrder, RefundOrder
from tests.support.processes import wait_until
from tests.support.psp import LATE_CALLBACK_SECONDS, mock_psp
from tests.support.receiver import receiver
from tests.support.web import free_port

ACCOUNT = "account"
NAME = HEADER.lower()
BODY = b'{"id":"mev_1","type":"charge.succeeded","reference":"hf-1"}'
NEWS = CallbackNews("mev_1", "charge.succeeded", "hf-1")


def order(key, token, url):
    return ChargeOrder(key, 2500, "EUR", token, url)


@pytest.mark.parametrize(("token", "kind"), [("tok_ok", "charge.succeeded"), ("tok_declined", "charge.declined")])
def test_a_charge_is_told_of_once(provider, receiving, key, token, kind):
    provider.charge(order(key, token, receiving.url))
    (sent,) = receiving.wait_for(key)

    news = provider.verify_callback(sent.body, sent.headers)
    assert (news.kind, news.reference) == (kind, key)
    assert sent.path == "/v1/payments/callbacks/mock/account"


def test_a_charge_that_is_sent_again_is_not_told_of_again(provider, receiving, key):
    for _ in range(3):
        provider.charge(order(key, "tok_ok", receiving.url))
    provider.charge(order(f"{key}-later", "tok_ok", receiving.url))
    receiving.wait_for(f"{key}-later")
    assert len(receiving.wait_for(key)) == 1


def test_a_refund_is_told_of_by_its_own_key(provider, receiving, key):
    charge = provider.charge(order(key, "tok_ok", receiving.url))
    for number, amount in enumerate((2000, 2000)):
        provider.refund(RefundOrder(f"{key}-{number}", charge.reference, amount, "EUR", receiving.url))

    kinds = [provider.verify_callback(sent.body, sent.headers).kind for sent in receiving.wait_for(f"{key}-0")]
    kinds += [provider.verify_callback(sent.body, sent.headers).kind for sent in receiving.wait_for(f"{key}-1")]
    assert kinds == ["refund.succeeded", "refund.failed"]


@pytest.mark.parametrize("token", ["tok_timeout_after_charge", "tok_reset_after_charge", "tok_wrong_amount"])
def test_a_charge_whose_answer_was_lost_is_told_of(psp, account, receiving, key, token):
    MockProvider(psp.url, account, deadline_seconds=0.2).charge(order(key, token, receiving.url))
    receiving.wait_for(key)


@pytest.mark.parametrize("token", ["tok_timeout_before_charge", "tok_reset_before_charge", "tok_error_500"])
def test_a_charge_that_never_was_is_not_told_of(psp, account, provider, receiving, key, token):
    MockProvider(psp.url, account, deadline_seconds=0.2).charge(order(key, token, receiving.url))
    provider.charge(order(f"{key}-later", "tok_ok", receiving.url))
    receiving.wait_for(f"{key}-later")
    assert receiving.about(key) == []


def test_duplicates_have_one_id(provider, receiving, key):
    provider.charge(order(key, "tok_duplicate_callbacks", receiving.url))
    sent = receiving.wait_for(key, count=3)

    assert len({provider.verify_callback(one.body, one.headers) for one in sent}) == 1
    assert len(sent) == 3


def test_a_late_callback_keeps_others_from_nothing(provider, receiving, key):
    began = time.monotonic()
    provider.charge(order(key, "tok_late_callback", receiving.url))
    provider.charge(order(f"{key}-next", "tok_ok", receiving.url))
    receiving.wait_for(f"{key}-next")
    receiving.wait_for(key)
    assert time.monotonic() - began >= LATE_CALLBACK_SECONDS
    kinds = [orjson.loads(sent.body)["reference"] for sent in receiving.received if key in sent.body.decode()]
    assert kinds == [f"{key}-next", key]


def test_no_callback_is_none_for_the_refund_either(provider, receiving, key):
    charge = provider.charge(order(key, "tok_no_callback", receiving.url))
    provider.refund(RefundOrder(f"{key}-back", charge.reference, 1, "EUR", receiving.url))
    provider.charge(order(f"{key}-later", "tok_ok", receiving.url))
    receiving.wait_for(f"{key}-later")
    assert [*receiving.about(key), *receiving.about(f"{key}-back")] == []


def test_what_is_refused_is_sent_again_signed_anew(provider, key):
    with receiver() as receiving:
        receiving.answer = 503
        provider.charge(order(key, "tok_ok", receiving.url))
        receiving.wait_for(key, count=2)
        receiving.answer = 200
        count = len(receiving.about(key))
        sent = receiving.wait_for(key, count + 1)
        assert len({provider.verify_callback(one.body, one.headers) for one in sent}) == 1


def test_callbacks_outlive_a_kill_of_the_provider_and_an_absence_of_the_receiver(tmp_path):
    port = free_port()
    url = f"http://127.0.0.1:{port}/callbacks"
    with mock_psp(tmp_path) as psp:
        provider = MockProvider(psp.url, ACCOUNT)
        provider.charge(order("k-1", "tok_ok", url))
        psp.kill()
        with receiver(port) as receiving:
            psp.start()
            (sent,) = receiving.wait_for("k-1")
            assert provider.verify_callback(sent.body, sent.headers).reference == "k-1"


def test_a_receiver_that_never_answers_keeps_no_other_waiting(provider, receiving, key):
    with ServesNobody() as silent:
        for number in range(2):
            provider.charge(order(f"{key}-{number}", "tok_ok", silent.url))
        provider.charge(order(key, "tok_ok", receiving.url))
        wait_until(lambda: receiving.about(key), "the callback of the other", deadline_seconds=60)


class ServesNobody:
    """Connections are taken by the kernel, and nobody reads them."""

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/callbacks"
        return self

    def __exit__(self, *_):
        self.listener.close()


@pytest.fixture
def adapter():
    return MockProvider("http://127.0.0.1:9", ACCOUNT)


def signed(body=BODY, account=ACCOUNT, age_seconds=0):
    return {NAME: sign(body, callback_secrets(account)[0], int(time.time()) - age_seconds)}


def test_a_signature_of_the_account_is_good(adapter):
    assert adapter.verify_callback(BODY, signed()) == NEWS
    assert adapter.verify_callback(BODY, {"host": "x", **signed(age_seconds=AGE_SECONDS_MAX - 5)}) == NEWS


@pytest.mark.parametrize(
    "headers",
    [
        signed(account="another"),
        signed(age_seconds=AGE_SECONDS_MAX + 2),
        # signed when the tests are collected, and still ahead when this one's turn comes
        signed(age_seconds=-AGE_SECONDS_MAX - 3600),
        {NAME: f"{signed()[NAME]},{signed()[NAME]}"},
        {NAME: f"{signed()[NAME]}, {signed()[NAME]}"},
        {NAME: f" {signed()[NAME]}"},
        {NAME: f"{signed()[NAME]}\n"},
        {NAME: signed()[NAME].upper()},
        {NAME: signed()[NAME].replace("t=", "t=0")},
        {NAME: signed()[NAME].replace("v1=", "v0=")},
        {NAME: "t=\N{ARABIC-INDIC DIGIT ONE},v1=" + "a" * 64},
        {NAME: "t=1,v1=" + "é" * 64},
        {NAME: "\udcff"},
        {HEADER: signed()[NAME]},
    ],
)
def test_any_other_signature_is_refused(adapter, headers):
    with pytest.raises(BadSignature):
        adapter.verify_callback(BODY, headers)


@given(st.text(max_size=200) | st.text(alphabet="tv1=,0af", max_size=200))
def test_no_header_is_more_than_a_bad_signature(text):
    with pytest.raises(BadSignature):
        MockProvider("http://127.0.0.1:9", ACCOUNT).verify_callback(BODY, {NAME: text})


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"id":1,"type":"a","reference":"b"}',
        b'{"id":"","type":"a","reference":"b"}',
        b'{"id":"a b","type":"a","reference":"b"}',
        b'{"id":"a","type":"a","reference":"\\u0000"}',
        b'{"id":"a","type":"a","reference":"' + b"x" * 300 + b'"}',
        b"[" * 5000,
        b" " * 100_000,
    ],
)
def test_a_signed_body_that_can_not_be_read_is_refused(adapter, body):
    with pytest.raises(BadSignature):
        adapter.verify_callback(body, signed(body))


def test_a_callback_signed_with_an_earlier_secret_key_is_taken(adapter, settings):
    before = signed()
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "the next one, which is as long as they must be"
    assert adapter.verify_callback(BODY, before) == NEWS
    assert adapter.verify_callback(BODY, signed()) == NEWS
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(BadSignature):
        adapter.verify_callback(BODY, before)
