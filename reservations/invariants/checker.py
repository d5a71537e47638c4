"""Runs the invariants and tells what is broken."""

from dataclasses import dataclass
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


def breaches(tenant_id: UUID | None = None) -> dict[str, list[Breach]]:
    """For each invariant the rows that break it, at most ROWS_SHOWN_MAX: of one tenant, or of all."""
    found = {}
    with transaction.atomic(using="maintenance"), connections["maintenance"].cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        # reads all holds and units, so the limit of the request path does not fit
        cursor.execute("SET LOCAL statement_timeout = 0")
        for name, statement in INVARIANTS.items():
            cursor.execute(f"{statement} LIMIT {ROWS_SHOWN_MAX}", {"tenant": tenant_id})
            found[name] = [Breach(name, *row) for row in cursor.fetchall()]
    return found
