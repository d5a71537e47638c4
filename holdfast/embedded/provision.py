"""Bring the database up to date before Django uses it: `manage.py provision`, skipped when nothing changed since."""

import hashlib
import subprocess
import sys
from pathlib import Path

from holdfast.embedded.console import say
from holdfast.embedded.deathsig import tied_to_this_process
from holdfast.embedded.errors import Refusal
from holdfast.embedded.locks import exclusive
from holdfast.embedded.postgres import cluster_identity
from holdfast.embedded.services import Services
from holdfast.embedded.state import CHECKOUT, Place

# What decides the schema and the roles: our migrations, the code they and `provision` call, the packages' versions.
SOURCES = (
    "*/migrations/*.py",
    "*/management/commands/migrate.py",
    "*/management/commands/provision.py",
    "*/rls.py",
    "*/roles.py",
    "requirements.lock",
)


def provision(services: Services) -> None:
    """Make roles, grants and tables current. Raises Refusal when that fails."""
    if services.cluster is None:
        _run(services)
        return
    stamp = _stamp(services.cluster)
    with exclusive(services.cluster.folder / "provision.lock"):
        current = _state_of(services.cluster)
        if stamp.exists() and stamp.read_text() == current:
            return
        say("bringing the database up to date")
        _run(services)
        stamp.write_text(current)


def forget(services: Services) -> None:
    """The next command provisions again: this one may change the schema by hand."""
    if services.cluster is not None:
        _stamp(services.cluster).unlink(missing_ok=True)


def _stamp(cluster: Place) -> Path:
    return cluster.folder / "provisioned"


def _state_of(cluster: Place) -> str:
    digest = hashlib.sha256(cluster_identity(cluster).encode())
    for path in sorted(path for pattern in SOURCES for path in CHECKOUT.glob(pattern)):
        digest.update(str(path.relative_to(CHECKOUT)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _run(services: Services) -> None:
    ended = subprocess.run(
        [sys.executable, "manage.py", "provision"],
        cwd=CHECKOUT,
        env=services.environment,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        check=False,
        preexec_fn=tied_to_this_process(),  # this process has one thread
    )
    if ended.returncode != 0:
        raise Refusal("the database could not be brought up to date: the reason is above")
