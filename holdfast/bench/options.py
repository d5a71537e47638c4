"""What a run was asked for, with every limit."""

from dataclasses import dataclass
from pathlib import Path

SECONDS_MAX = 60.0
CONNECTIONS_MAX = 512
ROUNDS_MAX = 50
COUNT_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Options:
    """`seconds` is the length of one timed load; `count` of messages waits before it, as many as a scenario usually has
    where it is None; `peer` and `floor` are folders of the peers' files, if they run."""

    seconds: float = 6.0
    connections: int = 64
    rounds: int = 5
    count: int | None = None
    peer: Path | None = None
    floor: Path | None = None
    noop: bool = False
