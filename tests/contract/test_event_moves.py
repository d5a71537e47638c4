"""Publish, pause, resume, close: each move from each status, and nothing else."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from reservations.models import Event, PausedReason
from tenants.scope import tenant_transaction
from tests.contract import expect
from tests.contract.sale import Sale
from tests.support.client import Api

STATUSES = ("draft", "on_sale", "paused", "closed")
MOVES = ("publish", "pause", "resume", "close")
ALLOWED = {
    ("draft", "publish"): "on_sale",
    ("on_sale", "pause"): "paused",
    ("paused", "resume"): "on_sale",
    ("on_sale", "close"): "closed",
    ("paused", "close"): "closed",
}


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("move", MOVES)
def test_each_move_from_each_status(make_sale: Callable[..., Sale], status: str, move: str) -> None:
    sale = make_sale(0, status=status)
    before = expect.body(sale.api.get(sale.path))
    answer = sale.api.post(f"{sale.path}/{move}")
    target = ALLOWED.get((status, move))
    if target is None:
        expect.problem(answer, 409, "invalid-transition")
        assert expect.body(sale.api.get(sale.path)) == before
        return
    reason = "organizer" if target == "paused" else None
    assert expect.body(answer) == before | {"status": target, "paused_reason": reason}
    assert expect.body(sale.api.get(sale.path)) == expect.body(answer)


def test_an_event_that_an_invariant_paused_says_so_until_it_is_resumed(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(0, status="paused")
    with tenant_transaction(sale.tenant.id):
        Event.objects.filter(id=sale.event.id).update(paused_reason=PausedReason.INVARIANT)
    assert expect.body(sale.api.get(sale.path))["paused_reason"] == "invariant"
    assert expect.body(sale.api.post(f"{sale.path}/resume"))["paused_reason"] is None


@pytest.mark.parametrize("move", MOVES)
def test_a_move_takes_an_empty_object_and_no_members(make_sale: Callable[..., Sale], move: str) -> None:
    status = next(status for (status, name) in ALLOWED if name == move)
    sale = make_sale(0, status=status)
    assert expect.faults(sale.api.post(f"{sale.path}/{move}", {"why": "x"})) == {"/why": "unknown"}
    assert expect.body(sale.api.get(sale.path))["status"] == status
    assert expect.body(sale.api.post(f"{sale.path}/{move}", {}))["status"] == ALLOWED[status, move]


@pytest.mark.parametrize("move", MOVES)
def test_a_move_of_an_unknown_event_or_another_tenants_is_the_same_404(
    make_sale: Callable[..., Sale], client: Api, move: str
) -> None:
    status = next(status for (status, name) in ALLOWED if name == move)
    sale = make_sale(0, status=status)
    theirs = expect.problem(client.post(f"{sale.path}/{move}"), 404, "not-found")
    unknown = expect.problem(client.post(f"/v1/events/{uuid4()}/{move}"), 404, "not-found")
    assert expect.apart_from(theirs, "request_id") == expect.apart_from(unknown, "request_id")
    assert expect.body(sale.api.get(sale.path))["status"] == status


def test_of_five_publications_at_once_one_moves_the_event(
    make_sale: Callable[..., Sale], api: Callable[..., Api], run_together: Callable[..., list[Any]]
) -> None:
    sale = make_sale(0, status="draft")
    answers = run_together([lambda: api(sale.tenant).post(f"{sale.path}/publish")] * 5)
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
    assert expect.body(sale.api.get(sale.path))["status"] == "on_sale"
