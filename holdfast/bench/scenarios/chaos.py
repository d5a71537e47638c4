"""`chaos`: a whole HoldFast under load while its parts are killed at random. What was answered is kept."""

import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from holdfast.bench.crowd import Crowd
from holdfast.bench.figures import Figures
from holdfast.bench.ground import Ground
from holdfast.bench.options import Options
from holdfast.bench.processes import CantRun, free_port, run, running, wait_until
from holdfast.bench.report import Findings
from holdfast.bench.victims import Victims

UNITS = 400
BUYERS = 8
TTL_SECONDS = (5, 15)
BLOW_EVERY_SECONDS = (0.5, 3.0)
SETTLED_WITHIN_SECONDS = 60.0
MANAGE_WITHIN_SECONDS = 60.0
GET_WITHIN_SECONDS = 5.0
HOLDFAST = [sys.executable, "-m", "holdfast.embedded"]
OURS = ("DATABASE_URL", "REDIS_URL", "HOLDFAST_APP_DATABASE_URL", "HOLDFAST_MAINTENANCE_DATABASE_URL")


def chaos(ground: Ground, options: Options) -> Findings:
    """Seconds from the last blow until every hold has ended, one figure; runs on services of its own."""
    state = Path(tempfile.mkdtemp(prefix="hf-chaos-", dir="/tmp"))
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if name not in OURS}
    environment |= {"HOLDFAST_STATE": str(state), "HOLDFAST_ENV": "development"}
    try:
        with running([*HOLDFAST, "up", "--port", str(port)], environment) as process:
            wait_until(lambda: _status(port, "/readyz") == HTTPStatus.OK, process, "HoldFast")
            crowd = _crowd(port, environment)
            blows = _under_blows(crowd, Victims(process.pid, state), options.seconds)
            settled_seconds = _settled(port)
            ground.faults += _broken(crowd, environment, settled_seconds)
    finally:
        shutil.rmtree(state, ignore_errors=True)
    lines = [f"{blow} {count} times" for blow, count in sorted(blows.items())]
    lines.append(f"{len(crowd.promised)} holds promised, {crowd.unanswered} calls without an answer")
    title = f"{BUYERS} buyers, {UNITS} units, {options.seconds:g} s of blows"
    return Findings(title, "s until settled", {"holdfast": Figures.of([settled_seconds])}, lines=lines)


def _crowd(port: int, environment: Mapping[str, str]) -> Crowd:
    """A tenant with an event on sale, and buyers for it."""
    made = json.loads(_manage(environment, "create_tenant", "chaos", "--json"))
    labels = [f"U-{number}" for number in range(UNITS)]
    crowd = Crowd(port, made["api_key"], "", labels, TTL_SECONDS)
    event: dict[str, Any] = {"slug": "drop", "name": "Drop", "kind": "items", "currency": "EUR", "timezone": "UTC"}
    event["hold_ttl_seconds"] = max(TTL_SECONDS)  # also the term of an extension
    _, answer = crowd.call("POST", "/v1/events", event)
    crowd.event = answer["id"]
    crowd.call("POST", f"/v1/events/{crowd.event}/units", {"units": [{"label": label} for label in labels]})
    status, _ = crowd.call("POST", f"/v1/events/{crowd.event}/publish")
    if status != HTTPStatus.OK:
        raise CantRun("the event could not be published")
    return crowd


def _under_blows(crowd: Crowd, victims: Victims, seconds: float) -> Counter[str]:
    """Let the crowd buy while one part after another is hurt; answers how often each was."""
    chance = random.Random(seconds)  # noqa: S311 - the same blows in every run
    stopped = threading.Event()
    threads = crowd.run(BUYERS, stopped)
    blows: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(chance.uniform(*BLOW_EVERY_SECONDS))
        name, blow = chance.choice(list(victims.blows.items()))
        blows[name] += blow()
    stopped.set()
    for thread in threads:
        thread.join()
    return blows


def _settled(port: int) -> float:
    """Seconds until it is ready and nothing that has lapsed is left to be swept; more than the limit if never."""
    start = time.monotonic()
    # the longest hold, extended once, must have lapsed before there is nothing more to sweep
    lapsed_by = start + 2 * max(TTL_SECONDS) + 1
    while time.monotonic() - start < SETTLED_WITHIN_SECONDS:
        swept = _metric(port, "holdfast_lapsed_holds") == 0 and _metric(port, "holdfast_active_holds") == 0
        if swept and _status(port, "/readyz") == HTTPStatus.OK:
            return time.monotonic() - start
        time.sleep(0.5 if time.monotonic() > lapsed_by else 1.0)
    return SETTLED_WITHIN_SECONDS + 1


def _broken(crowd: Crowd, environment: Mapping[str, str], settled_seconds: float) -> list[str]:
    """What must not be: promises lost, units held by nobody, messages that miss or repeat."""
    faults = []
    if settled_seconds > SETTLED_WITHIN_SECONDS:
        faults.append(f"it was not settled {SETTLED_WITHIN_SECONDS:.0f} s after the last blow")
    faults += [f"hold {hold} was promised and is {found}" for hold, found in _lost(crowd)]
    invariants = json.loads(_manage(environment, "check_invariants", "--json"))
    faults += [f"{name}: {len(rows)} rows" for name, rows in invariants["invariants"].items() if rows]
    _, left = crowd.call("GET", f"/v1/events/{crowd.event}/units?status=available&limit=1")
    if not left["data"]:
        faults.append("no unit came back")
    return faults


def _lost(crowd: Crowd) -> list[tuple[str, str]]:
    """Promised holds that are not there, or are not as their last answer left them."""
    lost = []
    for hold in sorted(crowd.promised):
        status, body = crowd.call("GET", f"/v1/holds/{hold}")
        wanted = ("released",) if hold in crowd.released else ("expired", "released")
        if status != HTTPStatus.OK or body["status"] not in wanted:
            lost.append((hold, body.get("status", str(status))))
    return lost


def _manage(environment: Mapping[str, str], *words: str) -> bytes:
    return run([*HOLDFAST, "manage", *words], environment, within_seconds=MANAGE_WITHIN_SECONDS)


def _status(port: int, path: str) -> int:
    return _get(port, path)[0]


def _metric(port: int, name: str) -> float | None:
    """The metric's value; None where it can't be read at this moment."""
    _, text = _get(port, "/metrics")
    values = [line.split()[1] for line in text.splitlines() if line.split(maxsplit=1)[:1] == [name]]
    return float(values[0]) if values else None


def _get(port: int, path: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=GET_WITHIN_SECONDS)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except (OSError, HTTPException):
        return 0, ""
    finally:
        connection.close()
