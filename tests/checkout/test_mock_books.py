"""The mock provider's books: never twice, never beyond, and still there after a kill."""

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from reservations.checkout.mock import MockProvider
from reservations.checkout.provider import ChargeOrder, ChargeOutcome, RefundOrder, RefundOutcome
from tests.support.psp import mock_psp
from tests.support.web import CHECKOUT, environment

NOWHERE = "http://127.0.0.1:9/callbacks"
CROWD = 20
NINETEEN_SEVENTY, FAR = datetime(1970, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


def order(key, amount=2500):
    return ChargeOrder(key, amount, "EUR", "tok_no_callback", NOWHERE)


def all_at_once(act):
    """What each of the crowd got, which starts as one."""
    barrier = threading.Barrier(CROWD)

    def run(number):
        barrier.wait(60)
        return act(number)

    with ThreadPoolExecutor(CROWD) as pool:
        return list(pool.map(run, range(CROWD), timeout=60))


def test_one_key_sent_twenty_times_at_once_is_one_charge(psp, provider, key):
    charges = all_at_once(lambda _: provider.charge(order(key)))

    assert len(set(charges)) == 1
    assert charges[0].outcome == ChargeOutcome.SUCCEEDED
    assert len(psp.charges(key)) == 1


def test_one_key_for_two_amounts_at_once_is_one_charge(psp, provider, key):
    charges = all_at_once(lambda number: provider.charge(order(key, amount=100 + number % 2)))

    taken = {charge.amount for charge in charges if charge.outcome == ChargeOutcome.SUCCEEDED}
    assert {charge.outcome for charge in charges} == {ChargeOutcome.SUCCEEDED, ChargeOutcome.UNKNOWN}
    assert [row["amount"] for row in psp.charges(key)] == list(taken)


def test_refunds_at_once_never_give_back_more_than_was_taken(psp, provider, key):
    charge = provider.charge(order(key, amount=1000))
    refunds = all_at_once(
        lambda number: provider.refund(RefundOrder(f"{key}-{number}", charge.reference, 300, "EUR", NOWHERE))
    )

    assert sorted(refund.outcome for refund in refunds) == ["failed"] * (CROWD - 3) + ["succeeded"] * 3
    assert {refund.failure_code for refund in refunds if refund.outcome == RefundOutcome.FAILED} == {"exceeds_charge"}
    assert psp.charges(key)[0]["refunded"] == 900
    kept = [row["amount"] for row in psp.refunds(charge.reference) if row["status"] == "succeeded"]
    assert kept == [300] * 3


def test_one_refund_sent_twenty_times_at_once_is_one_refund(psp, provider, key):
    charge = provider.charge(order(key, amount=1000))
    back = RefundOrder(f"{key}-back", charge.reference, 300, "EUR", NOWHERE)

    assert len(set(all_at_once(lambda _: provider.refund(back)))) == 1
    assert psp.charges(key)[0]["refunded"] == 300


def test_a_refund_that_failed_stays_failed_under_its_key(psp, provider, key):
    charge = provider.charge(order(key, amount=1000))
    back = RefundOrder(f"{key}-back", charge.reference, 1001, "EUR", NOWHERE)
    first = provider.refund(back)

    assert first.outcome == RefundOutcome.FAILED
    assert provider.refund(back) == first


def test_another_account_sees_and_refunds_nothing_of_this_one(psp, provider, key):
    charge = provider.charge(order(key))
    other = MockProvider(psp.url, "somebody-else")

    assert other.lookup(key, charge.reference).outcome == ChargeOutcome.ABSENT
    back = RefundOrder(f"{key}-back", charge.reference, 1, "EUR", NOWHERE)
    assert other.refund(back).outcome == RefundOutcome.FAILED
    assert psp.charges(key)[0]["refunded"] == 0


def test_the_list_has_every_charge_over_many_pages(psp, provider, key, monkeypatch):
    monkeypatch.setattr("reservations.checkout.mock.PAGE_ROWS", 3)
    made = [provider.charge(order(f"{key}-{number}", amount=1 + number)).reference for number in range(7)]
    listed = list(provider.charges(NINETEEN_SEVENTY, FAR))

    assert [charge.reference for charge in listed] == made
    moment = listed[3].created_at
    assert made[3] in [charge.reference for charge in provider.charges(moment, FAR)], "from is within"
    assert made[3] not in [charge.reference for charge in provider.charges(NINETEEN_SEVENTY, moment)], "to is not"


def test_a_kill_loses_no_charge_that_was_answered_and_doubles_none(tmp_path):
    with mock_psp(tmp_path) as psp:
        provider = MockProvider(psp.url, "account")
        answered = []
        began = threading.Event()

        def buy():
            for number in range(10_000):
                if provider.charge(order(f"k-{number}", amount=1 + number)).outcome != ChargeOutcome.SUCCEEDED:
                    return
                answered.append(f"k-{number}")
                if number == 20:
                    began.set()

        buying = threading.Thread(target=buy)
        buying.start()
        assert began.wait(60)
        psp.kill()
        buying.join(60)

        kept = [row["reference"] for row in psp.charges()]
        assert set(answered) <= set(kept), "read from the file alone"
        assert len(kept) - len(answered) in {0, 1}, "the last may have lost only its answer"

        psp.start()
        assert provider.lookup(answered[-1], None).outcome == ChargeOutcome.SUCCEEDED
        unanswered = f"k-{len(answered)}"
        assert provider.charge(order(unanswered, amount=1 + len(answered))).outcome == ChargeOutcome.SUCCEEDED
        assert len(psp.charges(unanswered)) == 1


def mock_charges(file, *words):
    return subprocess.run(
        [sys.executable, "manage.py", "mock_charges", *words],
        cwd=CHECKOUT,
        env={**environment(), "HOLDFAST_MOCK_PSP_FILE": str(file)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_command_prints_the_books_whether_or_not_the_server_runs(tmp_path):
    with mock_psp(tmp_path) as psp:
        provider = MockProvider(psp.url, "account")
        charge = provider.charge(ChargeOrder("k", 1234, "KWD", "tok_no_callback", NOWHERE))
        refund = provider.refund(RefundOrder("k-back", charge.reference, 234, "KWD", NOWHERE))
        provider.charge(ChargeOrder("no", 1, "JPY", "tok_declined", NOWHERE))
        while_it_runs = mock_charges(psp.file, "--json")
        psp.kill()
        after = mock_charges(psp.file, "--json")

        said = json.loads(after.stdout)
        (declined,) = psp.charges("no")
        taken = {"id": charge.reference, "reference": "k", "amount": 1234, "currency": "KWD"}
        assert said == {
            "charges": [{**taken, "status": "succeeded", "refunded": 234}, declined],
            "refunds": [{"id": refund.reference, "charge": charge.reference, "amount": 234, "status": "succeeded"}],
        }
        assert (while_it_runs.stdout, after.stderr) == (after.stdout, "")
        table = mock_charges(psp.file).stdout
        assert "charges: 2" in table
        assert charge.reference in table
        assert refund.reference in table


def test_a_file_that_is_not_there_has_no_charges(tmp_path):
    ran = mock_charges(tmp_path / "none", "--json")
    assert (ran.returncode, json.loads(ran.stdout)) == (0, {"charges": [], "refunds": []})
    assert not (tmp_path / "none").exists()


def test_a_file_of_another_kind_is_one_line(tmp_path):
    (tmp_path / "other").write_text("no database at all, but long enough to have a head" * 10)
    ran = mock_charges(tmp_path / "other", "--json")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.count("\n") == 1
    assert "HOLDFAST_MOCK_PSP_FILE" in ran.stderr


@pytest.mark.parametrize(
    ("words", "variables", "said"),
    [
        (["--host", "0.0.0.0"], {}, "loopback"),  # noqa: S104 - refused
        (["--host", "example.org"], {}, "loopback"),
        ([], {"HOLDFAST_MOCK_PSP_FILE": "/nonexistent/books"}, "HOLDFAST_MOCK_PSP_FILE"),
        ([], {"HOLDFAST_MOCK_PSP_FILE": ""}, "HOLDFAST_MOCK_PSP_FILE"),
        (
            [],
            {"HOLDFAST_ENV": "production", "HOLDFAST_SECRET_KEY": "k" * 40, "HOLDFAST_ALLOWED_HOSTS": "localhost"},
            "production",
        ),
        (["--port", "99999"], {}, "99999"),
    ],
)
def test_a_server_that_can_not_start_says_why_in_one_line(tmp_path, words, variables, said):
    given = {} if "HOLDFAST_ENV" in variables else {"HOLDFAST_MOCK_PSP_FILE": str(tmp_path / "books")}
    ran = subprocess.run(
        [sys.executable, "manage.py", "mock_psp", "--port", "0", *words],
        cwd=CHECKOUT,
        env={**environment(), **given, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.count("\n") == 1, ran.stderr
    assert said in ran.stderr
