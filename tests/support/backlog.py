"""Many holds at once, by plain SQL: as if they had been made one by one, an hour ago."""

from typing import Any
from uuid import UUID

from django.db import connection, connections

from tenants.scope import tenant_transaction

TABLES = ("reservations_hold", "reservations_unit", "webhooks_message")

_HOLDS = """
    WITH unit AS (
        SELECT gen_random_uuid() AS id, gen_random_uuid() AS hold, number FROM generate_series(1, %(count)s) AS number
    ), hold AS (
        INSERT INTO reservations_hold
            (id, tenant_id, event_id, status, customer, customer_key, quantity, items, total_amount, metadata,
             extensions_used, returned, created_at, expires_at, ended_at, release_reason)
        SELECT hold, %(tenant)s, %(event)s, 'active', 'c-' || number, sha256(number::text::bytea), 1,
               jsonb_build_array(jsonb_build_object('unit', id, 'label', %(prefix)s || number, 'section', null,
                                                    'price', jsonb_build_object('amount', 0, 'currency', 'EUR'))),
               0, '{}', 0, 0, statement_timestamp() - interval '1 hour',
               statement_timestamp() - interval '1 hour'
                   + make_interval(secs => %(ends_in)s) + make_interval(secs => number / 1000.0), NULL, ''
        FROM unit
    )
    INSERT INTO reservations_unit
        (id, tenant_id, event_id, label, section, "row", number, price_amount, status, hold_id, spread)
    SELECT id, %(tenant)s, %(event)s, %(prefix)s || number, '', '', '', 0, 'held', hold, number FROM unit
"""


def hold_many(tenant_id: UUID, event_id: UUID, count: int, *, ends_in: float = 600, prefix: str = "B-") -> None:
    """`count` holds of one unit each, made an hour ago and to end `ends_in` seconds after that, a millisecond apart."""
    with tenant_transaction(tenant_id), connection.cursor() as cursor:
        named = {"tenant": tenant_id, "event": event_id, "count": count, "ends_in": ends_in, "prefix": prefix}
        cursor.execute(_HOLDS, named)
    analyze()


def analyze() -> None:
    """Tell the planner how many there are, as autovacuum would soon."""
    with connections["owner"].cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"ANALYZE {table}")


def rows_read() -> int:
    """Rows of tables that the running transaction has read, by scans and by indexes, seen or filtered away."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::bigint FROM pg_stat_xact_user_tables")
        (count,) = cursor.fetchone()
    return int(count)


def pages_touched(run: Any) -> int:
    """Pages of tables and indexes that this connection touched in `run()`, which commits."""

    def total() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_force_next_flush()")
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(
                """
                SELECT sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::bigint
                FROM pg_statio_user_tables WHERE relname = ANY(%s)
                """,
                [list(TABLES)],
            )
            return int(cursor.fetchone()[0])

    before = total()
    run()
    return total() - before
