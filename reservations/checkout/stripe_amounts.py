"""Amounts as Stripe counts them, which is not ISO 4217 everywhere (docs.stripe.com/currencies).

Ours are in the minor unit of ISO 4217. What can't be said to Stripe without rounding or guessing is not said at all.
"""

from fractions import Fraction

from holdfast.kernel.money import EXPONENTS

# listed there as having no decimals; MGA has two in ISO 4217
_NO_DECIMALS = frozenset(
    {"BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF"}
)
# listed there with three, of which the last must be 0; other currencies with three or more are not taken
_THREE_DECIMALS = frozenset({"BHD", "JOD", "KWD", "OMR", "TND"})
_THREE_DECIMALS_STEP = 10
# has none in ISO 4217 and two at Stripe, always 00 (support.stripe.com, end of fractional ISK charges)
_ALWAYS_WHOLE = frozenset({"ISK"})
_WHOLE_STEP = 100
# its pages have said both "no decimals" and "two, always 00": a hundredfold, too much to guess
_UNCLEAR = frozenset({"UGX"})
_USUAL_DECIMALS = 2
# no currency may have more than twelve digits there; most have less, and Stripe itself says no to those
AMOUNT_MAX = 999_999_999_999


class NotForStripe(ValueError):
    """Stripe takes no such amount; `code` says why as a decline code would."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def to_stripe(amount: int, currency: str) -> int:
    """The same amount as Stripe counts it. Raises NotForStripe."""
    counted = Fraction(amount) * _factor(currency)
    if counted.denominator != 1 or counted % _step(currency):
        raise NotForStripe("amount_not_supported")
    if not 0 < counted <= AMOUNT_MAX:
        raise NotForStripe("amount_out_of_range")
    return int(counted)


def from_stripe(counted: int, currency: str) -> int:
    """What Stripe counts, in our units; 0 is an amount, too. Raises NotForStripe for what we could never have sent."""
    amount = Fraction(counted) / _factor(currency)
    if amount.denominator != 1:
        raise NotForStripe("amount_not_supported")
    return int(amount)


def _factor(currency: str) -> Fraction:
    """How many of Stripe's units one of ours is."""
    if currency not in EXPONENTS or currency in _UNCLEAR:
        raise NotForStripe("currency_not_supported")
    ours, theirs = EXPONENTS[currency], _decimals(currency)
    return Fraction(10) ** (theirs - ours)


def _decimals(currency: str) -> int:
    if currency in _NO_DECIMALS:
        return 0
    if currency in _THREE_DECIMALS:
        return 3
    if currency not in _ALWAYS_WHOLE and EXPONENTS[currency] != _USUAL_DECIMALS:
        raise NotForStripe("currency_not_supported")
    return _USUAL_DECIMALS


def _step(currency: str) -> int:
    if currency in _THREE_DECIMALS:
        return _THREE_DECIMALS_STEP
    return _WHOLE_STEP if currency in _ALWAYS_WHOLE else 1
