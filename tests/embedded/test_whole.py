"""The product itself, not the small application, started as a person with an unlucky environment would start it."""

import http.client
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from holdfast.embedded.web import WORKER_KILL_SECONDS

from .conftest import Checkout, empty_checkout, free_port, wait_for

pytestmark = pytest.mark.xdist_group("embedded supervisor")

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = {"tests", "docs"}
# A first start makes the cluster and its tables: 4 s on two idle cores.
STARTED_WITHIN_SECONDS = 90
UNLUCKY = {
    "PGPORT": "5433",
    "PGSERVICE": "nope",
    "PGHOSTADDR": "192.0.2.1",
    "PGTARGETSESSIONATTRS": "standby",
    "PGOPTIONS": "-c nonsense=1",
    "DJANGO_SETTINGS_MODULE": "other.settings",
}


def copy_product(checkout: Checkout) -> None:
    """With the compiled files, which stay good in a copy."""
    checkout.app.mkdir()
    for entry in ROOT.iterdir():
        if entry.is_dir() and entry.name not in LEFT_OUT and not entry.name.startswith("."):
            shutil.copytree(entry, checkout.app / entry.name)
        elif entry.name in {"manage.py", "requirements.lock"}:
            shutil.copy2(entry, checkout.app)


def status_of(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def test_up_is_ready_with_its_workers_and_stops_at_once() -> None:
    with empty_checkout() as checkout:
        copy_product(checkout)
        port = free_port()
        started_at = time.monotonic()
        state = str(checkout.folder / "a b%20#?é")
        process = checkout.start_up(port, HOLDFAST_STATE=state, **UNLUCKY)
        assert time.monotonic() - started_at < STARTED_WITHIN_SECONDS

        waiting = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        waiting.request("GET", "/readyz")
        lines = waiting.getresponse().read().decode().splitlines()
        assert lines == ["database: ok", "redis: ok", "migrations: ok", "workers: ok"]

        beside = checkout.run("manage", "mock_charges", "--json", HOLDFAST_STATE=state, **UNLUCKY)
        assert beside == (0, '{"charges": [], "refunds": []}\n', "")

        (worker,) = checkout.pids("manage.py work holds")
        os.kill(worker, signal.SIGKILL)
        wait_for("another worker", lambda: checkout.pids("manage.py work holds") not in ([], [worker]))

        mock_port = int((Path(state) / "dev" / "mock-psp" / "port").read_text())
        (mock,) = checkout.pids("manage.py mock_psp")
        os.kill(mock, signal.SIGKILL)
        wait_for("the mock provider at the same address", lambda: status_of(mock_port, "/healthz") == 200)
        assert checkout.pids("manage.py mock_psp") != [mock]

        stopped_at = time.monotonic()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert time.monotonic() - stopped_at < WORKER_KILL_SECONDS, "an open connection is not waited for"
        assert err.splitlines()[-1] == "holdfast: stopped"
        assert "Killing" not in err
        assert checkout.pids() == []
        waiting.close()
