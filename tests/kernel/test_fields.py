"""Strict fields: what is of the wrong type or out of range is refused, with a code, and nothing raises."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework import serializers

from holdfast.kernel.fields import (
    IdField,
    MetadataField,
    MomentField,
    StrictBooleanField,
    StrictIntegerField,
    StrictSerializer,
    TextField,
)

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def code(field: serializers.Field, value: Any) -> str | None:
    """The code of the refusal, None where the value is taken."""
    try:
        field.run_validation(value)
    except serializers.ValidationError as error:
        return error.get_codes()[0]
    return None


INTEGER = StrictIntegerField(min_value=0)


@pytest.mark.parametrize(
    "value",
    ["2", "", 2.0, 1e3, 0.5, -0.0, True, False, [], [2], {}, float("nan"), float("inf"), b"2", "\u0662"],
    ids=repr,
)
def test_what_is_no_json_integer_is_none(value):
    assert code(INTEGER, value) == "invalid"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, None),
        (1, None),
        (2**31 - 1, None),
        (2**31, "max_value"),
        (2**63, "max_value"),
        (2**64, "max_value"),
        (10**300, "max_value"),
        (-1, "min_value"),
        (-(2**63), "min_value"),
    ],
)
def test_an_integer_has_its_range(value, expected):
    assert code(INTEGER, value) == expected


def test_no_integer_is_told_from_null():
    assert code(INTEGER, None) == "null"
    assert code(StrictIntegerField(min_value=0, allow_null=True), None) is None


@pytest.mark.parametrize("value", [0, 1, "true", "false", "", "on", None, [], {}, 1.0], ids=repr)
def test_only_true_and_false_are_booleans(value):
    assert code(StrictBooleanField(), value) is not None
    assert [code(StrictBooleanField(), boolean) for boolean in (True, False)] == [None, None]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-29T20:00:00Z", datetime(2026, 11, 29, 20, tzinfo=UTC)),
        ("2026-11-29t20:00:00z", datetime(2026, 11, 29, 20, tzinfo=UTC)),
        ("2026-11-29T20:00:00+01:00", datetime(2026, 11, 29, 19, tzinfo=UTC)),
        ("2026-11-29T20:00:00-23:59", datetime(2026, 11, 30, 19, 59, tzinfo=UTC)),
        ("2026-11-29T20:00:00-00:00", datetime(2026, 11, 29, 20, tzinfo=UTC)),
        ("2026-11-29T20:00:00.5Z", datetime(2026, 11, 29, 20, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-11-29T20:00:00.123456789Z", datetime(2026, 11, 29, 20, 0, 0, 123_456, tzinfo=UTC)),
        ("2000-01-01T00:00:00Z", datetime(2000, 1, 1, tzinfo=UTC)),
        ("2199-12-31T23:59:59.999999Z", datetime(2199, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
        ("2024-02-29T00:00:00Z", datetime(2024, 2, 29, tzinfo=UTC)),
    ],
)
def test_a_time_with_an_offset_is_kept_in_utc(text, moment):
    read = MomentField().run_validation(text)
    assert read == moment
    assert read.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-29T20:00:00",
        "2026-11-29 20:00:00Z",
        "2026-11-29",
        "20261129T200000Z",
        "2026-W48-7T20:00:00Z",
        "2026-11-29T20:00Z",
        "2026-11-29T20:00:00+01",
        "2026-11-29T20:00:00+0100",
        "2026-11-29T20:00:00+24:00",
        "2026-11-29T20:00:00+14:60",
        "2026-11-29T20:00:00+01:00:00",
        "2026-11-29T20:00:00.Z",
        "2026-11-29T20:00:00,5Z",
        "2026-11-29T20:00:00.1234567890Z",
        "2026-11-29T24:00:00Z",
        "2026-11-29T20:60:00Z",
        "2026-06-30T23:59:60Z",
        "2026-02-30T00:00:00Z",
        "2025-02-29T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "+2026-11-29T20:00:00Z",
        "\u0662026-11-29T20:00:00Z",
        "2026-11-29T20:00:00Z\n",
        " 2026-11-29T20:00:00Z",
        "2026-11-29T20:00:00Z\0",
        "now",
        "",
    ],
)
def test_what_is_no_time_of_rfc_3339_is_none(text):
    assert code(MomentField(), text) == "invalid"


@pytest.mark.parametrize("value", [0, 1.5, 1764446400, True, [], {}, ["2026-11-29T20:00:00Z"]], ids=repr)
def test_a_time_is_text(value):
    assert code(MomentField(), value) == "invalid"


@pytest.mark.parametrize(
    "text",
    [
        "9999-12-31T23:59:59-14:00",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00Z",
        "1999-12-31T23:59:59Z",
        "2200-01-01T00:00:00Z",
        "2000-01-01T00:00:00+00:01",
        "2199-12-31T23:59:59-00:01",
    ],
)
def test_a_time_far_off_is_out_of_range(text):
    assert code(MomentField(), text) == "out_of_range"


@given(st.datetimes(datetime(2001, 1, 1), datetime(2199, 1, 1), timezones=st.timezones()))  # noqa: DTZ001
def test_every_time_in_range_comes_back_as_itself(moment):
    offset = moment.utcoffset()
    if offset is None or offset % timedelta(minutes=1):
        return  # an offset of old that RFC 3339 can't write
    field = MomentField()
    moment = moment.astimezone(UTC)  # two zones never agree on a time that one of them skips
    assert field.run_validation(moment.isoformat()) == moment
    assert field.run_validation(field.to_representation(moment)) == moment


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Anna", "Anna"),
        ("  Anna ", "Anna"),
        ("Zoë 🎭", "Zoë 🎭"),
        ("👩‍👩‍👧‍👦", "👩‍👩‍👧‍👦"),  # joined by U+200D, which is not a control character
        ("a b", "a b"),
        ("عربي", "عربي"),
    ],
)
def test_text_is_trimmed_and_kept(value, expected):
    assert TextField(max_length=60).run_validation(value) == expected


@pytest.mark.parametrize("character", ["\0", "\x01", "\n", "\r", "\t", "\x1b", "\x7f", "\x85", "\x9f"], ids=repr)
def test_text_has_no_control_characters(character):
    assert code(TextField(), f"a{character}b") == "control_characters"


@pytest.mark.parametrize("value", [1, 1.5, True, [], ["a"], {}, b"a"], ids=repr)
def test_text_is_json_text(value):
    assert code(TextField(), value) == "invalid"


def test_the_length_of_text_is_counted_in_characters_as_it_was_sent():
    assert code(TextField(max_length=5), " 🎭🎭🎭 ") is None
    assert code(TextField(max_length=4), " 🎭🎭🎭 ") == "max_length"
    assert code(TextField(), "Anna\t") == "control_characters"
    assert code(TextField(max_length=3), "🎭🎭🎭🎭") == "max_length"
    assert code(TextField(), "   ") == "blank"
    assert code(TextField(), None) == "null"


ID = "01890000-0000-7000-8000-00000000000a"


@pytest.mark.parametrize("text", [ID, ID.upper()])
def test_an_id_is_36_characters(text):
    assert IdField().run_validation(text) == UUID(ID)


@pytest.mark.parametrize(
    "value",
    [
        ID.replace("-", ""),
        f"{{{ID}}}",
        f"urn:uuid:{ID}",
        f" {ID}",
        f"{ID}\n",
        ID[:-1],
        f"{ID}0",
        ID.replace("0", "\u0660"),
        "",
        0,
        2**63,
        1.5,
        True,
        [],
        [ID],
        {},
    ],
    ids=repr,
)
def test_what_is_no_id_is_none(value):
    assert code(IdField(), value) == "invalid"


@given(ANYTHING)
def test_no_field_raises_for_any_json(value):
    for field in (INTEGER, MomentField(), TextField(), IdField(), MetadataField(), StrictBooleanField()):
        code(field, value)


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def metadata_of(size_bytes: int) -> dict[str, str]:
    empty = len(json.dumps({"a": ""}, separators=(",", ":")))
    return {"a": "x" * (size_bytes - empty)}


def test_metadata_may_have_4096_bytes_and_no_more():
    assert code(MetadataField(), metadata_of(4096)) is None
    assert code(MetadataField(), metadata_of(4097)) == "too_long"
    # bytes, not characters: each of these takes four
    assert code(MetadataField(), {"a": "🎭" * 1022}) is None
    assert code(MetadataField(), {"a": "🎭" * 1023}) == "too_long"


@pytest.mark.parametrize(
    "value",
    [
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": [{"b": float("-inf")}]},
        {"a": "x\0y"},
        {"a\0": 1},
        {"a": [{"b\0": 1}]},
    ],
    ids=repr,
)
def test_metadata_that_postgresql_can_not_keep_is_refused(value):
    assert code(MetadataField(), value) == "unstorable"


@pytest.mark.parametrize("value", [[], "a", 1, True, 1.5, [{}]], ids=repr)
def test_metadata_is_an_object(value):
    assert code(MetadataField(), value) == "not_an_object"


def test_metadata_nested_too_deeply_is_refused_and_not_raised():
    assert code(MetadataField(), nested(MetadataField.DEPTH_MAX - 1)) is None
    for depth in (MetadataField.DEPTH_MAX, 2_000, 100_000):
        assert code(MetadataField(), nested(depth)) == "unstorable"


class Inner(StrictSerializer):
    count = StrictIntegerField(min_value=1)


class Outer(StrictSerializer):
    name = TextField()
    inner = serializers.ListField(child=Inner(), required=False)


def faults(data: Any) -> dict[str, Any]:
    serializer = Outer(data=data)
    assert not serializer.is_valid()
    return serializer.errors


def test_members_that_are_not_known_are_refused_by_name_beside_all_other_faults():
    found = faults({"nmae": "x", "inner": [{"count": 1}, {"count": 0, "more": 1}]})
    assert found["nmae"][0].code == "unknown"
    assert found["name"][0].code == "required"
    assert found["inner"][1]["count"][0].code == "min_value"
    assert found["inner"][1]["more"][0].code == "unknown"
    assert 0 not in found["inner"]


@pytest.mark.parametrize("value", [[], "a", 1, True, 1.5], ids=repr)
def test_an_object_is_asked_for_where_one_is_due(value):
    assert "non_field_errors" in faults(value)
    assert faults({"name": "a", "inner": [value]})["inner"][0]["non_field_errors"]
