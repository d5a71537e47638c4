"""What cannot work is refused at once, in one line that names the setting, before anything starts."""

import os
import subprocess
from pathlib import Path

import pytest

from .conftest import Checkout

pytestmark = pytest.mark.xdist_group("embedded supervisor")

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user or mount one")


def refused(checkout: Checkout, *arguments: str, **extra: str | None) -> str:
    """The one line, without our name in front; exit code 2 and nothing on standard output."""
    code, out, err = checkout.run(*(arguments or ("manage", "environment")), **extra)
    assert (code, out, len(err.splitlines())) == (2, "", 1), err
    assert checkout.pids() == []
    return err.removeprefix("holdfast: ")


@pytest.mark.parametrize("port", ["0", "65536", "http", "80 ", "-1", "٣"])
def test_a_port_that_is_none(checkout: Checkout, port: str) -> None:
    assert refused(checkout, HOLDFAST_PORT=port).startswith(f"HOLDFAST_PORT is {port!r}")
    assert refused(checkout, "up", f"--port={port}").startswith(f"--port is {port!r}")


def test_an_unknown_environment(checkout: Checkout) -> None:
    line = refused(checkout, HOLDFAST_ENV="staging")
    assert line == "HOLDFAST_ENV is 'staging': it is development or production\n"


def test_production_without_a_secret_key(checkout: Checkout) -> None:
    assert refused(checkout, HOLDFAST_ENV="production").startswith("HOLDFAST_SECRET_KEY is not set")


SECRET = "s3cret-w0rd"
PRODUCTION = {
    "HOLDFAST_ENV": "production",
    "HOLDFAST_SECRET_KEY": "k" * 32,
    "HOLDFAST_ALLOWED_HOSTS": "tickets.example.org",
}


@pytest.mark.parametrize("command", ["up", "demo", "manage", "test"])
@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HOLDFAST_ALLOWED_HOSTS", None),
        ("HOLDFAST_SECRET_KEY", SECRET),
        ("HOLDFAST_CSRF_TRUSTED_ORIGINS", "tickets.example.org"),
        ("REDIS_URL", f"http://:{SECRET}@cache"),
        ("DATABASE_URL", f"mysql://owner:{SECRET}@db/tickets"),
        ("HOLDFAST_APP_DATABASE_URL", f"postgresql://app:{SECRET}@db"),
        ("HOLDFAST_ENV", ""),
    ],
)
def test_what_every_process_would_stop_at(checkout: Checkout, command: str, variable: str, value: str | None) -> None:
    line = refused(checkout, command, **PRODUCTION | {variable: value})
    assert line.startswith(f"{variable} ")
    assert SECRET not in line
    assert not checkout.state.exists()


def test_what_is_good_for_production_is_not_refused(checkout: Checkout) -> None:
    checkout.state.mkdir()
    given = {"DATABASE_URL": "postgresql://given@/x", "REDIS_URL": "redis://given"}
    assert checkout.run("manage", "environment", **PRODUCTION, **given)[0] == 0


@pytest.mark.parametrize("arguments", [("up", "--workers", "0"), ("up", "--colour"), ("demo", "now")])
def test_an_option_that_is_none(checkout: Checkout, arguments: tuple[str, ...]) -> None:
    assert arguments[1] in refused(checkout, *arguments)


def test_a_host_that_is_not_here(checkout: Checkout) -> None:
    assert refused(checkout, "up", HOLDFAST_HOST="192.0.2.1").startswith("HOLDFAST_HOST can't listen on 192.0.2.1")


def test_a_state_folder_that_is_a_file(checkout: Checkout) -> None:
    checkout.state.touch()
    assert refused(checkout) == f"HOLDFAST_STATE {checkout.state} is not a folder: choose another path\n"


@pytest.mark.parametrize(("name", "reason"), [("a,b", "has a comma"), ("a\nb", "can't be printed")])
def test_a_state_folder_that_a_server_cannot_be_told(checkout: Checkout, name: str, reason: str) -> None:
    folder = checkout.folder / name
    line = refused(checkout, HOLDFAST_STATE=str(folder))
    assert line.startswith("HOLDFAST_STATE ")
    assert reason in line
    assert not folder.exists()


def test_a_state_folder_that_is_a_link(checkout: Checkout) -> None:
    target = checkout.folder / "elsewhere"
    target.mkdir()
    checkout.state.symlink_to(target)
    assert "is a symbolic link" in refused(checkout)
    assert list(target.iterdir()) == []


def test_a_state_folder_that_others_can_write(checkout: Checkout) -> None:
    checkout.state.mkdir()
    checkout.state.chmod(0o1777)
    assert "can be written by others" in refused(checkout)
    assert checkout.state.stat().st_mode & 0o7777 == 0o1777, "left as it was"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc as a place where nobody can write")
def test_a_state_folder_that_cannot_be_made(checkout: Checkout) -> None:
    assert refused(checkout, HOLDFAST_STATE="/proc/holdfast").startswith("HOLDFAST_STATE /proc/holdfast can't be used")


@AS_ROOT
def test_a_state_folder_of_another_user(checkout: Checkout) -> None:
    checkout.state.mkdir()
    os.chown(checkout.state, 65_533, 65_533)
    assert "belongs to another user (uid 65533)" in refused(checkout)


@AS_ROOT
def test_a_state_folder_that_the_servers_user_cannot_reach(checkout: Checkout) -> None:
    closed = checkout.folder / "closed"
    closed.mkdir(mode=0o700)
    line = refused(checkout, HOLDFAST_STATE=str(closed / "state"))
    assert f"because {closed} is closed to others" in line


@AS_ROOT
def test_a_new_state_folder_with_a_mode_of_its_own_is_opened_for_the_server(checkout: Checkout) -> None:
    checkout.state.mkdir(mode=0o700)  # as mktemp -d makes it
    assert checkout.run("manage", "environment")[0] == 0


@AS_ROOT
@pytest.mark.parametrize(("size", "message"), [("1m", "MB free and new services need"), ("4k", "can't be used")])
def test_a_full_state_folder(checkout: Checkout, size: str, message: str) -> None:
    checkout.state.mkdir()
    mounted = subprocess.run(
        ["/bin/mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "none", checkout.state], check=False
    )
    if mounted.returncode != 0:
        pytest.skip("this machine does not let us mount a small filesystem")
    try:
        if size == "4k":
            (checkout.state / "rest").write_bytes(bytes(4096))
        code, _, err = checkout.run("manage", "environment")
    finally:
        subprocess.run(["/bin/umount", checkout.state], check=True)

    assert code in {1, 2}
    assert len(err.splitlines()) == 1
    assert message in err
    assert str(checkout.state) in err
