"""The state folder: where the embedded services keep their data, sockets, locks and logs.

<state>/secret-key              Django's secret key in development
<state>/site/…                  copies of the servers' packages, if `nobody` can't reach the originals
<state>/dev/mock-psp/           the mock payment provider's books, and the port it listens on
<state>/<profile>/run/          both sockets; `dev` is what people use, `test` what the tests use
<state>/<profile>/<service>/    one server: data, logs, locks and the keeper's status
"""

import hashlib
import os
import secrets
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from holdfast.embedded.account import SERVER_USER, server_account
from holdfast.embedded.errors import BadSetting, Refusal
from holdfast.embedded.locks import exclusive

CHECKOUT = Path(__file__).resolve().parents[2]

# A socket's path has 104 bytes on macOS and 108 on Linux, with its closing zero.
SOCKET_PATH_BYTES_MAX = 103
LONGEST_SOCKET_NAME = ".s.PGSQL.5432"
# A new cluster takes about 40 MB, a copy of the binaries 42 MB, and the first write-ahead segments 16 MB each.
FREE_MB_MIN = 160


@dataclass(frozen=True)
class Place:
    """Where one server of one profile lives."""

    profile: str
    service: str
    folder: Path
    sockets: Path

    @property
    def data(self) -> Path:
        """The server's data folder."""
        return self.folder / "data"

    @property
    def server_log(self) -> Path:
        """What the server itself writes."""
        return self.folder / "server.log"

    @property
    def keeper_log(self) -> Path:
        """What the keeper writes, when something surprises it."""
        return self.folder / "keeper.log"

    @property
    def clients_lock(self) -> Path:
        """Shared by all who use the server; whoever gets it alone knows that nobody does."""
        return self.folder / "clients.lock"

    @property
    def start_lock(self) -> Path:
        """Held while a client looks for the keeper and starts one."""
        return self.folder / "start.lock"

    @property
    def keeper_lock(self) -> Path:
        """Held by the living keeper."""
        return self.folder / "keeper.lock"


@dataclass(frozen=True)
class State:
    """A state folder that was checked and is ours."""

    root: Path

    def place(self, profile: str, service: str) -> Place:
        """Make the folders of one server and say where they are."""
        account = server_account()
        folder = self.root / profile / service
        for path in (folder.parent, folder):
            _make(path)
        sockets = self._sockets(profile)
        _refuse_foreign(sockets, {os.geteuid(), account.uid})
        account.make_private_folder(sockets)
        place = Place(profile, service, folder, sockets)
        if not place.data.exists():
            _check_free_space(self.root)
        return place

    def mock_psp(self) -> Path:
        """The folder of the mock payment provider."""
        folder = self.root / "dev" / "mock-psp"
        for path in (folder.parent, folder):
            _make(path)
        return folder

    def secret_key(self) -> str:
        """Django's secret key, made on first use and then kept."""
        path = self.root / "secret-key"
        with exclusive(self.root / "secret-key.lock"):
            if path.exists() and (key := path.read_text().strip()):
                return key
            key = secrets.token_urlsafe(48)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(fd, "w") as file:
                file.write(key)
            return key

    def _sockets(self, profile: str) -> Path:
        """Beside the data, or in a short path of its own where that one would be too long for a socket."""
        beside = self.root / profile / "run"
        if len(os.fsencode(beside / LONGEST_SOCKET_NAME)) <= SOCKET_PATH_BYTES_MAX:
            return beside
        return Path("/tmp") / f"holdfast-{os.geteuid()}-{_digest(beside)}"  # noqa: S108 - checked as ours before use


def open_state(configured: str | None) -> State:
    """Find, make and check the state folder; raise a Refusal that says what to do."""
    root = Path(configured).absolute() if configured else _default_root()
    _check_name(root)
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        _make(root)
        _check_writable(root)
    except OSError as error:
        raise BadSetting("HOLDFAST_STATE", f"{root} can't be used: {error.strerror}; choose another folder") from error
    _check_reachable(root)
    return State(root)


def _default_root() -> Path:
    """Short, for the sockets, and one for each user and checkout. Not /tmp: it may be emptied at a reboot."""
    parent = Path("/var/tmp")  # noqa: S108 - the folder is checked as ours before use
    if not os.access(parent, os.W_OK):
        parent = Path(tempfile.gettempdir())
    return parent / f"holdfast-{os.geteuid()}-{_digest(CHECKOUT)}"


def _make(path: Path) -> None:
    """Make the folder, or check that the one that is there is ours alone.

    As root, `nobody` must get through to its own folders, which are closed one by one. A folder that has other things
    in it keeps its mode.
    """
    _refuse_foreign(path, {os.geteuid()})
    path.mkdir(exist_ok=True)
    if path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise BadSetting("HOLDFAST_STATE", f"{path} can be written by others: choose a folder of its own")
    if not any(path.iterdir()):
        path.chmod(0o755 if os.geteuid() == 0 else 0o700)


def _refuse_foreign(path: Path, owners: set[int]) -> None:
    """Raise when the path is something else than a folder of one of `owners`; absent is fine.

    A link or a folder that another user put there first could hand them our data.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(status.st_mode):
        raise BadSetting("HOLDFAST_STATE", f"{path} is a symbolic link: name the folder itself")
    if not stat.S_ISDIR(status.st_mode):
        raise BadSetting("HOLDFAST_STATE", f"{path} is not a folder: choose another path")
    if status.st_uid not in owners:
        raise BadSetting("HOLDFAST_STATE", f"{path} belongs to another user (uid {status.st_uid}): choose another")


def _check_name(root: Path) -> None:
    """Refuse a path that the servers or their clients can't be told."""
    if "," in str(root):
        raise BadSetting(
            "HOLDFAST_STATE", f"{root} has a comma, at which PostgreSQL divides its folders: choose another folder"
        )
    if not str(root).isprintable():
        raise BadSetting(
            "HOLDFAST_STATE", f"{str(root)!r} has a character that can't be printed: choose another folder"
        )


def _check_writable(root: Path) -> None:
    """Write for real: access rights don't tell of full, read-only and special filesystems."""
    with tempfile.TemporaryFile(dir=root) as probe:
        probe.write(bytes(4096))


def _check_free_space(root: Path) -> None:
    filesystem = os.statvfs(root)
    free_mb = filesystem.f_bavail * filesystem.f_frsize // 1_000_000
    if free_mb < FREE_MB_MIN:
        raise Refusal(
            f"the state folder {root} has {free_mb} MB free and new services need {FREE_MB_MIN} MB: "
            "free some space, or set HOLDFAST_STATE to another folder"
        )


def _check_reachable(root: Path) -> None:
    if not server_account().switches:
        return
    for path in (root, *root.parents):
        if not path.stat().st_mode & stat.S_IXOTH:
            raise BadSetting(
                "HOLDFAST_STATE",
                f"{root} can't be reached by the user {SERVER_USER}, who runs PostgreSQL when root starts it, because "
                f"{path} is closed to others: choose a folder such as /var/tmp/holdfast",
            )


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:8]
