"""The statements. Each takes the tenant to look at, or NULL for all, and returns (tenant_id, event_id, what) rows.

They are read by the maintenance role, in one snapshot, and lock nothing.
"""

from collections.abc import Mapping

HOLD_HAS_ITS_UNITS = """
    SELECT h.tenant_id, h.event_id,
           format('hold %%s promises %%s units and has %%s', h.id, h.quantity, count(u.id)) AS what
    FROM reservations_hold h LEFT JOIN reservations_unit u ON u.hold_id = h.id
    WHERE h.status IN ('active', 'converted') AND (%(tenant)s::uuid IS NULL OR h.tenant_id = %(tenant)s)
    GROUP BY h.id
    HAVING count(u.id) <> h.quantity
        OR count(u.id) FILTER (WHERE u.status <> CASE h.status WHEN 'active' THEN 'held' ELSE 'sold' END) > 0
"""

UNIT_IS_IN_ONE_LIVE_HOLD = """
    SELECT min(h.tenant_id::text)::uuid AS tenant_id, min(h.event_id::text)::uuid AS event_id,
           format('unit %%s is promised by %%s live holds', item ->> 'unit', count(*)) AS what
    FROM reservations_hold h, jsonb_array_elements(h.items) AS item
    WHERE h.status IN ('active', 'converted') AND (%(tenant)s::uuid IS NULL OR h.tenant_id = %(tenant)s)
    GROUP BY item ->> 'unit' HAVING count(*) > 1
"""

ENDED_HOLD_HAS_NO_UNITS = """
    SELECT u.tenant_id, u.event_id, format('unit %%s belongs to hold %%s, which is %%s', u.id, h.id, h.status) AS what
    FROM reservations_unit u JOIN reservations_hold h ON h.id = u.hold_id
    WHERE h.status IN ('released', 'expired') AND (%(tenant)s::uuid IS NULL OR u.tenant_id = %(tenant)s)
"""

TENANTS_AGREE = """
    SELECT u.tenant_id, u.event_id,
           format('unit %%s is of another tenant or event than its hold %%s', u.id, h.id) AS what
    FROM reservations_unit u JOIN reservations_hold h ON h.id = u.hold_id
    WHERE (u.tenant_id, u.event_id) <> (h.tenant_id, h.event_id)
      AND (%(tenant)s::uuid IS NULL OR u.tenant_id = %(tenant)s)
    UNION ALL
    SELECT h.tenant_id, h.event_id, format('hold %%s is of another tenant than its event', h.id)
    FROM reservations_hold h JOIN reservations_event e ON e.id = h.event_id
    WHERE h.tenant_id <> e.tenant_id AND (%(tenant)s::uuid IS NULL OR h.tenant_id = %(tenant)s)
"""

INVARIANTS: Mapping[str, str] = {
    "a live hold has exactly the units it promises": HOLD_HAS_ITS_UNITS,
    "no unit is in two live holds": UNIT_IS_IN_ONE_LIVE_HOLD,
    "an ended hold has no units": ENDED_HOLD_HAS_NO_UNITS,
    "tenants agree along event, hold and unit": TENANTS_AGREE,
}
