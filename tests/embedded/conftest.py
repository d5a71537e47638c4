"""Real processes on a checkout of their own: the launcher's own code, and a small application in place of HoldFast's.

The application is small so that these tests are about processes, not about what runs in them; PostgreSQL, Valkey, the
keepers, the supervisor and granian are the real ones.

Every set of servers has ports, sockets and data of its own; the tests form two groups, each on one worker, so that not
more than two sets start at a time and a module's shared one starts once.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

EMBEDDED = Path(__file__).resolve().parents[2] / "holdfast" / "embedded"
DEADLINE_SECONDS = 60.0

MANAGE = """\
import json, os, sys, time
command, *rest = sys.argv[1:]
if command == "provision":
    open(os.environ["HOLDFAST_STATE"] + "/provisions", "a").write("x")
    sys.exit(int(os.environ.get("STUB_PROVISION_CODE", "0")))
elif command == "echo":
    print(" ".join(rest), sys.stdin.read(), end="")
    sys.exit(7)
elif command == "environment":
    print(json.dumps(dict(os.environ)))
elif command == "query":
    import psycopg
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        print(*connection.execute(rest[0]).fetchone())
elif command in {"work", "run_periodic"}:
    time.sleep(600)
elif command == "mock_psp":
    import http.server
    class Healthy(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/healthz" else 404)
            self.end_headers()
        def log_message(self, *_):
            pass
    class Sharing(http.server.ThreadingHTTPServer):
        allow_reuse_port = True
    Sharing(("127.0.0.1", int(rest[rest.index("--port") + 1])), Healthy).serve_forever()
elif command == "wait":
    print("waiting", flush=True)
    time.sleep(60)
elif command == "demo_data":
    made = {"api_key": "hf_key", "login": "ada", "password": "secret", "event": "evt", "event_name": "Gala"}
    print(json.dumps(made | {"tenant": "t", "slug": "s", "section": "A"}))
"""

WSGI = """\
import os, threading, time
from holdfast.embedded.deathsig import die_with_parent
if os.environ.get("HOLDFAST_SUPERVISED") == "1":
    die_with_parent()
if os.environ.get("STUB_WEB") == "crash":
    raise SystemExit("the application is broken")
def application(environ, start_response):
    path = environ["PATH_INFO"]
    known = {"/readyz": "200 OK", "/v1/holds": os.environ.get("STUB_HOLDS", "201 Created"), "/pid": "200 OK"}
    if path == "/slow":
        time.sleep(60)
    if path == "/readyz" and "STUB_READYZ" in os.environ:
        start_response("503 Service Unavailable", [("Content-Type", "text/plain")])
        return [os.environ["STUB_READYZ"].encode()]
    start_response(known.get(path, "404 Not Found"), [("Content-Type", "application/json")])
    if path == "/v1/holds":
        return [environ["HTTP_AUTHORIZATION"].encode(), b" ", environ["wsgi.input"].read()]
    return [str(os.getpid()).encode()]
"""


def wait_for[T](what: str, look: Callable[[], T], deadline_seconds: float = DEADLINE_SECONDS) -> T:
    """The first true answer of `look`, which may raise OSError meanwhile."""
    deadline = time.monotonic() + deadline_seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            if found := look():
                return found
        time.sleep(0.05)
    pytest.fail(f"not within {deadline_seconds:.0f} s: {what}")


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Checkout:
    """One copy of the launcher with a state folder of its own, and what runs on it."""

    folder: Path
    python: str = sys.executable
    started: list[subprocess.Popen] = field(default_factory=list)

    @property
    def app(self) -> Path:
        return self.folder / "app"

    @property
    def state(self) -> Path:
        return self.folder / "s"

    def environment(self, extra: Mapping[str, str | None]) -> dict[str, str]:
        """Nothing of the caller's services or settings; a variable set to None is left out."""
        merged: dict[str, str | None] = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(self.folder / "home"),
            "HOLDFAST_STATE": str(self.state),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return {name: value for name, value in (merged | dict(extra)).items() if value is not None}

    def start(self, *arguments: str, user: int | None = None, **extra: str | None) -> subprocess.Popen[str]:
        """Start a command and leave it running."""
        process = subprocess.Popen(
            [self.python, "-m", "holdfast.embedded", *arguments],
            cwd=self.app,
            env=self.environment(extra),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
        self.started.append(process)
        return process

    def run(
        self, *arguments: str, text: str = "", user: int | None = None, **extra: str | None
    ) -> tuple[int, str, str]:
        """Run a command to its end: exit code, standard output, standard error."""
        process = self.start(*arguments, user=user, **extra)
        out, err = process.communicate(text, timeout=DEADLINE_SECONDS)
        return process.returncode, out, err

    def start_up(self, port: int, *arguments: str, **extra: str | None) -> subprocess.Popen[str]:
        """Start `up` and wait until it says that it is ready."""
        process = self.start("up", "--port", str(port), *arguments, **extra)
        line = process.stdout.readline()
        if "ready" not in line:
            pytest.fail(f"up did not start: {process.communicate(timeout=DEADLINE_SECONDS)}")
        return process

    def pids(self, *words: str) -> list[int]:
        """Living processes that name this checkout or stand in it, with all `words` in their command line."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            with contextlib.suppress(OSError):
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                here = str(self.folder) in line or (entry / "cwd").readlink() == self.app
                if here and all(word in line for word in words):
                    found.append(int(entry.name))
        return found

    def gone(self, within_seconds: float = 3.0) -> None:
        """Every process of this checkout ends, its servers too."""
        wait_for(f"no process left of {self.folder}", lambda: not self.pids(), within_seconds)

    def server_pid(self, service: str, profile: str = "dev") -> int:
        """The process number of a server, from the keeper's word."""
        return int((self.state / profile / service / "server.pid").read_text())

    def clean_up(self) -> None:
        """End what the test left, by its number."""
        for process in self.started:
            process.kill()
            process.communicate()
        with contextlib.suppress(pytest.fail.Exception):
            self.gone()
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder)


@contextlib.contextmanager
def empty_checkout() -> Iterator[Checkout]:
    """A short path, for the sockets, that an ordinary user can read."""
    folder = Path(tempfile.mkdtemp(prefix="hf-", dir="/tmp"))
    folder.chmod(0o755)
    made = Checkout(folder)
    try:
        yield made
    finally:
        made.clean_up()


@contextlib.contextmanager
def stub_checkout() -> Iterator[Checkout]:
    """The launcher's own code with the small application."""
    with empty_checkout() as made:
        shutil.copytree(EMBEDDED, made.app / "holdfast" / "embedded", ignore=shutil.ignore_patterns("__pycache__"))
        (made.app / "holdfast" / "__init__.py").touch()
        shutil.copy2(EMBEDDED.parent / "env.py", made.app / "holdfast")
        (made.app / "holdfast" / "wsgi.py").write_text(WSGI)
        (made.app / "manage.py").write_text(MANAGE)
        (made.app / "requirements.lock").touch()
        yield made


@pytest.fixture
def checkout() -> Iterator[Checkout]:
    """One of the test's own."""
    with stub_checkout() as made:
        yield made


@dataclass(frozen=True)
class Running:
    """An `up` that several tests use; each leaves it well."""

    checkout: Checkout
    process: subprocess.Popen[str]
    port: int


@pytest.fixture(scope="module")
def shared_up() -> Iterator[Running]:
    """Started once: starting takes longer than most of what is looked at in it."""
    with stub_checkout() as made:
        port = free_port()
        yield Running(made, made.start_up(port), port)


@pytest.fixture
def running(shared_up: Running) -> Iterator[Running]:
    """The shared `up`, which must outlive the test."""
    yield shared_up
    assert shared_up.process.poll() is None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Do what pytest-xdist means to: put a test's group at the end of its id, where the scheduler looks for it.

    pytest-xdist 3.8 sets an attribute that pytest 9.2 no longer reads, so the groups would be silently ignored.
    """
    if not getattr(config.option, "loadgroup", False):
        return
    for item in items:
        mark = item.get_closest_marker("xdist_group")
        if mark is not None and not item.nodeid.endswith(f"@{mark.args[0]}"):
            item._id = item._id.parse(f"{item.nodeid}@{mark.args[0]}")
