"""A row of any model for a tenant, with what it refers to: so that a test can walk all models, new ones too."""

import functools
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import connections, models
from django.db.models.functions import Now

from reservations.models import Event, Hold, Order, Payment, PaymentAccount, Refund, Ticket, Unit
from tenants.models import IdempotencyKey, Tenant, TenantModel, User
from tenants.scope import tenant_transaction
from tests.support.catalog import tenant_tables
from webhooks import signing_secrets
from webhooks.models import Attempt, Delivery, Endpoint, Replay


def unique(word: str) -> str:
    """A text that no other row has."""
    return f"{word}-{secrets.token_hex(8)}"


def tenant_models() -> list[type[TenantModel]]:
    """All models whose rows belong to a tenant."""
    return [model for model in apps.get_models() if issubclass(model, TenantModel)]


def word_of(model: type[TenantModel]) -> str:
    """What paths and bodies call it: ApiKey is api_key."""
    return str(model._meta.verbose_name).lower().replace(" ", "_")


def sample(model: type[TenantModel], tenant_id: UUID, **fields: Any) -> Any:
    """A committed row. Fields without a default are filled with something of their kind."""
    with tenant_transaction(tenant_id):
        return _make(model, tenant_id, **fields)


def one_of_each(tenant_id: UUID) -> dict[type[TenantModel], Any]:
    """A row in every table of tenants."""
    return {model: sample(model, tenant_id) for model in tenant_models()}


def _make(model: type[TenantModel], tenant_id: UUID, **fields: Any) -> Any:
    values: dict[str, Any] = {"tenant_id": tenant_id}
    values |= _SPECIAL.get(model, lambda _: {})(tenant_id)
    values |= fields
    for field in model._meta.local_fields:
        given = field.name in values or field.attname in values
        optional = field.null or field.has_default() or field.db_default is not models.NOT_PROVIDED
        if not given and not optional:
            values[field.name] = _value(field, tenant_id)
    return model.objects.create(**values)


def _sold_unit(tenant_id: UUID) -> dict[str, Any]:
    hold = _make(Hold, tenant_id, status="converted", ended_at=Now())
    order = _make(Order, tenant_id, hold=hold, event=hold.event)
    return {"order": order, "hold": hold, "event": hold.event, "status": "sold"}


def _order_of_a_hold(tenant_id: UUID) -> dict[str, Any]:
    hold = _make(Hold, tenant_id)
    return {"hold": hold, "event": hold.event, "retaken_hold": _make(Hold, tenant_id, event=hold.event)}


def _looked_at_some_day(_: UUID) -> dict[str, Any]:
    """In no test's time: nobody takes it up."""
    return {"look_at": Now() + timedelta(days=3650)}


def _void_ticket(tenant_id: UUID) -> dict[str, Any]:
    return {"status": "void", "refund": _make(Refund, tenant_id)}


def _refund_of_money(tenant_id: UUID) -> dict[str, Any]:
    return {"payment": _make(Payment, tenant_id), **_looked_at_some_day(tenant_id)}


def _replayed_delivery(tenant_id: UUID) -> dict[str, Any]:
    replay = _make(Replay, tenant_id)
    return {"endpoint": replay.endpoint, "replay": replay}


def _living_hold(tenant_id: UUID) -> dict[str, Any]:
    return {"expires_at": Now() + timedelta(seconds=600)}


def _event_in_euros(_: UUID) -> dict[str, Any]:
    return {"currency": "EUR", "timezone": "Europe/Berlin"}


# what the columns alone don't tell
_SPECIAL: dict[type[models.Model], Any] = {
    Unit: _sold_unit,
    Hold: _living_hold,
    Event: _event_in_euros,
    Order: _order_of_a_hold,
    # of each tenant one alone can be enabled
    PaymentAccount: lambda _: {"status": "disabled"},
    Payment: _looked_at_some_day,
    Refund: _refund_of_money,
    Ticket: _void_ticket,
    Endpoint: lambda _: {"secrets": signing_secrets.first()[1]},
    Delivery: _replayed_delivery,
    Attempt: lambda _: {"duration_ms": 1},
    IdempotencyKey: lambda _: {"status_code": 200},
}


# by the kind of a field; the first that fits
_VALUES: list[tuple[type[Any], Callable[[Any], Any]]] = [
    (models.TextField, lambda _: "{}"),
    (models.CharField, lambda field: secrets.token_hex(16)[: field.max_length]),
    (models.BooleanField, lambda _: False),
    (models.JSONField, lambda _: []),
    (models.BinaryField, lambda field: secrets.token_bytes(min(field.max_length or 32, 32))),
    (models.BigIntegerField, lambda _: secrets.randbelow(2**40)),
    (models.IntegerField, lambda _: 1),
    (models.DateTimeField, lambda _: datetime.now(tz=UTC)),
    (models.UUIDField, lambda _: UUID(bytes=secrets.token_bytes(16))),
]


def _value(field: "models.Field[Any, Any]", tenant_id: UUID) -> Any:
    if isinstance(field, models.ForeignKey):
        if field.related_model is User:
            return User.objects.create(username=unique("user"))
        return _make(field.related_model, tenant_id)
    if field.choices:
        return field.choices[0][0]
    if isinstance(field, ArrayField):
        return [_value(field.base_field, tenant_id)]
    for kind, make in _VALUES:
        if isinstance(field, kind):
            return make(field)
    raise NotImplementedError(f"no sample for {field.model.__name__}.{field.name}: add it to _SPECIAL")


def everything_of(tenant_id: UUID) -> dict[str, list[str]]:
    """All rows of a tenant in all tables, as text: equal before and after means that nothing was touched."""
    found: dict[str, list[str]] = {table: [] for table in tenant_tables()}
    with connections["maintenance"].cursor() as cursor:
        cursor.execute(_everything(), {"tenant": tenant_id})
        for table, text in cursor.fetchall():
            found[table].append(text)
    return found


@functools.cache
def _everything() -> str:
    """One statement for all tables, which the driver prepares: tests ask for it again and again."""
    of_each = [
        f"SELECT '{table}' AS name, id::text, to_jsonb(t)::text AS row FROM \"{table}\" t "  # noqa: S608 - own names
        f"WHERE {'id' if table == Tenant._meta.db_table else 'tenant_id'} = %(tenant)s"
        for table in tenant_tables()
    ]
    return f"SELECT name, row FROM ({' UNION ALL '.join(of_each)}) AS rows ORDER BY name, id"  # noqa: S608
