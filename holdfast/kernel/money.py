"""Money: an integer in the currency's minor unit, with the exponents of ISO 4217."""

from collections.abc import Mapping

from iso4217 import Currency

# codes without minor units (gold, special drawing rights, test codes) are not for sale here
EXPONENTS: Mapping[str, int] = {
    currency.code: currency.exponent for currency in Currency if currency.exponent is not None
}
AMOUNT_MAX = 10**12


def money(amount: int, currency: str) -> dict[str, int | str]:
    """The JSON form: `{"amount": 2500, "currency": "EUR"}`."""
    return {"amount": amount, "currency": currency}


def formatted(amount: int, currency: str) -> str:
    """For people: `25.00 EUR`, `80 JPY`, `1.234 KWD`."""
    exponent = EXPONENTS[currency]
    if exponent == 0:
        return f"{amount} {currency}"
    sign = "-" if amount < 0 else ""
    whole, part = divmod(abs(amount), 10**exponent)
    return f"{sign}{whole}.{part:0{exponent}d} {currency}"
