"""A checkout whose process is killed at each point of its way, and who finishes it: a worker, the client's next try, a
callback, or several of them at once."""

from typing import Any

import pytest

from reservations.checkout import recovery
from reservations.checkout.callbacks import look_into
from reservations.checkout.lease import LEASE_SECONDS
from reservations.models import ProviderCallback
from tenants.models import IdempotencyKey
from tenants.scope import tenant_transaction
from tests.support import database
from tests.support.mortal import End, Mortals

SAGA, SETTLE = "reservations.checkout.saga", "reservations.checkout.settle"
KEY = "the-key"
# nothing is written yet: neither claim nor order
BEFORE_THE_COMMIT_OF_THE_FIRST_STEP = {
    "before the claim": f"before {SAGA}.begin",
    "with the claim written and not committed": "after reservations.checkout.once._keep",
}
BEFORE_THE_END = {
    "after the first step": f"before {SAGA}._charge_and_settle",
    "before the request is sent": f"before {SAGA}._charge",
    "with the request sent and no answer read": "before reservations.checkout.calls._read",
    "with the answer read and not settled": f"before {SAGA}.settle",
    "in the middle of settling": f"before {SETTLE}.confirm",
    "with all settled and not committed": f"after {SETTLE}.end_answer",
}


def killed(mortals: Mortals, sale: Any, hold: str, at: str, method: str = "tok_ok") -> End:
    end = mortals.run("pay", at, tenant=str(sale.tenant), hold=hold, key=KEY, method=method)
    assert end.how == "killed", end
    return end


def is_sold_once(sale: Any, hold: str) -> None:
    assert sale.story(hold) == ("confirmed", None, ["succeeded"], [])
    assert set(sale.statuses().values()) == {"sold"}
    assert len(sale.charges(hold)) == 1
    sale.judge()


@pytest.mark.parametrize("at", BEFORE_THE_COMMIT_OF_THE_FIRST_STEP.values(), ids=BEFORE_THE_COMMIT_OF_THE_FIRST_STEP)
def test_before_anything_is_written_nothing_has_happened_and_the_key_is_free(sale, mortals, at):
    hold = sale.hold()
    charges = sale.psp.charges()
    killed(mortals, sale, hold, at)
    assert (sale.orders(), sale.psp.charges()) == ([], charges)
    assert sale.recover() == 0
    assert sale.pay(hold, key=KEY) == "201"
    is_sold_once(sale, hold)


@pytest.mark.parametrize("at", BEFORE_THE_END.values(), ids=BEFORE_THE_END)
def test_a_worker_finishes_it_and_the_key_tells_how_it_ended(sale, mortals, at):
    hold = sale.hold()
    killed(mortals, sale, hold, at)
    assert sale.order(hold).status == "pending"
    # until the lease has run out nobody knows that he is dead
    assert sale.pay(hold, key=KEY) == "idempotency-in-flight"
    assert sale.pay(hold, key="another") == "checkout-in-progress"
    assert sale.recover(LEASE_SECONDS / 2) == 0
    assert sale.recover(LEASE_SECONDS / 2 + 1) == 1
    is_sold_once(sale, hold)
    assert sale.pay(hold, key=KEY) == "201"
    assert sale.pay(hold, key="another") == "hold-converted"
    is_sold_once(sale, hold)


@pytest.mark.parametrize("at", BEFORE_THE_END.values(), ids=BEFORE_THE_END)
def test_the_clients_next_try_finishes_it_once_the_lease_has_run_out(sale, mortals, at):
    hold = sale.hold()
    killed(mortals, sale, hold, at)
    database.advance_clock(LEASE_SECONDS + 1)
    assert sale.pay(hold, key=KEY) == "201"
    assert sale.recover(0) == 0
    is_sold_once(sale, hold)


def test_after_the_last_step_only_the_answer_is_lost_and_the_key_has_it(sale, mortals):
    hold = sale.hold()
    killed(mortals, sale, hold, f"after {SAGA}.settle")
    is_sold_once(sale, hold)
    assert sale.pay(hold, key=KEY) == "201"
    assert sale.recover() == 0
    is_sold_once(sale, hold)


def test_a_decline_that_nobody_heard_leaves_the_hold_to_the_buyer(sale, mortals):
    hold = sale.hold()
    killed(mortals, sale, hold, f"before {SAGA}.settle", "tok_declined")
    sale.recover()
    assert sale.story(hold) == ("pending", None, ["declined"], [])
    assert sale.pay(hold, "tok_declined", KEY) == "payment-declined"
    assert sale.pay(hold, key="another") == "201"
    assert sale.story(hold) == ("confirmed", None, ["declined", "succeeded"], [])
    sale.judge()


@pytest.mark.parametrize("at", [BEFORE_THE_END["before the request is sent"], f"before {SAGA}.settle"])
def test_workers_the_client_and_callbacks_at_once_finish_it_once(sale, mortals, run_together, at):
    hold = sale.hold()
    killed(mortals, sale, hold, at)
    (payment,) = sale.payments(hold)
    with tenant_transaction(sale.tenant):
        callbacks = [
            ProviderCallback.objects.create(
                tenant_id=sale.tenant, account=payment.account, event_id=name, kind="k", reference=payment.provider_key
            )
            for name in ("first", "second")
        ]
    database.advance_clock(LEASE_SECONDS + 1)
    looks = [lambda callback=callback: look_into(sale.tenant, callback.id) for callback in callbacks]
    done = run_together([recovery.work_due, recovery.work_due, *looks, lambda: sale.pay(hold, key=KEY)])
    assert not [error for error in done if isinstance(error, BaseException)], done
    assert done[-1] in {"201", "idempotency-in-flight"}
    sale.recover_fully()
    assert sale.pay(hold, key=KEY) == "201"
    is_sold_once(sale, hold)


@pytest.mark.parametrize("at", [f"before {SAGA}._charge", f"before {SAGA}.settle"], ids=["to send", "to settle"])
def test_one_who_wakes_after_another_took_over_changes_nothing(sale, mortals, at):
    hold = sale.hold()
    zombie = mortals.run("pay", at, stops=True, tenant=str(sale.tenant), hold=hold, key=KEY)
    assert zombie.how == "stopped"
    sale.recover()
    is_sold_once(sale, hold)
    woken = mortals.wake(zombie)
    # he hears what became of it, as whoever asks again does
    assert (woken.how, woken.word) == ("done", "201")
    is_sold_once(sale, hold)


def test_one_who_wakes_after_the_next_buyer_came_hears_that_the_money_goes_back(sale, mortals):
    hold = sale.hold()
    zombie = mortals.run("pay", f"before {SAGA}.settle", stops=True, tenant=str(sale.tenant), hold=hold, key=KEY)
    database.advance_clock(1000)
    sale.sell(customer="bob")
    sale.recover(0)
    assert mortals.wake(zombie).word == "hold-expired"
    sale.recover_fully()
    assert sale.story(hold) == ("failed", "expired_while_paying", ["refunded"], ["succeeded"])
    sale.judge()


def test_no_answer_is_kept_in_progress_for_ever(sale, mortals):
    hold = sale.hold()
    killed(mortals, sale, hold, f"before {SAGA}._charge")
    sale.recover_fully()
    with tenant_transaction(sale.tenant):
        assert [row.status_code for row in IdempotencyKey.objects.filter(key=KEY)] == [201]
