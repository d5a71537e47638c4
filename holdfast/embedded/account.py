"""Who the servers run as: PostgreSQL refuses root, so root hands both servers to `nobody`."""

import os
import pwd
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from holdfast.embedded.errors import Refusal

SERVER_USER = "nobody"


class RunAs(TypedDict, total=False):
    """The arguments of subprocess that choose the user."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class Account:
    """The user and group of the servers' processes and files."""

    uid: int
    gid: int
    switches: bool

    @property
    def run_as(self) -> RunAs:
        """Arguments for subprocess; empty when the servers run as ourselves."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.switches else {}

    def make_private_folder(self, path: Path) -> None:
        """A folder of the servers' own, closed to everyone else."""
        path.mkdir(exist_ok=True)
        path.chmod(0o700)
        if self.switches:
            os.chown(path, self.uid, self.gid)


def server_account() -> Account:
    """Ourselves, or `nobody` when we are root."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid(), switches=False)
    try:
        entry = pwd.getpwnam(SERVER_USER)
    except KeyError:
        raise Refusal(
            f"as root, PostgreSQL runs as the user {SERVER_USER}, which this machine lacks: "
            "start as an ordinary user, or set DATABASE_URL and REDIS_URL"
        ) from None
    return Account(entry.pw_uid, entry.pw_gid, switches=True)
