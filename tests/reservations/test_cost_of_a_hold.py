"""Counts, not times: what a hold costs in statements and in pages touched."""

import json
import secrets

import pytest
from django.db import connection, connections, transaction
from django.db.models import Q

from reservations.allocation import gather
from reservations.allocation.allocator import allocate
from reservations.allocation.attempt import attempt
from reservations.allocation.requests import Granted, HoldRequest
from reservations.locks import lock_units
from reservations.models import Event, Unit
from reservations.spread import spread_keys
from tenants.idempotency import Claim
from tenants.models import ApiKey
from tenants.scope import tenant_transaction

STATEMENTS_MAX = 12


def claim(tenant) -> Claim:
    api_key = ApiKey.everywhere.filter(tenant_id=tenant.id).first()
    return Claim(api_key.id, secrets.token_hex(8), b"f" * 32)


def statements_of(tenant, queries, requests) -> int:
    allocate(tenant_id=tenant.id, requests=requests[:1])  # the connection is open and checked
    with queries() as seen:
        outcomes = allocate(tenant_id=tenant.id, requests=requests[1:])
    assert all(isinstance(outcome, Granted) for outcome in outcomes)
    return seen.count


@pytest.mark.parametrize("way", ["named", "any"])
@pytest.mark.parametrize("limited", [False, True], ids=["no-limit", "limit"])
@pytest.mark.parametrize("keyed", [False, True], ids=["no-key", "key"])
def test_a_batch_takes_no_more_statements_than_a_lone_hold(
    tenant, make_event, make_units, queries, way, limited, keyed, monkeypatch
):
    # a scan that begins near the end goes on from the beginning, in one more statement
    monkeypatch.setattr(gather, "random_start", lambda: 0)
    event = make_event(tenant, units_per_customer_max=2 if limited else None)
    labels = [unit.label for unit in make_units(tenant, event, 600)]

    def asked(count):
        for _ in range(count + 1):
            chosen = {"labels": (labels.pop(),)} if way == "named" else {"quantity": 1}
            yield HoldRequest(event.id, secrets.token_hex(4), claim=claim(tenant) if keyed else None, **chosen)

    lone, sixteen, sixty_four = (statements_of(tenant, queries, list(asked(count))) for count in (1, 16, 64))
    assert lone == sixteen == sixty_four <= STATEMENTS_MAX


def units_at_once(tenant, event: Event, count: int) -> None:
    """As `create_units` makes them, but quicker: 100,000 in a few seconds."""
    keys = list(spread_keys([("S", str(number // 50)) for number in range(count)]))
    with tenant_transaction(tenant.id), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute(
            """
            INSERT INTO reservations_unit
                (id, tenant_id, event_id, label, section, "row", number, price_amount, status, spread)
            SELECT gen_random_uuid(), %s, %s, 'U-' || place, 'S', (place / 50)::text, place::text, 100, 'available', key
            FROM unnest(%s::bigint[]) WITH ORDINALITY AS t (key, place)
            """,
            [tenant.id, event.id, keys],
        )
    with connections["owner"].cursor() as cursor:
        cursor.execute("ANALYZE reservations_unit")


def pages_of_a_hold(tenant, request: HoldRequest) -> int:
    """Shared buffers that the statements of one hold touch, as EXPLAIN (ANALYZE, BUFFERS) counts them."""
    sent = []

    def note(execute, sql, params, many, context):
        sent.append((sql, params))
        return execute(sql, params, many, context)

    def undone(run):
        with tenant_transaction(tenant.id):
            run()
            transaction.set_rollback(True)

    def hold():
        with connection.execute_wrapper(note):
            (outcome,) = attempt(tenant.id, [request])
        assert isinstance(outcome, Granted)

    pages = []

    def again():
        with connection.cursor() as cursor:
            for sql, params in sent:
                cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
                plan = cursor.fetchone()[0]
                plan = json.loads(plan) if isinstance(plan, str) else plan
                pages.append(plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"])

    undone(hold)
    undone(again)
    return sum(pages)


@pytest.fixture
def event_of(tenant, make_event):
    def make(count: int) -> Event:
        event = make_event(tenant)
        units_at_once(tenant, event, count)
        return event

    return make


def test_pages_touched_do_not_grow_with_the_event(tenant, event_of):
    small, large = event_of(100), event_of(100_000)
    for chosen in ({"quantity": 2}, {"quantity": 2, "section": "S"}, {"labels": ("U-7", "U-77")}):
        few = min(pages_of_a_hold(tenant, HoldRequest(small.id, "ada", **chosen)) for _ in range(5))
        many = min(pages_of_a_hold(tenant, HoldRequest(large.id, "ada", **chosen)) for _ in range(5))
        # a deeper tree: one page more for each look into each index
        assert many <= 1.5 * few, chosen


def test_five_thousand_locked_units_are_not_walked_over(tenant, event_of, run_together):
    event = event_of(10_000)
    request = HoldRequest(event.id, "ada", quantity=2)
    alone = sorted(pages_of_a_hold(tenant, request) for _ in range(9))[4]
    beside = []

    def lock_and_count():
        with tenant_transaction(tenant.id):
            ahead = Unit.objects.filter(event=event).order_by("label").values("id")[:5000]
            assert len(lock_units(Q(id__in=ahead))) == 5000
            beside.extend(run_together([lambda: [pages_of_a_hold(tenant, request) for _ in range(9)]])[0])

    lock_and_count()
    assert sorted(beside)[4] <= 4 * alone
