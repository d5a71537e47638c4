"""The embedded PostgreSQL: a unix socket only, in a folder that only its own user and root can enter."""

import re
import shutil
import signal
import subprocess
from functools import cached_property
from pathlib import Path
from typing import override
from urllib.parse import quote

from holdfast.embedded.binaries import find_postgres, postgres_major
from holdfast.embedded.deathsig import tied_to_this_process
from holdfast.embedded.errors import Refusal
from holdfast.embedded.server import SERVER_ENVIRONMENT, Process, Server
from holdfast.embedded.state import Place

SUPERUSER = "postgres"
OWNER = "holdfast_owner"
DATABASE = "holdfast"
# Only part of the socket's name: nothing listens on TCP.
PORT = 5432

# The owner may make the runtime roles and the test database; it is no superuser and row-level security holds for it.
BIRTH_SQL = f"""\
CREATE ROLE {OWNER} LOGIN CREATEDB CREATEROLE NOSUPERUSER NOBYPASSRLS;
CREATE DATABASE {DATABASE} OWNER {OWNER};
"""

SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "shared_buffers": "128MB",
    # Statements are short here: planning machine code for one costs more than running it.
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
PROFILE_SETTINGS = {
    "dev": {"max_connections": "100"},
    # The test cluster is thrown away when it breaks, so it need not survive a crash of the machine.
    "test": {"max_connections": "200", "fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"},
}
INITDB_WITHIN_SECONDS = 120
STATUS_LINE = 7  # of postmaster.pid, counted from 0
BUILTIN_LOCALE_SINCE = 17


def database_url(place: Place) -> str:
    """The owner's address, for Django; it names the port, which libpq would look for in its caller's environment."""
    return f"postgresql://{OWNER}@/{DATABASE}?host={quote(str(place.sockets))}&port={PORT}"


def cluster_identity(place: Place) -> str:
    """The number that initdb gave the cluster, from the first 8 bytes of its control file."""
    with (place.data / "global" / "pg_control").open("rb") as control:
        return control.read(8).hex()


class Postgres(Server):
    """One cluster, born with its owner role and database."""

    name = "PostgreSQL"
    # Fast shutdown; then immediate shutdown, from which the next start recovers.
    stop_signals = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0))

    @cached_property
    def programs(self) -> Path:
        """The folder of the binaries."""
        return find_postgres(self.site, self.account)

    @override
    def prepare(self) -> None:
        """Make the cluster, and clear a lock file that names a stranger."""
        if not (self.place.data / "PG_VERSION").exists():
            self._make_cluster()
        for lock_file in (self.place.data / "postmaster.pid", self.place.sockets / f".s.PGSQL.{PORT}.lock"):
            self._clear_recycled(lock_file)

    @override
    def command(self) -> list[str]:
        settings = SETTINGS | PROFILE_SETTINGS[self.place.profile]
        settings["unix_socket_directories"] = str(self.place.sockets)
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [str(self.programs / "postgres"), "-D", str(self.place.data), *options]

    @override
    def answers(self, process: Process) -> bool:
        try:
            lines = (self.place.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > STATUS_LINE and lines[0] == str(process.pid) and lines[STATUS_LINE].strip() == "ready"

    def _make_cluster(self) -> None:
        """Under another name until it is whole, so that a start that was killed here leaves no half cluster."""
        draft = self.place.folder / "data.new"
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(self.place.data, ignore_errors=True)
        self.account.make_private_folder(draft)
        initdb = ["initdb", "-D", str(draft), "-U", SUPERUSER, "--auth=trust", "--encoding=UTF8", "--locale=C"]
        if postgres_major(self.programs, self.account) >= BUILTIN_LOCALE_SINCE:
            initdb += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        self._run(initdb)
        self._run(["postgres", "--single", "-D", str(draft), "postgres"], BIRTH_SQL)
        draft.rename(self.place.data)

    def _run(self, command: list[str], text: str = "") -> None:
        answer = subprocess.run(
            [str(self.programs / command[0]), *command[1:]],
            cwd="/",
            env=SERVER_ENVIRONMENT,
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=INITDB_WITHIN_SECONDS,
            preexec_fn=tied_to_this_process(),  # the keeper has one thread
            **self.account.run_as,
        )
        # A single-user server reports a failed statement and still ends with 0.
        if answer.returncode != 0 or "ERROR:" in answer.stderr:
            with self.place.server_log.open("a") as log:
                log.write(answer.stdout + answer.stderr)
            lines = answer.stderr.splitlines() or [f"exit code {answer.returncode}"]
            reason = next((line for line in lines if re.search("error|fatal", line, re.IGNORECASE)), lines[0])
            raise Refusal(f"{command[0]} could not make the database cluster: {reason} (see {self.place.server_log})")

    def _clear_recycled(self, lock_file: Path) -> None:
        """Remove a lock file whose process number now belongs to someone else.

        PostgreSQL takes any living process of its own user for its postmaster and would refuse to start. It deals with
        the number of a dead process itself, and needs the file then: it says whether old backends are still around.
        """
        try:
            pid = abs(int(lock_file.read_text().splitlines()[0]))
        except (FileNotFoundError, ValueError, IndexError):
            return
        if Path(f"/proc/{pid}").exists() and not self.is_ours(pid):
            lock_file.unlink()
