"""API keys as text."""

import hashlib
import string

from hypothesis import assume, example, given
from hypothesis import strategies as st

from tenants import keys

HEX = "0123456789abcdef"
URL_SAFE = string.ascii_letters + string.digits + "_-"
KEYS = st.builds("hf_{}_{}".format, st.text(HEX, min_size=10, max_size=10), st.text(URL_SAFE, min_size=43, max_size=43))


def test_a_new_key_has_the_form_of_one_and_256_bits_of_its_own():
    key = keys.generate()
    assert keys.parse(key.whole) == key
    assert len(key.prefix) == 10
    assert len(key.secret) == 43  # 32 bytes in base64


def test_no_two_new_keys_share_a_prefix_or_a_secret():
    made = [keys.generate() for _ in range(1_000)]
    assert len({key.prefix for key in made}) == len({key.secret for key in made}) == 1_000


@given(KEYS)
def test_what_has_the_form_of_a_key_is_read_whole(text):
    key = keys.parse(text)
    assert key is not None
    assert key.whole == text


@given(st.text())
@example("hf_0123456789_" + "a" * 42)
@example("hf_0123456789_" + "a" * 44)
@example("hf_0123456789_" + "a" * 43 + "\n")
@example("HF_0123456789_" + "a" * 43)
@example("hf_0123456789A" + "a" * 43)
@example("hf_012345678G_" + "a" * 43)
@example("hf_\u0660123456789_" + "a" * 43)
@example("hf_0123456789_" + "\u00e4" * 43)
@example("hf_0123456789_" + "a" * 42 + "\0")
def test_what_has_not_the_form_of_a_key_is_none(text):
    parts = text.split("_", 2)
    well_formed = (
        len(parts) == 3
        and parts[0] == "hf"
        and len(parts[1]) == 10
        and set(parts[1]) <= set(HEX)
        and len(parts[2]) == 43
        and set(parts[2]) <= set(URL_SAFE)
    )
    assert (keys.parse(text) is not None) == well_formed


@given(KEYS, KEYS)
def test_a_secret_matches_its_own_digest_and_no_other(one, other):
    assume(one[14:] != other[14:])
    key, another = keys.parse(one), keys.parse(other)
    assert key
    assert another
    assert keys.matches(key, hashlib.sha256(key.secret.encode()).digest())
    assert not keys.matches(key, another.sha256)
    assert not keys.matches(key, b"")


@given(KEYS)
def test_no_form_of_printing_shows_the_secret(text):
    key = keys.parse(text)
    assert key
    for shown in (repr(key), str(key), f"{key}", f"{[key]}"):
        assert key.secret not in shown
        assert key.prefix in shown
