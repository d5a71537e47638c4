"""Query parameters, read strictly: one that is wrong is told by name. Each reader gives None where there is none."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.http import QueryDict
from rest_framework.exceptions import ValidationError

from holdfast.kernel.errors import Invalid
from holdfast.kernel.fields import MomentField, parse_id
from holdfast.kernel.problems import field_errors


def text_parameter(query: QueryDict, name: str) -> str | None:
    """Any text that PostgreSQL can compare. Raises Invalid for NUL characters."""
    text = query.get(name)
    if text is not None and "\0" in text:
        raise Invalid.parameter(name, "invalid", "Must have no NUL characters.")
    return text


def choice_parameter(query: QueryDict, name: str, choices: Collection[str]) -> str | None:
    """One of the choices. Raises Invalid."""
    text = query.get(name)
    if text is not None and text not in choices:
        raise Invalid.parameter(name, "unknown", f"Must be one of {', '.join(choices)}.")
    return text


def id_parameter(query: QueryDict, name: str) -> UUID | None:
    """An id, known or not. Raises Invalid for what is no id."""
    text = query.get(name)
    value = parse_id(text)
    if text is not None and value is None:
        raise Invalid.parameter(name, "invalid", "Is not an id.")
    return value


def moment_parameter(query: QueryDict, name: str) -> datetime | None:
    """A time in RFC 3339 with an offset. Raises Invalid."""
    text = query.get(name)
    if text is None:
        return None
    try:
        return MomentField().to_internal_value(text)
    except ValidationError as error:
        fault = field_errors(error.detail)[0]
        raise Invalid.parameter(name, fault.code, fault.detail) from error
