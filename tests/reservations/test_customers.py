"""Spellings of one customer are one key; two customers are two."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reservations.customers import customer_key, normalised

TEXT = st.text(max_size=60)
SPACE = st.text(alphabet=" \t\n\r\x0b\x0c\x85\xa0\u2003\u2028\u202f\u3000", max_size=4)


@given(TEXT)
def test_what_is_normalised_stays_as_it_is(text: str) -> None:
    assert normalised(normalised(text)) == normalised(text)


@given(TEXT)
def test_a_key_has_32_bytes(text: str) -> None:
    assert len(customer_key(text)) == 32


@given(SPACE, TEXT, SPACE)
def test_space_around_a_customer_changes_nothing(before: str, text: str, after: str) -> None:
    assert customer_key(before + text + after) == customer_key(text)


@given(TEXT, st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_the_form_of_unicode_changes_nothing(text: str, form: str) -> None:
    assert customer_key(unicodedata.normalize(form, text)) == customer_key(text)


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=60))
def test_the_case_of_ascii_changes_nothing(text: str) -> None:
    assert customer_key(text.upper()) == customer_key(text.lower()) == customer_key(text.swapcase())


@given(TEXT)
def test_folded_text_is_the_same_customer(text: str) -> None:
    assert customer_key(text.casefold()) == customer_key(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ada@example.org", "ADA@Example.ORG"),
        ("straße", "STRASSE"),
        ("ﬁsh", "fish"),
        ("Å", "A\u030a"),
        ("Å", "\u212b"),
        ("ａｄａ", "ada"),
        ("①", "1"),
        ("ΣΑΣ", "σας"),
    ],
)
def test_these_are_one_customer(one: str, other: str) -> None:
    assert customer_key(one) == customer_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("ada", "adá"), ("ada lovelace", "adalovelace"), ("a", "а"), ("ada", "ada.")]
)
def test_these_are_two_customers(one: str, other: str) -> None:
    assert customer_key(one) != customer_key(other)


@pytest.mark.parametrize("text", ["", " ", "\u3000", "\xa0\u2003", "\n\t"])
def test_space_alone_is_nobody(text: str) -> None:
    assert normalised(text) == ""
