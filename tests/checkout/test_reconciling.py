"""Differences between HoldFast and the provider's books, made there for real: each found once, and gone when it is."""

import json
import sqlite3
from contextlib import closing
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from holdfast.kernel.ids import new_id
from reservations.checkout import reconcile
from reservations.checkout.accounts import provider_of
from reservations.checkout.lease import LEASE_SECONDS
from reservations.checkout.provider import ChargeOrder, ListedCharge, ProviderAway
from reservations.checkout.reconcile import LOOK_BACK_SECONDS, SETTLE_SECONDS
from reservations.models import Difference, PaymentAccount
from tenants.scope import tenant_transaction
from tests.checkout.sale import PRICE, Sale
from tests.support import database

AWAY = "http://127.0.0.1:9"


def differences(sale: Sale) -> list[tuple[str, str, str]]:
    """What is open after one more look at the account, which is long enough after everything."""
    database.advance_clock(SETTLE_SECONDS + 1)
    count = reconcile.reconcile(sale.account())
    with tenant_transaction(sale.tenant):
        rows = Difference.objects.filter(resolved_at=None).order_by("id")
        found = [(row.kind, row.here, row.there) for row in rows]
    assert len(found) == count
    return found


def rows(sale: Sale) -> int:
    """All that were ever found."""
    with tenant_transaction(sale.tenant):
        return Difference.objects.count()


def in_the_books(sale: Sale, statement: str, *values: Any) -> None:
    """Change the provider's books past its server."""
    with closing(sqlite3.connect(sale.psp.file, timeout=60)) as books, books:
        assert books.execute(statement, values).rowcount == 1


@pytest.fixture
def sold(sale: Sale) -> dict[str, Any]:
    """The charge of a sale of both seats."""
    order = sale.sell()
    (charge,) = sale.charges(str(next(one for one in sale.orders() if str(one.id) == order).hold_id))
    return charge


def test_what_agrees_is_no_difference(sale, sold):
    order = str(sale.orders()[0].id)
    assert sale.refund(order, [str(sale.units[0].id)]) == "200"
    assert sale.pay(sale.hold("A-1"), "tok_declined") == "payment-declined"
    assert differences(sale) == []
    assert sale.refund(order) == "200"
    assert differences(sale) == []
    assert rows(sale) == 0


def test_a_charge_that_is_none_of_ours_is_told_until_it_is_given_back_there(sale, sold, receiving):
    extra = ChargeOrder(f"by-hand-{new_id()}", 700, "EUR", "tok_ok", receiving.url)
    charge = sale.there().charge(extra)
    for _ in range(2):
        assert differences(sale) == [("order_missing", "nothing", "7.00 EUR")]
    sale.refund_there(charge.reference, 200)
    assert differences(sale) == [("order_missing", "nothing", "7.00 EUR")]
    sale.refund_there(charge.reference, 500)
    assert differences(sale) == []
    assert rows(sale) == 1


def test_a_charge_that_is_not_there_is_told_until_it_is(sale, sold):
    in_the_books(sale, "UPDATE charge SET merchant = 'another' WHERE id = ?", sold["id"])
    for _ in range(2):
        assert differences(sale) == [("charge_missing", "50.00 EUR", "nothing")]
    in_the_books(sale, "UPDATE charge SET merchant = ? WHERE id = ?", str(sale.account().id), sold["id"])
    assert differences(sale) == []
    assert rows(sale) == 1


@pytest.mark.parametrize(
    ("column", "value", "there"), [("amount", 4999, "49.99 EUR"), ("currency", "USD", "50.00 USD")]
)
def test_another_amount_or_currency_is_told(sale, sold, column, value, there):
    in_the_books(sale, f"UPDATE charge SET {column} = ? WHERE id = ?", value, sold["id"])  # noqa: S608 - our own words
    for _ in range(2):
        assert differences(sale) == [("amount", "50.00 EUR", there)]
    in_the_books(sale, f"UPDATE charge SET {column} = ? WHERE id = ?", sold[column], sold["id"])  # noqa: S608
    assert differences(sale) == []
    assert rows(sale) == 1


def test_a_refund_that_was_made_there_is_told(sale, sold):
    sale.refund_there(sold["id"], 1000)
    for _ in range(2):
        assert differences(sale) == [("refund", "0.00 EUR", "10.00 EUR")]
    in_the_books(sale, "UPDATE charge SET refunded = 0 WHERE id = ?", sold["id"])
    assert differences(sale) == []
    assert rows(sale) == 1


def test_a_difference_that_is_older_than_the_list_is_told_until_it_is_gone(sale, sold):
    sale.refund_there(sold["id"], 1000)
    assert len(differences(sale)) == 1
    for _ in range(2):
        database.advance_clock(LOOK_BACK_SECONDS)
        assert differences(sale) == [("refund", "0.00 EUR", "10.00 EUR")]
    in_the_books(sale, "UPDATE charge SET refunded = 0 WHERE id = ?", sold["id"])
    assert differences(sale) == []
    assert rows(sale) == 1


def test_charges_without_our_key_and_two_of_one_key_are_told_apart(sale, stripe, at_stripe, monkeypatch, key):
    monkeypatch.setattr(reconcile, "provider_of", lambda _: at_stripe)
    sent = {"currency": "eur", "payment_method": "pm_card_visa", "confirm": "true"}
    sent["automatic_payment_methods[allow_redirects]"] = "never"
    for amount, more in (
        (100, {}),
        (200, {}),
        (300, {"metadata[holdfast_key]": key}),
        (300, {"metadata[holdfast_key]": key}),
    ):
        stripe.books.make_intent({**sent, "amount": str(amount), **more})
    database.advance_clock(-SETTLE_SECONDS)
    assert sorted(there for _, _, there in differences(sale)) == ["1.00 EUR", "2.00 EUR", "3.00 EUR", "3.00 EUR"]
    # months later
    database.advance_clock(2 * LOOK_BACK_SECONDS)
    stripe.books.make_refund({"payment_intent": "pi_1", "amount": "100", "metadata[holdfast_key]": ""})
    assert len(differences(sale)) == 3
    assert rows(sale) == 4


