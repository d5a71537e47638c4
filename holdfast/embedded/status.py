"""What a keeper says about its server, in a file that its clients read.

The keeper's lock says whether a keeper lives; this says how far it got. Without a living keeper it means nothing.
"""

import json
from dataclasses import asdict, dataclass
from typing import Literal

from holdfast.embedded.state import Place

Phase = Literal["starting", "ready", "stopping", "failed"]


@dataclass(frozen=True)
class Status:
    """One keeper's last word."""

    phase: Phase
    keeper_pid: int
    server_pid: int | None = None
    problem: str | None = None


def write_status(place: Place, status: Status) -> None:
    """Replace the file in one step, so that a reader sees the old or the new one."""
    path = place.folder / "status.json"
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(asdict(status)))
    draft.replace(path)


def read_status(place: Place) -> Status | None:
    """The last status written, or None when there is none."""
    try:
        return Status(**json.loads((place.folder / "status.json").read_text()))
    except FileNotFoundError:
        return None
