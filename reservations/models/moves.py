"""How a table of moves is asked: every update that changes a status names the states that it may start from."""

from collections.abc import Collection, Mapping


def sources[S](moves: Mapping[S, Collection[S]], target: S) -> list[S]:
    """The states from which `target` may be reached in one move."""
    return [source for source, targets in moves.items() if target in targets]
