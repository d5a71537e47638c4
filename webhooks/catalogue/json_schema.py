"""Serializers as JSON Schema (2020-12), each once, under its name.

drf-spectacular makes the same of them within a whole document, in OpenAPI 3.0's own dialect, and offers no door for one
alone. The fields that are shown are of few kinds; any other is a KeyError, which the tests find.
"""

from collections.abc import Mapping
from inspect import cleandoc
from typing import Any

from rest_framework import serializers

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]

_UUID: Schema = {"type": "string", "format": "uuid"}
_MOMENT: Schema = {"type": "string", "format": "date-time", "pattern": "Z$"}
_KINDS: Mapping[type[serializers.Field[Any, Any, Any, Any]], Schema] = {
    serializers.UUIDField: _UUID,
    serializers.DateTimeField: _MOMENT,
    serializers.CharField: {"type": "string"},
    serializers.IntegerField: {"type": "integer"},
    serializers.BooleanField: {"type": "boolean"},
    serializers.DictField: {"type": "object"},
}


def message_schema(
    name: str, description: str, subject: str, data: serializers.Serializer[Any], always: Mapping[str, Any]
) -> Schema:
    """A message of this type about a `subject`; `always` is what its data always say."""
    definitions: dict[str, Schema] = {}
    told = _reference(data, definitions)
    if always:
        told |= {"properties": {member: {"const": value} for member, value in always.items()}}
    return {
        "$schema": DIALECT,
        "title": name,
        "description": description,
        **_object(
            {
                "id": {**_UUID, "description": "of the message, the same at every attempt; also the header webhook-id"},
                "type": {"const": name},
                "sequence": {"type": "integer", "minimum": 1, "description": "counts 1, 2, 3 for each subject"},
                "occurred_at": _MOMENT,
                "tenant": _UUID,
                "subject": _object({"type": {"const": subject}, "id": _UUID}),
                "data": {**told, "description": "the subject as its GET showed it at that moment"},
            }
        ),
        "$defs": definitions,
    }


def _object(properties: Schema) -> Schema:
    """All members are there; others may come, and receivers let them pass."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _reference(serializer: serializers.Serializer[Any], definitions: dict[str, Schema]) -> Schema:
    name = type(serializer).__name__.removesuffix("Shown").removesuffix("Told")
    if name not in definitions:
        definitions[name] = {}  # in the order in which they are met
        definitions[name] = _definition(serializer, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _definition(serializer: serializers.Serializer[Any], definitions: dict[str, Schema]) -> Schema:
    fields = serializer.fields.items()
    schema = _object({name: _field(field, definitions) for name, field in fields})
    schema["required"] = [name for name, field in fields if field.required]
    if text := type(serializer).__dict__.get("__doc__"):
        schema["description"] = cleandoc(text)
    return schema


def _field(field: Any, definitions: dict[str, Schema]) -> Schema:
    schema = dict(_kind(field, definitions))
    if field.allow_null:
        schema = _or_null(schema)
    if field.help_text:
        schema["description"] = str(field.help_text)
    return schema


def _kind(field: Any, definitions: dict[str, Schema]) -> Schema:
    match field:
        case serializers.ListSerializer() | serializers.ListField():
            return {"type": "array", "items": _field(field.child, definitions)}
        case serializers.Serializer():
            return _reference(field, definitions)
        case serializers.ChoiceField():
            return {"type": "string", "enum": [str(choice) for choice in field.choices]}
        case _:
            return _KINDS[type(field)]


def _or_null(schema: Schema) -> Schema:
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    choices = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return schema | {"type": [schema["type"], "null"]} | choices
