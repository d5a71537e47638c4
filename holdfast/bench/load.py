"""What is sent to a server, and what came back: they pass between the run and its client as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any
from uuid import uuid4

import orjson


@dataclass(frozen=True, slots=True)
class Load:
    """What to send: each body once, or over and over for `seconds`. With `keyed` each carries an Idempotency-Key of its
    own, and is sent once at most."""

    port: int
    path: str
    bodies: Sequence[Any]
    connections: int
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float | None = None
    host: str = "127.0.0.1"
    keyed: bool = False

    def requests(self) -> Iterator[bytes]:
        """The requests as they go over the wire."""
        lines = {"Host": f"{self.host}:{self.port}", "Content-Type": "application/json", **self.headers}
        head = "".join(f"{name}: {text}\r\n" for name, text in lines.items())
        made = []
        for body in map(orjson.dumps, self.bodies):
            key = f"Idempotency-Key: {uuid4()}\r\n" if self.keyed else ""
            length = f"Content-Length: {len(body)}\r\n"
            made.append(f"POST {self.path} HTTP/1.1\r\n{head}{key}{length}\r\n".encode() + body)
        return iter(made) if self.seconds is None or self.keyed else cycle(made)


@dataclass(slots=True)
class Tally:
    """What came back. `elapsed_seconds` runs from the first request to the last answer."""

    statuses: dict[str, int]
    problems: dict[str, int]  # the types of the answers from 400 on
    unanswered: int
    elapsed_seconds: float
    granted_p50_ms: float
    granted_p95_ms: float

    @property
    def granted(self) -> int:
        return self.statuses.get("201", 0)

    @property
    def granted_per_second(self) -> float:
        return self.granted / self.elapsed_seconds if self.elapsed_seconds else 0.0
