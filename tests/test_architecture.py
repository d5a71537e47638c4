"""ARCHITECTURE.md draws the states as the code has them."""

import re
from pathlib import Path

import pytest

from reservations.models import HoldStatus, OrderStatus, PaymentStatus, RefundStatus, TicketStatus, UnitStatus
from reservations.models.event import EVENT_MOVES
from webhooks.models import DeliveryStatus, ReplayState

TEXT = (Path(__file__).parent.parent / "ARCHITECTURE.md").read_text()
ROW = re.compile(r"^\| (\w+) \| ([\w, ]+) \| (\w+) \|$", re.MULTILINE)


def drawing_of(thing: str) -> str:
    """The drawing that follows the sentence about it."""
    return TEXT.split(f"\n{thing} (", 1)[1].split("```")[1]


def test_the_moves_of_an_event_are_those_of_the_table():
    told = {
        move: (frozenset(source.split(", ")), target) for move, source, target in ROW.findall(TEXT) if move != "move"
    }
    assert told == {
        move: (frozenset(map(str, sources)), str(target)) for move, (sources, target) in EVENT_MOVES.items()
    }


@pytest.mark.parametrize(
    ("thing", "states"),
    [
        ("A unit", UnitStatus),
        ("A hold", HoldStatus),
        ("An order", OrderStatus),
        ("A payment", PaymentStatus),
        ("A refund", RefundStatus),
        ("A ticket", TicketStatus),
        ("A delivery", DeliveryStatus),
        ("A delivery", ReplayState),
    ],
)
def test_a_drawing_has_every_state(thing, states):
    words = set(re.findall(r"[a-z_]+", drawing_of(thing)))
    assert set(states.values) <= words
