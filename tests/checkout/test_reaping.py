"""Idempotency keys live 72 hours: then those that were answered are forgotten, and those in progress never."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest

from holdfast.periodic import PERIODIC
from reservations import jobs
from reservations.checkout.begin import Wish, begin
from reservations.checkout.lease import Begun
from tenants import idempotency
from tenants.idempotency import KEPT_SECONDS
from tenants.models import IdempotencyKey
from tenants.scope import tenant_transaction
from tests.checkout.sale import Sale
from tests.support import database, paying
from tests.support.client import Api

HOURS = 3600
KEY = "the-key"


def keys(sale: Sale) -> Sequence[tuple[str, int | None]]:
    """Which there are, with the status of their answer."""
    with tenant_transaction(sale.tenant):
        return list(IdempotencyKey.objects.order_by("id").values_list("key", "status_code"))


def reap_after(seconds: float) -> int:
    """So much later the job runs; how many keys it forgot, of all tenants."""
    database.advance_clock(seconds)
    return jobs.reap_idempotency_keys()


def begin_and_die(sale: Sale, hold: str, key: str = KEY) -> None:
    """A checkout whose process is gone before the provider was asked."""
    claim = paying.claim_of(sale.tenant, key, [hold, "tok_ok"])
    assert isinstance(begin(tenant_id=sale.tenant, claim=claim, wish=Wish(UUID(hold), "tok_ok"), waits=True), Begun)
    assert keys(sale) == [(key, None)]


def post(sale: Sale, path: str, key: str = KEY, **body: Any) -> Any:
    return Api(sale.key).post(path, body, headers={"Idempotency-Key": key})


def test_it_is_looked_for_old_ones_every_hour():
    (reaping,) = [periodic for periodic in PERIODIC if periodic.function == "reservations.jobs.reap_idempotency_keys"]
    assert reaping.every_seconds <= HOURS


def test_an_answer_is_kept_for_72_hours_and_no_longer(sale):
    assert KEPT_SECONDS == 72 * HOURS
    hold = sale.hold()
    assert sale.pay(hold, key=KEY) == "201"
    for _ in range(2):
        reap_after(36 * HOURS - 30)
        assert keys(sale) == [(KEY, 201)]
    assert sale.pay(hold, key=KEY) == "201"
    assert reap_after(61) >= 1
    assert keys(sale) == []
    assert reap_after(0) == 0


def test_each_kind_of_answer_is_forgotten(sale):
    declined, unknown = sale.hold("A-1"), sale.hold("A-2")
    assert sale.pay(declined, "tok_declined", "declined") == "payment-declined"
    assert sale.pay(unknown, "tok_reset_after_charge", "unknown") == "202"
    assert sale.release(declined) == "released"
    assert sale.pay(declined, key="gone") == "hold-released"
    sale.recover()
    assert sale.refund(str(sale.order(unknown).id), key="refund") == "200"
    assert post(sale, "/v1/holds", "free", event=str(sale.event.id), quantity=1, customer="ada").status_code == 201
    assert keys(sale) == [("declined", 402), ("unknown", 202), ("gone", 410), ("refund", 200), ("free", 201)]
    reap_after(72 * HOURS + 1)
    assert keys(sale) == []
    sale.judge()


def test_one_in_progress_is_never_forgotten_until_it_is_answered(sale):
    hold = sale.hold()
    begin_and_die(sale, hold)
    for days in (4, 30, 365):
        reap_after(days * 24 * HOURS)
        assert keys(sale) == [(KEY, None)]
    assert post(sale, "/v1/holds", event=str(sale.event.id), quantity=1, customer="bob").status_code == 422
    sale.recover(0)
    assert keys(sale) == [(KEY, 402)]
    assert sale.pay(hold, key=KEY) == "payment-declined"
    reap_after(0)
    assert keys(sale) == []
    sale.recover_fully()
    sale.judge()


def test_a_retry_that_comes_first_answers_it_and_the_next_round_forgets_it(sale):
    hold = sale.hold()
    begin_and_die(sale, hold)
    database.advance_clock(22 * HOURS)
    # nobody has taken it up: the retry does, under the payment's own key
    assert sale.pay(hold, key=KEY) == "201"
    reap_after(49 * HOURS)
    assert keys(sale) == [(KEY, 201)]
    reap_after(2 * HOURS)
    assert keys(sale) == []
    sale.judge()


def test_a_key_that_was_forgotten_is_free_for_another_request(sale):
    first, second = sale.hold("A-1"), sale.hold("A-2")
    assert sale.pay(first, key=KEY) == "201"
    assert sale.pay(second, key=KEY) == "idempotency-key-reused"
    reap_after(72 * HOURS + 1)
    again = sale.hold("A-2", customer="bob")
    answer = post(sale, "/v1/orders", hold=again, payment={"method": "tok_ok"})
    assert answer.status_code == 201, answer.content
    assert "idempotency-replayed" not in answer.headers
    assert keys(sale) == [(KEY, 201)]
    sale.judge()


def test_a_request_that_is_repeated_after_its_key_was_forgotten_takes_nothing_twice(sale):
    hold = sale.hold()
    assert sale.pay(hold, key=KEY) == "201"
    order = str(sale.order(hold).id)
    units = [str(sale.units[0].id)]
    assert sale.refund(order, units, key="refund") == "200"
    reap_after(72 * HOURS + 1)
    assert sale.pay(hold, key=KEY) == "hold-converted"
    assert sale.refund(order, units, key="refund") == "invalid"
    assert len(sale.charges(hold)) == 1
    sale.judge()


def test_a_forgotten_202_does_not_charge_again_while_the_first_charge_is_unknown(sale, settings):
    hold = sale.hold()
    assert sale.pay(hold, "tok_reset_after_charge", KEY) == "202"
    url, settings.MOCK_PSP_URL = settings.MOCK_PSP_URL, "http://127.0.0.1:9"
    reap_after(72 * HOURS + 1)
    assert keys(sale) == []
    assert sale.pay(hold, "tok_reset_after_charge", KEY) == "checkout-in-progress"
    settings.MOCK_PSP_URL = url
    sale.recover_fully()
    assert len(sale.charges(hold)) == 1
    sale.judge()


def test_many_of_many_tenants_go_in_one_round(make_sale, monkeypatch):
    monkeypatch.setattr(idempotency, "REAPED_AT_ONCE_MAX", 2)
    sales = [make_sale(1), make_sale(1)]
    for sale in sales:
        for number in range(5):
            answer = post(sale, "/v1/holds", f"old-{number}", event=str(sale.event.id), quantity=2, customer="ada")
            assert answer.status_code == 409, answer.content
    database.advance_clock(71 * HOURS)
    for sale in sales:
        assert sale.pay(sale.hold(), key="young") == "201"
    assert reap_after(2 * HOURS) >= 10
    assert [keys(sale) for sale in sales] == [[("young", 201)]] * 2


def test_two_rounds_at_once_do_no_harm(sale, run_together):
    for number in range(3):
        answer = post(sale, "/v1/holds", f"old-{number}", event=str(sale.event.id), quantity=3, customer="ada")
        assert answer.status_code == 409, answer.content
    database.advance_clock(73 * HOURS)
    counts = run_together([jobs.reap_idempotency_keys] * 4)
    assert all(isinstance(count, int) for count in counts), counts
    assert keys(sale) == []


@pytest.mark.parametrize("status", [None, 201])
def test_only_what_is_old_and_answered_goes_however_it_came_to_be(sale, status):
    """Rows straight into the table, shortly before and after the end."""
    hold = sale.hold()
    with tenant_transaction(sale.tenant):
        claim = paying.claim_of(sale.tenant, KEY, [hold])
        IdempotencyKey.objects.create(
            tenant_id=sale.tenant,
            principal_id=claim.principal_id,
            key=KEY,
            fingerprint=claim.fingerprint,
            status_code=status,
            resource_id=UUID(hold),
        )
    reap_after(72 * HOURS - 30)
    assert keys(sale) == [(KEY, status)]
    reap_after(31)
    assert keys(sale) == ([(KEY, None)] if status is None else [])
