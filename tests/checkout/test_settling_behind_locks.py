"""The provider has done its part, and a deadlock or another's lock is in the way of writing that down."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import DataError, connection

from reservations.checkout import settle, settle_refund, tried_again

KEY = "the-key"
# serialization failure, deadlock, a lock waited for too long
STATES = ["40001", "40P01", "55P03"]
STATEMENT_TIMEOUT = "57014"


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """`fails(settle, "40P01", 2)`: the database itself ends the last step with that, so many times; what it did."""

    def arrange(module: Any, sqlstate: str, times: int) -> list[str]:
        done: list[str] = []
        original = module.end_answer

        def end_answer(*args: Any) -> None:
            original(*args)
            if len(done) < times:
                done.append(sqlstate)
                with connection.cursor() as cursor:
                    cursor.execute(f"DO $$ BEGIN RAISE EXCEPTION 'as told' USING ERRCODE = '{sqlstate}'; END $$")

        monkeypatch.setattr(module, "end_answer", end_answer)
        return done

    return arrange


@pytest.mark.parametrize("sqlstate", STATES)
def test_a_charge_is_settled_by_the_next_try(sale, fails, sqlstate):
    hold = sale.hold()
    done = fails(settle, sqlstate, tried_again.TRIES_MAX - 1)
    assert sale.pay(hold, key=KEY) == "201"
    assert len(done) == tried_again.TRIES_MAX - 1
    assert len(sale.charges(hold)) == 1
    sale.judge()


@pytest.mark.parametrize(("sqlstate", "tries"), [("40P01", tried_again.TRIES_MAX), (STATEMENT_TIMEOUT, 1)])
def test_a_charge_that_can_not_be_settled_is_pending_and_left_to_recovery(sale, fails, sqlstate, tries):
    hold = sale.hold()
    done = fails(settle, sqlstate, tries)
    assert sale.pay(hold, key=KEY) == "202"
    assert len(done) == tries
    assert sale.story(hold) == ("pending", None, ["submitting"], [])
    assert sale.pay(hold, key=KEY) == "idempotency-in-flight"
    sale.recover()
    assert sale.pay(hold, key=KEY) == "201"
    assert len(sale.charges(hold)) == 1
    sale.judge()


def test_a_fault_of_ours_is_not_tried_again_and_loses_nothing(sale, fails):
    hold = sale.hold()
    done = fails(settle, "22012", 1)
    with pytest.raises(DataError):
        sale.pay(hold, key=KEY)
    assert len(done) == 1
    sale.recover()
    assert sale.pay(hold, key=KEY) == "201"
    assert len(sale.charges(hold)) == 1
    sale.judge()


@pytest.mark.parametrize("times", [tried_again.TRIES_MAX - 1, tried_again.TRIES_MAX])
def test_a_refund_is_settled_by_the_next_try_or_by_recovery(sale, fails, times):
    order = sale.sell()
    done = fails(settle_refund, "40P01", times)
    assert sale.refund(order, key=KEY) == "200"
    assert len(done) == times
    sale.recover()
    assert sale.refund(order, key=KEY) == "200"
    assert sale.refund(order) == "nothing-to-refund"
    (settled,) = sale.orders()
    assert (settled.status, sale.kept(settled), set(sale.statuses().values())) == ("refunded", 0, {"available"})
    sale.judge()
