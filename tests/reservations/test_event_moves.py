"""The diagram of an event's status, move by move."""

import itertools

import pytest

from reservations.models.event import EVENT_MOVES, EventStatus

DIAGRAM = {
    ("draft", "publish"): "on_sale",
    ("on_sale", "pause"): "paused",
    ("paused", "resume"): "on_sale",
    ("on_sale", "close"): "closed",
    ("paused", "close"): "closed",
}


def test_the_moves_of_the_code_are_those_of_the_diagram() -> None:
    moves = {(str(source), move): str(target) for move, (sources, target) in EVENT_MOVES.items() for source in sources}
    assert moves == DIAGRAM


@pytest.mark.parametrize(("status", "move"), list(itertools.product(EventStatus.values, sorted(EVENT_MOVES))))
def test_a_move_that_is_not_drawn_is_none(status: str, move: str) -> None:
    assert (status in EVENT_MOVES[move][0]) == ((status, move) in DIAGRAM)


def test_every_status_but_the_first_is_reached_and_the_last_is_final() -> None:
    assert {target for _, target in EVENT_MOVES.values()} == set(EventStatus) - {EventStatus.DRAFT}
    assert not any(EventStatus.CLOSED in sources for sources, _ in EVENT_MOVES.values())
    assert not any(target in sources for sources, target in EVENT_MOVES.values())
