"""Runs the invariants and tells what is broken."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connections, transaction

from reservations.invariants.statements import INVARIANTS

# a broken invariant may break for every row: enough of them to see how
ROWS_SHOWN_MAX = 100


@dataclass(frozen=True, slots=True)
class Breach:
    """One row that breaks an invariant."""

    invariant: str
    tenant_id: UUID
    event_id: UUID
    what: str


def broken_events() -> dict[str, dict[tuple[UUID, UUID], int]]:
    """For each invariant the events (tenant, event) that break it, all of them, each with how many rows do."""
    query = "SELECT tenant_id, event_id, count(*) FROM ({}) AS broken GROUP BY 1, 2"
    return {
        name: {(tenant_id, event_id): count for tenant_id, event_id, count in rows}
        for name, rows in _read(query, tenant_id=None).items()
    }


def breaches(tenant_id: UUID | None = None) -> dict[str, list[Breach]]:
    """For each invariant the rows that break it, at most ROWS_SHOWN_MAX: of one tenant, or of all."""
    shown = _read(f"{{}} LIMIT {ROWS_SHOWN_MAX}", tenant_id)
    return {name: [Breach(name, *row) for row in rows] for name, rows in shown.items()}


def _read(query: str, tenant_id: UUID | None) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of the query around each invariant's statement, all in one snapshot."""
    found = {}
    with transaction.atomic(using="maintenance"), connections["maintenance"].cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        # reads all holds and units, so the limit of the request path does not fit
        cursor.execute("SET LOCAL statement_timeout = 0")
        for name, invariant in INVARIANTS.items():
            cursor.execute(query.format(invariant.statement), {"tenant": tenant_id})
            found[name] = cursor.fetchall()
    return found
