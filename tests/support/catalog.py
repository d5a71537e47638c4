"""Questions to PostgreSQL's own catalogue about the wall between tenants; each answers with what is wrong."""

from typing import Any

from django.conf import settings
from django.db import connections

# a table of tenants has a tenant_id, or is the tenants' own
TENANT_TABLES = """
    SELECT c.oid, c.relname,
           (SELECT attname FROM pg_attribute WHERE attrelid = c.oid AND NOT attisdropped
              AND attname = CASE c.relname WHEN 'tenants_tenant' THEN 'id' ELSE 'tenant_id' END) AS tenant_column,
           c.relrowsecurity AND c.relforcerowsecurity AS forced
    FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
      AND (c.relname = 'tenants_tenant' OR EXISTS (
          SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = 'tenant_id' AND NOT attisdropped))
"""
POLICIES = """
    SELECT policyname, permissive, roles::text[], cmd, qual, with_check FROM pg_policies
    WHERE schemaname = 'public' AND tablename = %s ORDER BY policyname
"""


def rows(statement: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
    """Asked as the owner, in its transaction if one is open."""
    with connections["owner"].cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall()


def tenant_tables() -> list[str]:
    return sorted(name for _, name, _, _ in rows(TENANT_TABLES))


def unguarded_tables() -> list[str]:
    """Tables of tenants without forced row-level security, or with other policies than the two."""
    faults = []
    for _, table, column, forced in rows(TENANT_TABLES):
        if not forced:
            faults.append(f"{table}: row-level security is not enabled and forced")
        found = rows(POLICIES, [table])
        mine = _condition(column)
        maintenance = settings.DATABASES["maintenance"]["USER"]
        wanted = [
            ("maintenance", "PERMISSIVE", [maintenance], "SELECT", "true", None),
            ("tenant", "PERMISSIVE", ["public"], "ALL", mine, mine),
        ]
        if found != wanted:
            faults.append(f"{table}: policies {found}")
    return faults


def _condition(column: str) -> str:
    """As PostgreSQL writes it back."""
    setting = "(NULLIF(current_setting('holdfast.tenant_id'::text, true), ''::text))::uuid"
    return f'({column} = ( SELECT {setting} AS "nullif"))'


def foreign_keys_past_the_tenant() -> list[str]:
    """Foreign keys between two tables of tenants that are not (tenant_id, x_id) → (tenant_id, id)."""
    statement = f"""
        WITH tenant_tables AS ({TENANT_TABLES}),
        keys AS (
            SELECT k.conrelid::regclass::text AS source, k.confrelid::regclass::text AS target, k.conname,
                   (SELECT array_agg(attname ORDER BY place) FROM unnest(k.conkey) WITH ORDINALITY AS u (number, place)
                    JOIN pg_attribute ON attrelid = k.conrelid AND attnum = number) AS from_columns,
                   (SELECT array_agg(attname ORDER BY place) FROM unnest(k.confkey) WITH ORDINALITY AS u (number, place)
                    JOIN pg_attribute ON attrelid = k.confrelid AND attnum = number) AS to_columns
            FROM pg_constraint k
            WHERE contype = 'f' AND conrelid IN (SELECT oid FROM tenant_tables)
              AND confrelid IN (SELECT oid FROM tenant_tables WHERE relname <> 'tenants_tenant')
        )
        SELECT source || ' ' || conname FROM keys
        WHERE NOT (from_columns[1] = 'tenant_id' AND cardinality(from_columns) = 2
                   AND to_columns = ARRAY['tenant_id', 'id']::name[])
    """  # noqa: S608 - both parts are constants
    return [name for (name,) in rows(statement)]


def foreign_keys_of(table: str) -> dict[str, str]:
    """The composite references of a table: the column beside tenant_id, and the table it points to."""
    statement = """
        SELECT (SELECT attname FROM pg_attribute WHERE attrelid = conrelid AND attnum = conkey[2]),
               confrelid::regclass::text
        FROM pg_constraint WHERE contype = 'f' AND conrelid = %s::regclass AND cardinality(conkey) = 2
    """
    return dict(rows(statement, [table]))  # type: ignore[arg-type]


def unindexed_foreign_keys() -> list[str]:
    """Columns of foreign keys that lead no index. A partial index counts where it only leaves out the empty ones."""
    statement = """
        SELECT k.conrelid::regclass::text || '.' || a.attname
        FROM pg_constraint k
        CROSS JOIN LATERAL unnest(k.conkey) AS u (number)
        JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.number
        WHERE k.contype = 'f' AND k.connamespace = 'public'::regnamespace
          AND NOT EXISTS (
              SELECT FROM pg_index i
              WHERE i.indrelid = k.conrelid AND i.indisvalid AND i.indkey[0] = u.number
                AND (i.indpred IS NULL
                     OR pg_get_expr(i.indpred, i.indrelid) = '(' || quote_ident(a.attname) || ' IS NOT NULL)'))
        ORDER BY 1
    """
    return sorted({name for (name,) in rows(statement)})


def definers_rights() -> list[str]:
    """Functions that run with their owner's rights, and views that read with them."""
    statement = """
        SELECT 'function ' || p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE p.prosecdef AND n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema'
        UNION ALL
        SELECT 'view ' || c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind IN ('v', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')
          AND NOT coalesce('security_invoker=true' = ANY (c.reloptions), false)
        ORDER BY 1
    """
    return [name for (name,) in rows(statement)]
