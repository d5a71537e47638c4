"""Secrets at rest: opened by the right purpose and by any of our keys; by nothing else."""

import pytest

from holdfast.kernel.encryption import CannotDecrypt, decrypt, encrypt

PLAIN = b'{"secret_key": "sk_test_1234567890"}'
OLD, NEW, OTHER = "o" * 40, "n" * 40, "x" * 40


@pytest.fixture
def locked() -> bytes:
    return encrypt("boxes", PLAIN)


def test_what_was_locked_is_opened_again_and_shows_nothing(locked):
    assert decrypt("boxes", locked) == PLAIN
    assert decrypt("boxes", bytes(memoryview(locked))) == PLAIN
    assert b"sk_test" not in locked


def test_the_same_text_is_locked_differently_each_time(locked):
    assert encrypt("boxes", PLAIN) != locked


def test_another_purpose_does_not_open_it(locked):
    with pytest.raises(CannotDecrypt):
        decrypt("tickets", locked)


@pytest.mark.parametrize("place", [0, 1, 9, 25, 40, -1])
def test_a_changed_byte_is_noticed(locked, place):
    changed = bytearray(locked)
    changed[place] = ord("A") if changed[place] != ord("A") else ord("B")
    with pytest.raises(CannotDecrypt):
        decrypt("boxes", bytes(changed))


@pytest.mark.parametrize("junk", [b"", b"\x00", b"\xff" * 64, b"gAAAAA", b"{}"])
def test_junk_is_not_opened(junk):
    with pytest.raises(CannotDecrypt):
        decrypt("boxes", junk)


def test_after_a_rotation_old_things_open_and_new_ones_need_the_new_key(settings):
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = OLD, []
    of_before = encrypt("boxes", PLAIN)

    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, [OTHER, OLD]
    of_now = encrypt("boxes", PLAIN)
    assert decrypt("boxes", of_before) == decrypt("boxes", of_now) == PLAIN

    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = NEW, []
    assert decrypt("boxes", of_now) == PLAIN
    with pytest.raises(CannotDecrypt):
        decrypt("boxes", of_before)


def test_a_failure_says_nothing_of_what_was_locked(locked):
    with pytest.raises(CannotDecrypt) as failed:
        decrypt("tickets", locked)
    assert locked.decode() not in str(failed.value)