def test_a_difference_that_comes_back_is_told_anew(sale, sold):
    for refunded in (1000, 0, 1000):
        in_the_books(sale, "UPDATE charge SET refunded = ? WHERE id = ?", refunded, sold["id"])
        differences(sale)
    assert rows(sale) == 2


def test_a_part_that_is_on_its_way_back_is_no_difference(sale, sold, settings):
    url, settings.MOCK_PSP_URL = settings.MOCK_PSP_URL, AWAY
    order = str(sale.orders()[0].id)
    assert sale.refund(order, [str(sale.units[0].id)]) == "200"
    settings.MOCK_PSP_URL = url
    assert differences(sale) == []
    sale.recover_fully()
    assert differences(sale) == []
    assert rows(sale) == 0


def test_a_charge_that_a_later_look_has_made_is_not_missed_for_its_age(sale, impatient):
    hold = sale.hold()
    # it is charged when somebody looks again, much later than the payment was made
    database.advance_clock(-SETTLE_SECONDS / 2)
    assert sale.pay(hold) == "201"
    assert differences(sale) == []
    assert rows(sale) == 0


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is put into it is done after the provider has listed its charges, and before ours are read."""
    acts: list[Any] = []

    class Listing:
        def __init__(self, account: PaymentAccount) -> None:
            self.provider = provider_of(account)

        def charges(self, *between: Any) -> list[ListedCharge]:
            listed = list(self.provider.charges(*between))
            for act in acts:
                act()
            return listed

    monkeypatch.setattr(reconcile, "provider_of", Listing)
    return acts


def test_what_happens_while_the_lists_are_read_is_no_difference(sale, sold, meanwhile):
    order = str(sale.orders()[0].id)
    meanwhile.append(lambda: sale.refund(order))
    assert differences(sale) == []
    assert sale.orders()[0].status == "refunded"
    meanwhile.clear()
    assert differences(sale) == []
    assert rows(sale) == 0


def test_late_money_that_no_callback_told_of_goes_back(sale, impatient, receiving):
    hold = sale.hold()
    assert sale.pay(hold, "tok_error_500") == "202"
    sale.recover_fully()
    (payment,) = sale.payments(hold)
    sale.there().charge(ChargeOrder(payment.provider_key, 2 * PRICE, "EUR", "tok_no_callback", receiving.url))
    assert differences(sale) == []
    sale.recover_fully()
    assert sale.story(hold) == ("pending", None, ["refunded"], ["succeeded"])
    assert differences(sale) == []
    sale.judge()


def test_late_money_that_the_organizer_gave_back_already_is_left_alone(sale, impatient, receiving):
    hold = sale.hold()
    assert sale.pay(hold, "tok_error_500") == "202"
    sale.recover_fully()
    (payment,) = sale.payments(hold)
    late = sale.there().charge(ChargeOrder(payment.provider_key, 2 * PRICE, "EUR", "tok_ok", receiving.url))
    sale.refund_there(late.reference, 2 * PRICE)
    assert sale.tell(payment.provider_key) == 200
    sale.recover(0)
    assert differences(sale) == []
    sale.recover_fully()
    assert sale.story(hold) == ("pending", None, ["declined"], [])
    sale.judge()


def test_a_payment_that_is_still_open_is_left_to_recovery(sale, mortals):
    hold = sale.hold()
    asked = {"tenant": str(sale.tenant), "hold": hold, "key": "k"}
    assert mortals.run("pay", "before reservations.checkout.saga.settle", **asked).how == "killed"
    assert differences(sale) == []
    sale.recover(LEASE_SECONDS)
    assert differences(sale) == []
    sale.judge()


def test_a_provider_that_is_away_resolves_nothing_and_finds_nothing(sale, sold, settings):
    sale.refund_there(sold["id"], 1000)
    assert len(differences(sale)) == 1
    settings.MOCK_PSP_URL = AWAY
    with pytest.raises(ProviderAway):
        differences(sale)
    with tenant_transaction(sale.tenant):
        assert Difference.objects.filter(resolved_at=None).count() == 1


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`only(sale, …)`: the accounts of these are all there are."""

    def choose(*sales: Sale) -> None:
        accounts = PaymentAccount.everywhere.filter(tenant_id__in=[sale.tenant for sale in sales])
        monkeypatch.setattr(reconcile.PaymentAccount, "everywhere", accounts)

    return choose


def test_the_command_prints_what_is_open_and_fails_while_something_is(sale, sold, make_sale, only):
    fine = make_sale()
    fine.sell()
    sale.refund_there(sold["id"], 1000)
    database.advance_clock(SETTLE_SECONDS + 1)
    only(fine, sale)
    printed = StringIO()
    with pytest.raises(SystemExit) as left:
        call_command("reconcile", "--json", stdout=printed)
    assert left.value.code == 1
    found = json.loads(printed.getvalue())["differences"]
    assert str(fine.tenant) not in {one["tenant"] for one in found}
    (mine,) = [one for one in found if one["tenant"] == str(sale.tenant)]
    assert (mine["kind"], mine["here"], mine["there"]) == ("refund", "0.00 EUR", "10.00 EUR")
    assert mine["order"] == str(sale.orders()[0].id)
