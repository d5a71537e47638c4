"""The statements. Each takes the tenant to look at, or NULL for all, and returns (tenant_id, event_id, what) rows.

They are read by the maintenance role, in one snapshot, and lock nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass

# which unit each living hold has promised, and as what: by its items while it is active, by the tickets that were not
# given back once it is paid
_PROMISED = """
    promised AS (
        SELECT h.tenant_id, h.event_id, h.id AS hold_id, item ->> 'unit' AS unit, 'held' AS status
        FROM reservations_hold h, jsonb_array_elements(h.items) AS item
        WHERE h.status = 'active' AND (%(tenant)s::uuid IS NULL OR h.tenant_id = %(tenant)s)
        UNION ALL
        SELECT t.tenant_id, t.event_id, coalesce(o.retaken_hold_id, o.hold_id), t.unit_id::text, 'sold'
        FROM reservations_ticket t JOIN reservations_order o ON o.id = t.order_id
        WHERE NOT t.returned AND (%(tenant)s::uuid IS NULL OR t.tenant_id = %(tenant)s)
    )
"""

HOLD_HAS_ITS_UNITS = f"""
    WITH {_PROMISED},
    had AS (
        SELECT u.tenant_id, u.event_id, u.hold_id, u.id::text AS unit, u.status
        FROM reservations_unit u JOIN reservations_hold h ON h.id = u.hold_id
        WHERE h.status IN ('active', 'converted') AND (%(tenant)s::uuid IS NULL OR u.tenant_id = %(tenant)s)
    )
    SELECT coalesce(p.tenant_id, u.tenant_id) AS tenant_id, coalesce(p.event_id, u.event_id) AS event_id,
           CASE WHEN u.unit IS NULL THEN
               format('hold %%s promises unit %%s, to be %%s, and has it not so', p.hold_id, p.unit, p.status)
           ELSE
               format('hold %%s has unit %%s, which is %%s, and does not promise it so', u.hold_id, u.unit, u.status)
           END AS what
    FROM promised p FULL JOIN had u ON u.hold_id = p.hold_id AND u.unit = p.unit AND u.status = p.status
    WHERE p.hold_id IS NULL OR u.hold_id IS NULL
    UNION ALL
    SELECT h.tenant_id, h.event_id,
           format('hold %%s is of %%s units and names %%s', h.id, h.quantity, jsonb_array_length(h.items))
    FROM reservations_hold h
    WHERE h.quantity <> jsonb_array_length(h.items) AND (%(tenant)s::uuid IS NULL OR h.tenant_id = %(tenant)s)
"""  # noqa: S608 - both parts are constants

UNIT_IS_IN_ONE_LIVE_HOLD = f"""
    WITH {_PROMISED}
    SELECT min(p.tenant_id::text)::uuid AS tenant_id, min(p.event_id::text)::uuid AS event_id,
           format('unit %%s is promised by %%s live holds', p.unit, count(*)) AS what
    FROM promised p GROUP BY p.unit HAVING count(*) > 1
"""  # noqa: S608 - both parts are constants

SOLD_UNIT_HAS_A_CONFIRMED_ORDER = """
    SELECT u.tenant_id, u.event_id,
           format('unit %%s is sold to order %%s (%%s) by hold %%s (%%s)', u.id, o.id, o.status, h.id, h.status) AS what
    FROM reservations_unit u
    LEFT JOIN reservations_order o ON o.id = u.order_id
    LEFT JOIN reservations_hold h ON h.id = u.hold_id
    WHERE u.status = 'sold' AND (%(tenant)s::uuid IS NULL OR u.tenant_id = %(tenant)s)
      AND (o.status IS NULL OR o.status NOT IN ('confirmed', 'partially_refunded')
           OR h.status IS DISTINCT FROM 'converted' OR u.hold_id <> coalesce(o.retaken_hold_id, o.hold_id))
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
    UNION ALL
    SELECT o.tenant_id, o.event_id, format('order %%s is of another tenant or event than its hold %%s', o.id, h.id)
    FROM reservations_order o JOIN reservations_hold h ON h.id IN (o.hold_id, o.retaken_hold_id)
    WHERE (o.tenant_id, o.event_id) <> (h.tenant_id, h.event_id)
      AND (%(tenant)s::uuid IS NULL OR o.tenant_id = %(tenant)s)
    UNION ALL
    SELECT t.tenant_id, t.event_id,
           format('ticket %%s is of another tenant or event than its order %%s or unit %%s', t.id, o.id, u.id)
    FROM reservations_ticket t
    JOIN reservations_order o ON o.id = t.order_id
    JOIN reservations_unit u ON u.id = t.unit_id
    WHERE ((t.tenant_id, t.event_id) <> (o.tenant_id, o.event_id)
           OR (t.tenant_id, t.event_id) <> (u.tenant_id, u.event_id))
      AND (%(tenant)s::uuid IS NULL OR t.tenant_id = %(tenant)s)
