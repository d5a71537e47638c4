"""Money: integers in the minor unit, with the exponents of ISO 4217."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.kernel.money import EXPONENTS, formatted, money


@pytest.mark.parametrize(("currency", "exponent"), [("JPY", 0), ("EUR", 2), ("USD", 2), ("KWD", 3), ("CLF", 4)])
def test_exponents_are_those_of_iso_4217(currency, exponent):
    assert EXPONENTS[currency] == exponent


@pytest.mark.parametrize("code", ["XAU", "XDR", "XXX", "XTS", "DEM", "eur", "", "EURO"])
def test_what_has_no_minor_unit_or_is_no_currency_is_not_for_sale(code):
    assert code not in EXPONENTS


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        (2500, "EUR", "25.00 EUR"),
        (5, "EUR", "0.05 EUR"),
        (0, "EUR", "0.00 EUR"),
        (-5, "EUR", "-0.05 EUR"),
        (-2505, "EUR", "-25.05 EUR"),
        (80, "JPY", "80 JPY"),
        (-80, "JPY", "-80 JPY"),
        (1234, "KWD", "1.234 KWD"),
        (1, "KWD", "0.001 KWD"),
        (10**12, "EUR", "10000000000.00 EUR"),
    ],
)
def test_people_read_it_with_the_point_in_its_place(amount, currency, text):
    assert formatted(amount, currency) == text


@given(st.integers(-(10**15), 10**15), st.sampled_from(sorted(EXPONENTS)))
def test_what_people_read_is_the_amount(amount, currency):
    digits, code = formatted(amount, currency).split(" ")
    assert code == currency
    assert int(digits.replace(".", "")) == amount
    assert len(digits.partition(".")[2]) == EXPONENTS[currency]


def test_machines_read_the_integer():
    assert money(2500, "EUR") == {"amount": 2500, "currency": "EUR"}


@pytest.mark.parametrize(("currency", "status"), [("JPY", 201), ("EUR", 201), ("KWD", 201), ("XAU", 422), ("eur", 422)])
def test_an_event_sells_in_a_currency_with_a_minor_unit(currency, status, tenant, api):
    body = {"slug": "a", "name": "A", "kind": "seats", "currency": currency, "timezone": "UTC"}
    answer = api(tenant).post("/v1/events", body)
    assert answer.status_code == status
    if status == 422:
        assert [fault["pointer"] for fault in answer.json()["errors"]] == ["/currency"]


@pytest.mark.parametrize("amount", [0, 1, 2**31, 10**12])
def test_a_price_comes_back_as_the_same_integer(amount, tenant, api, make_event):
    event = make_event(tenant, currency="KWD")
    price = {"amount": amount, "currency": "KWD"}
    body = {"units": [{"label": "A-1", "price": price}]}
    assert api(tenant).post(f"/v1/events/{event.id}/units", body).status_code == 201
    (unit,) = api(tenant).get(f"/v1/events/{event.id}/units").json()["data"]
    assert unit["price"] == price


@pytest.mark.parametrize("amount", [-1, 10**12 + 1, 2**63, 10**30, "2500", 25.0, True, None])
def test_a_price_that_is_no_amount_is_refused(amount, tenant, api, make_event):
    event = make_event(tenant)
    body = {"units": [{"label": "A-1", "price": {"amount": amount, "currency": "EUR"}}]}
    answer = api(tenant).post(f"/v1/events/{event.id}/units", body)
    assert answer.status_code == 422
    assert [fault["pointer"] for fault in answer.json()["errors"]] == ["/units/0/price/amount"]
    assert api(tenant).get(f"/v1/events/{event.id}/units").json()["data"] == []


def test_a_price_in_another_currency_is_refused(tenant, api, make_event):
    event = make_event(tenant, currency="EUR")
    body = {"units": [{"label": "A-1"}, {"label": "A-2", "price": {"amount": 1, "currency": "USD"}}]}
    answer = api(tenant).post(f"/v1/events/{event.id}/units", body)
    assert answer.status_code == 422
    assert [fault["pointer"] for fault in answer.json()["errors"]] == ["/units/1/price/currency"]
    assert api(tenant).get(f"/v1/events/{event.id}/units").json()["data"] == []
