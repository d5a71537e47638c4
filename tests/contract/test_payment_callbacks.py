"""`POST /v1/payments/callbacks/{provider}/{account}`: whose signature is good is stored, once, and nothing else is."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import orjson
import pytest

from reservations.checkout import recovery
from reservations.checkout.mock_signature import AGE_SECONDS_MAX, HEADER, callback_secrets, sign
from reservations.operations.payment_accounts import open_account
from tests.contract import expect
from tests.contract.till import Till
from tests.contract.untouched import untouched
from tests.support.client import Api
from tests.support.rows import everything_of, unique
from tests.support.stripe_server import event, signed

pytestmark = pytest.mark.usefixtures("shift_clock")
BODY_BYTES_MAX = 2**20
STRIPE = {"secret_key": "sk_test_4eC39HqLyjWDarjtT1zdp7dc", "webhook_secret": "whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6"}


@dataclass(frozen=True)
class Line:
    """From the mock provider to the account of a till; who sends has no API key."""

    till: Till
    account: str
    path: str

    def sign(self, body: bytes, *, age_seconds: int = 0) -> dict[str, str]:
        return {HEADER: sign(body, callback_secrets(self.account)[0], int(time.time()) - age_seconds)}

    def send(self, body: bytes, headers: dict[str, str] | None = None, path: str = "") -> Any:
        """With a good signature, unless other headers are given."""
        return Api(None).post(path or self.path, body, headers=self.sign(body) if headers is None else headers)

    def stored(self) -> int:
        return len(everything_of(self.till.sale.tenant.id)["reservations_providercallback"])


@pytest.fixture
def make_line(make_till: Callable[..., Till]) -> Callable[..., Line]:
    def make() -> Line:
        till = make_till(1)
        (account,) = expect.body(till.sale.api.get("/v1/payment-accounts"))["data"]
        return Line(till, account["id"], urlsplit(account["callback_url"]).path)

    return make


@pytest.fixture
def line(make_line: Callable[..., Line]) -> Line:
    return make_line()


def news(reference: str = "hf-01890000-0000-7000-8000-000000000000", **more: str) -> bytes:
    """The body of a callback, of a new event unless it is named."""
    return orjson.dumps({"id": unique("mev"), "type": "charge.succeeded", "reference": reference, **more})


def is_taken(answer: Any) -> None:
    assert answer.status_code == 200, expect.story(answer)
    assert answer.headers["x-request-id"]


def is_refused(line: Line, status: int, slug: str, *answers: Callable[[], Any]) -> None:
    """Each of these, and nothing is stored."""
    with untouched(line.till):
        for answer in answers:
            expect.problem(answer(), status, slug)


# --- what is taken ---------------------------------------------------------------------------------------------------


def test_a_signed_callback_is_stored_and_needs_no_key(line: Line) -> None:
    is_taken(line.send(news()))
    assert line.stored() == 1


def test_an_api_key_is_not_looked_at(line: Line) -> None:
    for key in ("hf_nobody_nothing", line.till.sale.api.key):
        body = news()
        is_taken(Api(key).post(line.path, body, headers=line.sign(body)))
    assert line.stored() == 2


def test_the_same_callback_again_is_no_second_row(line: Line) -> None:
    body = news(id="mev-1")
    is_taken(line.send(body))
    with untouched(line.till):
        for again in (body, body, news("hf-another", id="mev-1")):
            is_taken(line.send(again))
    assert line.stored() == 1


def test_one_event_many_times_at_once_is_one_row(line: Line, run_together: Callable[..., list[Any]]) -> None:
    body = news()
    for answer in run_together([lambda: line.send(body)] * 6):
        is_taken(answer)
    assert line.stored() == 1


def test_it_may_take_minutes_and_any_form_of_json(line: Line) -> None:
    for body in (news(), b" " + news() + b"\n", news(more="ä" * 50_000)):
        is_taken(line.send(body))
    body = news()
    is_taken(line.send(body, line.sign(body, age_seconds=AGE_SECONDS_MAX - 30)))
    assert line.stored() == 4


def test_a_disabled_account_still_hears_what_becomes_of_its_charges(line: Line) -> None:
    open_account(tenant_id=line.till.sale.tenant.id, provider="stripe", credentials=STRIPE)
    is_taken(line.send(news()))
    assert line.stored() == 1


def test_stripe_is_heard_at_its_own_account(line: Line) -> None:
    account = open_account(tenant_id=line.till.sale.tenant.id, provider="stripe", credentials=STRIPE)
    path = f"/v1/payments/callbacks/stripe/{account.id}"
    body = event("charge.updated", {"object": "charge", "id": "ch_1"})
    good = signed(body, secret=STRIPE["webhook_secret"])
    is_refused(
        line,
        401,
        "bad-signature",
        lambda: line.send(body, {}, path),
        lambda: line.send(body, signed(body, secret="whsec_of_somebody_else"), path),
        lambda: line.send(body, signed(body, age_seconds=600, secret=STRIPE["webhook_secret"]), path),
        lambda: line.send(body + b" ", good, path),
        lambda: line.send(body, line.sign(body), path),
    )
    is_taken(line.send(body, good, path))
    assert line.stored() == 1


# --- what is refused -------------------------------------------------------------------------------------------------


def test_an_account_that_is_not_there_is_not_found(line: Line) -> None:
    body = news()
    base = "/v1/payments/callbacks"
    paths = [
        *(f"{base}/mock/{account}" for account in (uuid4(), "1", "é", "%00", f"{{{line.account}}}", "")),
        *(f"{base}/{provider}/{line.account}" for provider in ("stripe", "Mock", "nobody", "%00", "%C3%A9", "x" * 500)),
        *(f"{line.path}/", f"{base}/mock", f"{base}/{line.account}", base),
    ]
    is_refused(line, 404, "not-found", *(lambda path=path: line.send(body, path=path) for path in paths))
    is_refused(line, 404, "not-found", *(lambda path=path: line.send(body, {}, path) for path in paths))


def test_a_signature_that_does_not_fit_is_refused(line: Line, make_line: Callable[..., Line]) -> None:
    body = news()
    good = line.sign(body)[HEADER]
    wrong = [
        {},
        *({HEADER: text} for text in ("", "x", "t=1", "v1=1", "t=,v1=", f"t=1,v1={'0' * 64}", good[:-1], good + "0")),
        {HEADER: good.replace("v1=", "v0=")},
        {HEADER: good.upper()},
        {HEADER: f"{good},{good}"},
        {"Stripe-Signature": good},
        {"Authorization": f"Bearer {line.till.sale.api.key}"},
        line.sign(body, age_seconds=AGE_SECONDS_MAX + 5),
        line.sign(body, age_seconds=-AGE_SECONDS_MAX - 60),
        line.sign(news()),
        make_line().sign(body),
    ]
    is_refused(line, 401, "bad-signature", *(lambda headers=headers: line.send(body, headers) for headers in wrong))
    is_taken(line.send(body, {HEADER: good}))


def test_a_body_that_was_changed_by_one_byte_is_refused(line: Line) -> None:
    body = news()
    headers = line.sign(body)
    changed = [
        body + b" ",
        b" " + body,
        body[:-1],
        b"",
        *(body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :] for at in range(0, len(body), 7)),
    ]
    is_refused(line, 401, "bad-signature", *(lambda body=body: line.send(body, headers) for body in changed))
    is_taken(line.send(body, headers))


def test_a_signed_body_that_is_no_json_is_malformed(line: Line) -> None:
    bodies = [b"", b"{", news()[:-1], b"\xff", b"NaN", b"[" * 5_000]
    is_refused(line, 400, "malformed", *(lambda body=body: line.send(body) for body in bodies))


def test_signed_json_that_is_no_event_is_invalid(line: Line) -> None:
    good = {"id": "mev-1", "type": "charge.succeeded", "reference": "hf-1"}
    without = [expect.apart_from(good, name) for name in good]
    wrong = [{**good, name: value} for name in good for value in (None, 1, "", "a b", "\0", "é", ["x"], "x" * 5_000)]
    with untouched(line.till):
        for body in ([], None, "x", 7, {}, [good], *without, *wrong):
            assert expect.pointers(line.send(orjson.dumps(body))) == [""], body


def test_a_body_over_the_limit_is_too_large_whoever_signed_it(line: Line) -> None:
    for size in (BODY_BYTES_MAX + 1, 2 * BODY_BYTES_MAX):
        body = news().ljust(size)
        is_refused(
            line, 413, "body-too-large", lambda body=body: line.send(body), lambda body=body: line.send(body, {})
        )
    is_taken(line.send(news().ljust(BODY_BYTES_MAX)))


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_it_can_only_be_posted(line: Line, method: str) -> None:
    body = news()
    headers = line.sign(body)
    is_refused(line, 405, "method-not-allowed", lambda: Api(None).send(method, line.path, body, headers=headers))


# --- what comes of it ------------------------------------------------------------------------------------------------


def test_nothing_of_it_is_in_another_tenant(make_line: Callable[..., Line]) -> None:
    mine, theirs = make_line(), make_line()
    order = theirs.till.unknown(theirs.till.sale.hold(quantity=1))
    body = news(f"hf-{order['payments'][0]['id']}")
    with untouched(theirs.till):
        is_taken(mine.send(body))
        recovery.work_due()
    with untouched(mine.till):
        expect.problem(mine.send(body, path=theirs.path), 401, "bad-signature")
        # and the other's event of the same name is another
        is_taken(theirs.send(body))
    assert (mine.stored(), theirs.stored()) == (1, 1)


def test_it_brings_an_order_home_whose_charge_was_unknown(line: Line) -> None:
    order = line.till.unknown(line.till.sale.hold(quantity=1))
    is_taken(line.send(news(f"hf-{order['payments'][0]['id']}")))
    recovery.work_due()
    assert line.till.order(order)["status"] == "confirmed"
    assert line.till.kept(order) == 2500


def test_what_it_says_is_not_believed(line: Line) -> None:
    order = line.till.declined(line.till.sale.hold(quantity=1))
    before = line.till.order(order)
    is_taken(line.send(news(f"hf-{before['payments'][0]['id']}", type="charge.succeeded")))
    recovery.work_due()
    assert line.till.order(order) == before


@pytest.mark.parametrize("kind", ["charge.succeeded", "charge.declined", "refund.failed"])
def test_old_news_changes_nothing(line: Line, kind: str) -> None:
    till = line.till
    order = till.sold()
    refunded = till.refunded(order)
    for reference in (f"hf-{order['payments'][0]['id']}", f"hf-{refunded['refunds'][0]['id']}"):
        is_taken(line.send(news(reference, type=kind)))
    recovery.work_due()
    assert expect.apart_from(till.order(order), "tickets") == expect.apart_from(refunded, "tickets")
    assert till.told(order) == ["order.confirmed", "order.refunded"]
    assert till.kept(order) == 0
