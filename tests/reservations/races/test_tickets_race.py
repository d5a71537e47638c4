"""One ticket at many gates at once: one lets its holder in, and that is told once."""

from collections import Counter
from typing import Any
from uuid import UUID

import pytest
from django.db.models import Q

from reservations.models import Refund, Ticket, TicketStatus
from reservations.operations import tickets as operations
from reservations.queries.tickets import token_maker
from tenants.scope import tenant_transaction
from tests.reservations.races.conftest import ROUNDS
from tests.reservations.state import sell
from tests.support.acts import ACTS, buy
from tests.support.racer import Racers
from tests.support.rows import sample
from tests.support.together import Crew
from webhooks.models import Message

GATES = 20


@pytest.fixture
def make_ticket(tenant, make_event, make_units):
    """`make_ticket()`: one more valid ticket of one event."""
    event = make_event(tenant)

    def make() -> Ticket:
        (unit,) = make_units(tenant, event, 1)
        sell(tenant.id, buy(tenant.id, str(event.id), "ada", labels=[unit.label]))
        with tenant_transaction(tenant.id):
            return Ticket.objects.get(unit=unit)

    return make


@pytest.fixture
def refund(tenant) -> UUID:
    """A refund, which the tickets that are voided belong to."""
    return UUID(str(sample(Refund, tenant.id).id))


def act(name: str, tenant: Any, ticket: Ticket, **more: str) -> dict[str, Any]:
    subject = {"token": token_maker()(ticket)} if name == "redeem" else {"ticket": str(ticket.id)}
    return {"act": name, "tenant": str(tenant.id), **subject, **more}


def in_threads(crew: Crew, acts: list[dict[str, Any]]) -> list[Any]:
    def run(act: str, tenant: str, **arguments: Any) -> Any:
        return lambda: ACTS[act](UUID(tenant), **arguments)

    return crew.race([run(**each) for each in acts])


def after(tenant, ticket: Ticket) -> tuple[Ticket, list[str]]:
    """The ticket as it is now, and what was told of it, without gaps."""
    with tenant_transaction(tenant.id):
        told = list(Message.objects.filter(subject_id=ticket.id).order_by("sequence").values_list("type", "sequence"))
        assert [sequence for _, sequence in told] == list(range(1, len(told) + 1))
        return Ticket.objects.get(id=ticket.id), [message_type for message_type, _ in told]


def judge(tenant, ticket: Ticket, gates: list[str], words: list[Any]) -> None:
    """One was let in, all others were refused, and the row and the one message say who it was."""
    assert Counter(words) == {"redeemed": 1, "ticket-redeemed": len(words) - 1}, words
    row, told = after(tenant, ticket)
    assert (row.status, row.gate, told) == ("redeemed", gates[words.index("redeemed")], ["ticket.redeemed"])


def test_one_of_twenty_threads_lets_the_holder_in(tenant, make_ticket):
    gates = [f"Gate {number}" for number in range(GATES)]
    with Crew(GATES) as crew:
        for _ in range(ROUNDS):
            ticket = make_ticket()
            acts = [act("redeem", tenant, ticket, gate=gate) for gate in gates]
            judge(tenant, ticket, gates, in_threads(crew, acts))


def test_one_of_four_processes_lets_the_holder_in(tenant, make_ticket):
    gates = [f"Gate {number}" for number in range(4)]
    with Racers(4) as racers:
        for _ in range(ROUNDS):
            ticket = make_ticket()
            judge(tenant, ticket, gates, racers.race([act("redeem", tenant, ticket, gate=gate) for gate in gates]))


def test_a_void_ticket_lets_nobody_in_from_then_on(tenant, make_ticket, refund):
    seen = set()
    with Crew(5) as crew:
        for _ in range(ROUNDS):
            ticket = make_ticket()
            redeems = [act("redeem", tenant, ticket, gate=f"Gate {number}") for number in range(4)]
            acts = [*redeems[:2], act("void", tenant, ticket, refund=str(refund)), *redeems[2:]]
            words = in_threads(crew, acts)
            assert words.pop(2) == "voided", words
            row, told = after(tenant, ticket)
            assert row.status == "void"
            assert set(words) <= {"redeemed", "ticket-redeemed", "ticket-void"}, words
            assert words.count("redeemed") == told.count("ticket.redeemed") == (row.redeemed_at is not None), words
            assert told[-1] == "ticket.voided"
            assert ACTS["redeem"](tenant.id, token=redeems[0]["token"], gate="late") == "ticket-void"
            seen |= set(words)
    assert "ticket-void" in seen


def test_a_new_token_and_the_old_one_do_not_both_let_in(tenant, make_ticket):
    with Crew(4) as crew:
        for _ in range(ROUNDS):
            ticket = make_ticket()
            acts = [act("redeem", tenant, ticket, gate="Gate"), act("reissue", tenant, ticket)]
            words = in_threads(crew, acts * 2)
            row, told = after(tenant, ticket)
            assert words.count("redeemed") == told.count("ticket.redeemed") == (row.status == "redeemed"), words
            assert row.serial == 1 + words.count("reissued") == 1 + told.count("ticket.issued"), words
            if row.status != "redeemed":
                assert {word for word, each in zip(words, acts * 2, strict=True) if each["act"] == "redeem"} == {
                    "not-found"
                }
                assert ACTS["redeem"](tenant.id, token=token_maker()(row), gate="later") == "redeemed"


def test_without_the_lock_the_guard_alone_decides(tenant, make_ticket, monkeypatch):
    monkeypatch.setattr(operations, "lock_tickets", lambda wanted: list(Ticket.objects.filter(wanted)))
    gates = [f"Gate {number}" for number in range(GATES)]
    with Crew(GATES) as crew:
        for _ in range(ROUNDS):
            ticket = make_ticket()
            judge(tenant, ticket, gates, in_threads(crew, [act("redeem", tenant, ticket, gate=gate) for gate in gates]))


def test_without_the_guard_and_the_lock_the_race_would_tell(tenant, make_ticket, monkeypatch):
    """The control: gates that look first and write then."""
    monkeypatch.setattr(operations, "lock_tickets", lambda wanted: list(Ticket.objects.filter(wanted)))
    monkeypatch.setattr(operations, "_STILL_VALID", Q())
    gates = [f"Gate {number}" for number in range(GATES)]
    with Crew(GATES) as crew:
        ticket = make_ticket()
        words = in_threads(crew, [act("redeem", tenant, ticket, gate=gate) for gate in gates])
    assert words.count("redeemed") > 1
    with tenant_transaction(tenant.id):
        assert Ticket.objects.get(id=ticket.id).status == TicketStatus.REDEEMED
