"""Strict serializer fields: what arrives must already be of the type, in range, and known by name."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any
from uuid import UUID

import orjson
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from holdfast.kernel.errors import ERRORS_SHOWN_MAX

INTEGER_MAX = 2**31 - 1
MOMENT_MIN = datetime(2000, 1, 1, tzinfo=UTC)
MOMENT_MAX = datetime(2200, 1, 1, tzinfo=UTC)
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:[0-5]\d)", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_FRACTION = re.compile(r"\.(\d{1,6})\d*")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


_UNKNOWN = serializers.ErrorDetail("There is no such member.", code="unknown")


class StrictSerializer(serializers.Serializer[Any]):
    """A serializer that refuses members it does not know."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, dict):
            raise serializers.ValidationError({"non_field_errors": ["Must be an object."]}, code="not_an_object")
        unknown = (name for name in data if name not in self.fields)
        faults = {name: [_UNKNOWN] for name in islice(unknown, ERRORS_SHOWN_MAX)}
        try:
            value = super().to_internal_value(data)
        except serializers.ValidationError as error:
            raise serializers.ValidationError(
                {**error.detail, **faults}  # type: ignore[dict-item]
            ) from error
        if faults:
            raise serializers.ValidationError(faults)
        return value


class StrictIntegerField(serializers.IntegerField):
    """A JSON integer: no text, no float, no boolean."""

    def __init__(self, *, min_value: int, max_value: int = INTEGER_MAX, **kwargs: Any) -> None:
        super().__init__(min_value=min_value, max_value=max_value, **kwargs)

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            self.fail("invalid")
        return data


class BoundedListField(serializers.ListField):
    """A list that is measured before its members are looked at: a long one costs no more than a short one."""

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, list) and self.max_length is not None and len(data) > self.max_length:
            message = f"Ensure this field has no more than {self.max_length} elements."
            raise serializers.ValidationError(message, code="max_length")
        return super().run_validation(data)


class StrictBooleanField(serializers.BooleanField):
    """JSON true or false."""

    def to_internal_value(self, data: Any) -> bool:
        if type(data) is not bool:
            self.fail("invalid", input=data)
        return data


class TextField(serializers.CharField):
    """JSON text, trimmed, without control characters (line breaks included)."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        # of the text as it was sent: what trimming takes off is judged, too
        if _CONTROL.search(data):
            raise serializers.ValidationError("Control characters are not allowed.", code="control_characters")
        if self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        text: str = super().to_internal_value(data)
        return text


@extend_schema_field({"type": "string", "format": "date-time"})
class MomentField(serializers.Field[datetime, Any, str, datetime]):
    """A time in RFC 3339 with an offset, between the years 2000 and 2200; kept in UTC."""

    default_error_messages = {
        "invalid": "Must be a time as in RFC 3339, with an offset: 2026-11-29T20:00:00Z.",
        "out_of_range": "Must lie between the years 2000 and 2200.",
    }

    def to_internal_value(self, data: Any) -> datetime:
        return parse_moment(data, self)

    def to_representation(self, value: datetime) -> str:
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_moment(data: Any, field: serializers.Field[Any, Any, Any, Any]) -> datetime:
    """The moment, in UTC; fails on the field with `invalid` or `out_of_range`."""
    if not isinstance(data, str) or not _RFC3339.fullmatch(data):
        field.fail("invalid")
    try:
        # fromisoformat takes at most six digits of a second
        moment = datetime.fromisoformat(_FRACTION.sub(r".\1", data.upper()))
    except ValueError:
        field.fail("invalid")
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        field.fail("out_of_range")
    if not MOMENT_MIN <= moment < MOMENT_MAX:
        field.fail("out_of_range")
    return moment


class IdField(serializers.UUIDField):
    """An id: a UUID as text in its usual form."""

    def to_internal_value(self, data: Any) -> UUID:
        value = parse_id(data)
        if value is None:
            self.fail("invalid", value=data)
        return value


def parse_id(text: Any) -> UUID | None:
    """The id, or None for what is none: only the 36-character form is one."""
    return UUID(text) if isinstance(text, str) and _UUID.fullmatch(text) else None


@extend_schema_field({"type": "object", "additionalProperties": True})
class MetadataField(serializers.JSONField):
    """A free JSON object of at most 4 KiB: at most 32 levels deep, numbers of at most 64 bits, no NUL characters
    (PostgreSQL stores none)."""

    BYTES_MAX = 4096
    DEPTH_MAX = 32
    default_error_messages = {
        "not_an_object": "Must be an object.",
        "too_long": "Must have at most 4 KiB.",
        "unstorable": "Must have at most 32 levels, numbers of at most 64 bits, and no NUL characters.",
    }

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("not_an_object")
        if not _storable(data, self.DEPTH_MAX):
            self.fail("unstorable")
        size_bytes = len(orjson.dumps(data))
        if size_bytes > self.BYTES_MAX:
            self.fail("too_long")
        return data


def _storable(data: Any, depth_max: int) -> bool:
    """Whether it can be kept and shown: not too deep, numbers of at most 64 bits, text without NUL characters."""
    match data:
        case Mapping() | list() if depth_max == 0:
            return False
        case Mapping():
            return all(_storable(part, depth_max - 1) for pair in data.items() for part in pair)
        case list():
            return all(_storable(part, depth_max - 1) for part in data)
        case str():
            return "\0" not in data
        case int() | float():
            # PostgreSQL keeps a number as written out, and JSON's readers and writers end at 64 bits
            return -(2**63) <= data < 2**64
    return True
