"""What must hold after a run, read from the rows by the maintenance role: each query answers what is wrong."""

from collections.abc import Mapping
from uuid import UUID

from django.db import connections

# each must return no rows
RULES: Mapping[str, str] = {
    "an event's held units are not the sum of its active holds": """
        SELECT e.slug, units.held, holds.quantity
        FROM reservations_event e
        CROSS JOIN LATERAL (SELECT count(*) AS held FROM reservations_unit u
                            WHERE u.event_id = e.id AND u.status = 'held') units
        CROSS JOIN LATERAL (SELECT coalesce(sum(h.quantity), 0) AS quantity FROM reservations_hold h
                            WHERE h.event_id = e.id AND h.status = 'active') holds
        WHERE e.tenant_id = %(tenant)s AND units.held <> holds.quantity""",
    "an event's active holds exceed its capacity": """
        SELECT e.slug FROM reservations_event e
        WHERE e.tenant_id = %(tenant)s
          AND (SELECT coalesce(sum(h.quantity), 0) FROM reservations_hold h
               WHERE h.event_id = e.id AND h.status = 'active')
            > (SELECT count(*) FROM reservations_unit u WHERE u.event_id = e.id)""",
    "a unit was promised in two active holds": """
        SELECT item ->> 'unit', count(*)
        FROM reservations_hold h CROSS JOIN LATERAL jsonb_array_elements(h.items) item
        WHERE h.tenant_id = %(tenant)s AND h.status = 'active'
        GROUP BY 1 HAVING count(*) > 1""",
    "a hold does not have the units it promised": """
        SELECT h.id FROM reservations_hold h
        WHERE h.tenant_id = %(tenant)s AND h.status = 'active'
          AND h.quantity <> (SELECT count(*) FROM reservations_unit u
                             WHERE u.hold_id = h.id AND u.event_id = h.event_id AND u.status = 'held')""",
}
_HOLDS = "SELECT count(*) FROM reservations_hold WHERE tenant_id = %(tenant)s"


def broken_rules(tenant_id: UUID, *, granted: int) -> list[str]:
    """One line for each rule that is broken; `granted` is how many times a client was told 201."""
    faults = []
    with connections["maintenance"].cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        for rule, query in RULES.items():
            cursor.execute(query, {"tenant": tenant_id})
            if rows := cursor.fetchall():
                faults.append(f"{rule}: {len(rows)} times, first {rows[0]}")
        cursor.execute(_HOLDS, {"tenant": tenant_id})
        (holds,) = cursor.fetchone()
    if holds != granted:
        faults.append(f"clients were told of {granted} holds, the database has {holds}")
    return faults
