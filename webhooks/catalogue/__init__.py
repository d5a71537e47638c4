"""The catalogue of messages: of each type, when it is said, a JSON Schema (2020-12) of the whole, and an example.

Whoever publishes messages describes them, in a mapping that MESSAGE_CATALOGUE of the settings names: webhooks know
nothing of reservations. The schema is made of the serializers that the API's own document is made of, so nothing is
written twice, and what a GET shows and what a message carries can't be told in two ways.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string
from rest_framework.serializers import Serializer

from webhooks.catalogue.json_schema import message_schema
from webhooks.message_types import TYPES

# nothing was said of the subject before
FIRST = (".created", ".issued", ".published", "ping")


@dataclass(frozen=True, slots=True)
class Described:
    """`description` says when the message is said, `data` what it carries, and `always` which of that is always so."""

    description: str
    data: type[Serializer[Any]]
    subject: str
    example: Mapping[str, Any]
    always: Mapping[str, Any] = field(default_factory=dict)


@cache
def described() -> Mapping[str, Described]:
    """All types, in the order of TYPES. Raises KeyError where nobody describes one of them."""
    found = dict(_described())
    return {name: found[name] for name in TYPES}


@cache
def catalogue_json() -> list[dict[str, Any]]:
    """The catalogue as the API shows it, the same for everybody."""
    return [
        {
            "type": name,
            "description": one.description,
            "schema": message_schema(name, one.description, one.subject, one.data(), one.always),
            "example": _example(name, one),
        }
        for name, one in described().items()
    ]


def _described() -> Iterator[tuple[str, Described]]:
    for path in settings.MESSAGE_CATALOGUE:
        yield from import_string(path).items()


def _example(name: str, one: Described) -> dict[str, Any]:
    return {
        "id": "019a0c1e-7c00-7d11-8a2b-5f0e6d3c2b1a",
        "type": name,
        "sequence": 1 if name.endswith(FIRST) else 2,
        "occurred_at": "2026-06-01T18:30:00.123456Z",
        "tenant": "019a0c00-1000-7000-8000-000000000001",
        "subject": {"type": one.subject, "id": one.example["id"]},
        "data": one.example,
    }
