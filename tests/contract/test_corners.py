"""Corners of the contract: keys whose request still runs, replays, units whose hold is being ended."""

import threading

import pytest
from django.conf import settings
from django.db import connections

from tests.support.client import Api
from tests.support.database import connect_as


def test_a_key_whose_request_still_runs_is_in_flight(make_sale):
    sale = make_sale(1)
    answers = []

    def pause():
        answers.append(Api(sale.tenant.key).post(f"{sale.path}/pause", headers={"Idempotency-Key": "one"}))
        connections.close_all()

    with connect_as("default", settings.DATABASES["default"]["NAME"]) as other:
        other.execute("BEGIN")
        other.execute("SELECT set_config('holdfast.tenant_id', %s, true)", [str(sale.tenant.id)])
        other.execute("SELECT FROM reservations_event WHERE id = %s FOR UPDATE", [sale.event.id])
        both = [threading.Thread(target=pause) for _ in range(2)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join(60)
        other.execute("ROLLBACK")
    assert "/problems/idempotency-in-flight" in {answer.json()["type"] for answer in answers}


def test_a_replay_says_where_the_hold_is_as_the_first_answer_did(make_sale):
    sale = make_sale(1)
    first, again = (sale.ask(quantity=1, headers={"Idempotency-Key": "one"}) for _ in range(2))
    assert first.headers["Location"]
    assert again.headers.get("Location") == first.headers["Location"]


def test_a_key_that_is_dead_at_birth_is_refused(tenant, api):
    """The admin's form refuses it; the API shows a secret that never works."""
    body = {"name": "Old", "scopes": ["read"], "expires_at": "2001-01-01T00:00:00Z"}
    assert api(tenant).post("/v1/api-keys", body).status_code == 422


@pytest.mark.parametrize("zone", ["localtime", "Factory"])
def test_a_zone_that_means_something_else_on_each_machine_is_refused(tenant, api, zone):
    body = {"slug": f"zone-{zone}", "name": "A", "kind": "seats", "currency": "EUR", "timezone": zone}
    assert api(tenant).post("/v1/events", body).status_code == 422


def test_a_unit_that_reads_available_is_not_refused_as_held_for_good(make_sale, shift_clock):
    """While another transaction ends the lapsed hold, a false "held" would be kept under the key and replayed."""
    sale = make_sale(1, hold_ttl_seconds=5)
    sale.hold(labels=["U-1"])
    shift_clock(10)
    assert sale.statuses() == {"U-1": "available"}
    block = {"labels": ["U-1"]}
    with connect_as("default", settings.DATABASES["default"]["NAME"]) as other:
        other.execute("BEGIN")
        other.execute("SELECT set_config('holdfast.tenant_id', %s, true)", [str(sale.tenant.id)])
        other.execute("SELECT FROM reservations_hold WHERE event_id = %s FOR NO KEY UPDATE", [sale.event.id])
        first = sale.api.post(f"{sale.path}/units/block", block, headers={"Idempotency-Key": "one"})
        other.execute("ROLLBACK")
    assert first.json().get("type") in (None, "/problems/contention"), first.content
    assert sale.api.post(f"{sale.path}/units/block", block, headers={"Idempotency-Key": "one"}).status_code == 200