"""

COUNTERS_SAY_WHAT_THE_ROWS_SAY = """
    SELECT h.tenant_id, h.event_id,
           format('hold %%s says that %%s of its units went back, its tickets say %%s', h.id, h.returned, count(t.id))
           AS what
    FROM reservations_hold h
    LEFT JOIN reservations_order o ON h.id = coalesce(o.retaken_hold_id, o.hold_id)
    LEFT JOIN reservations_ticket t ON t.order_id = o.id AND t.returned
    WHERE h.status = 'converted' AND (%(tenant)s::uuid IS NULL OR h.tenant_id = %(tenant)s)
    GROUP BY h.id HAVING h.returned <> count(t.id)
    UNION ALL
    SELECT p.tenant_id, min(o.event_id::text)::uuid,
           format('payment %%s says that %%s went back, its refunds say %%s', p.id, p.refunded_amount,
                  coalesce(sum(r.amount), 0))
    FROM reservations_payment p
    JOIN reservations_order o ON o.id = p.order_id
    LEFT JOIN reservations_refund r ON r.payment_id = p.id AND r.status <> 'failed'
    WHERE %(tenant)s::uuid IS NULL OR p.tenant_id = %(tenant)s
    GROUP BY p.id HAVING p.refunded_amount <> coalesce(sum(r.amount), 0)
"""

MONEY_HAS_AN_ORDER = """
    SELECT p.tenant_id, o.event_id,
           format('payment %%s (%%s) took %%s %%s for order %%s, which is %%s', p.id, p.status, p.captured_amount,
                  p.captured_currency, o.id, o.status) AS what
    FROM reservations_payment p JOIN reservations_order o ON o.id = p.order_id
    WHERE p.captured_amount IS NOT NULL AND (%(tenant)s::uuid IS NULL OR p.tenant_id = %(tenant)s)
      AND p.status NOT IN ('refunding', 'refunded', 'needs_review')
      AND NOT (p.status = 'succeeded' AND o.status IN ('confirmed', 'partially_refunded'))
"""


@dataclass(frozen=True, slots=True)
class Invariant:
    """A promise as a statement that returns no rows; `stops_the_sale` says that selling on would break more of it."""

    statement: str
    stops_the_sale: bool = True


INVARIANTS: Mapping[str, Invariant] = {
    "a live hold has exactly the units it promises": Invariant(HOLD_HAS_ITS_UNITS),
    "no unit is in two live holds": Invariant(UNIT_IS_IN_ONE_LIVE_HOLD),
    "a sold unit has a converted hold and a confirmed order": Invariant(SOLD_UNIT_HAS_A_CONFIRMED_ORDER),
    "an ended hold has no units": Invariant(ENDED_HOLD_HAS_NO_UNITS),
    "tenants agree along event, hold, order, unit and ticket": Invariant(TENANTS_AGREE),
    "counters say what the rows say": Invariant(COUNTERS_SAY_WHAT_THE_ROWS_SAY, stops_the_sale=False),
    "captured money is an order, a refund or under review": Invariant(MONEY_HAS_AN_ORDER, stops_the_sale=False),
}
