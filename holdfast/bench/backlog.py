"""Holds whose time passed all at once, as after a long stop of the workers."""

from uuid import UUID

from django.db import connection

from holdfast.bench.stock import tidy
from reservations.customers import customer_key
from tenants.scope import tenant_transaction

_HOLDS = """
    INSERT INTO reservations_hold
        (id, tenant_id, event_id, status, customer, customer_key, quantity, items, total_amount, metadata,
         extensions_used, returned, created_at, expires_at, release_reason)
    SELECT gen_random_uuid(), tenant_id, event_id, 'active', 'late@example.org', %s, 1,
           jsonb_build_array(jsonb_build_object('unit', id, 'label', label, 'section', NULL,
                                                'price', jsonb_build_object('amount', 2500, 'currency', 'EUR'))),
           2500, '{}', 0, 0, now() - interval '1 hour', now() - interval '1 second', ''
    FROM reservations_unit WHERE event_id = %s
"""
_UNITS = """
    UPDATE reservations_unit u SET status = 'held', hold_id = h.id
    FROM reservations_hold h WHERE h.event_id = %s AND u.id = (h.items -> 0 ->> 'unit')::uuid
"""


def make_lapsed_holds(tenant_id: UUID, event_id: UUID) -> int:
    """Have every unit of the event in a lapsed hold of its own; answers how many there are."""
    with tenant_transaction(tenant_id), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(_HOLDS, [customer_key("late@example.org"), event_id])
        cursor.execute(_UNITS, [event_id])
        count: int = cursor.rowcount
    tidy()
    return count
