"""HoldFast as it is measured: its own web process on its own database, one tenant, and everything it answered."""

import http.client
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

import orjson

from holdfast.bench.checks import broken_rules
from holdfast.bench.client import DRAIN_SECONDS
from holdfast.bench.load import Load, Tally
from holdfast.bench.processes import run, running, wait_until
from holdfast.bench.stock import Stock, make_stock
from holdfast.embedded.web import Address, reserve, web_program
from tenants.operations.tenants import create_tenant

WEB_PROCESSES = 2
HOLDS = "/v1/holds"
ORDERS = "/v1/orders"
NOOP = "/v1/bench/noop"
# enough for every thread of every process to have its connections, caches and compiled expressions
WARM_UP = 400
FAULTS_FROM = 500
# besides the load's own seconds: the client's start, and its answers
CLIENT_WITHIN_SECONDS = 60.0 + DRAIN_SECONDS


@dataclass
class Ground:
    """Where a scenario runs. `faults` collects what must not happen, in the words of a report."""

    environment: Mapping[str, str]
    port: int
    tenant_id: UUID
    key: str
    granted: int = 0
    faults: list[str] = field(default_factory=list)

    def stock(self, *, events: int = 1, units_each: int) -> Stock:
        return make_stock(self.tenant_id, events=events, units_each=units_each)

    def hold(self, bodies: Sequence[Any], connections: int, seconds: float | None = None) -> Tally:
        """Ask for holds; what goes wrong is a fault of this run."""
        tally = self._post(HOLDS, bodies, connections, seconds)
        self.granted += tally.granted
        return tally

    def pay(self, bodies: Sequence[Any], connections: int, seconds: float | None = None) -> Tally:
        """Ask for orders, each once."""
        return self._post(ORDERS, bodies, connections, seconds, keyed=True)

    def noop(self, bodies: Sequence[Any], connections: int, seconds: float) -> Tally:
        """The same requests, validated and not acted on."""
        return self._post(NOOP, bodies, connections, seconds)

    def check(self) -> list[str]:
        """All faults so far, and the rules that the rows break."""
        return [*self.faults, *broken_rules(self.tenant_id, granted=self.granted)]

    def _post(
        self, path: str, bodies: Sequence[Any], connections: int, seconds: float | None, *, keyed: bool = False
    ) -> Tally:
        headers = {"Authorization": f"Bearer {self.key}"}
        tally = send(Load(self.port, path, bodies, connections, headers, seconds, keyed=keyed), self.environment)
        self.faults += [
            f"{path} answered {status} {count} times"
            for status, count in tally.statuses.items()
            if int(status) >= FAULTS_FROM
        ]
        if tally.unanswered:
            self.faults.append(f"{path} left {tally.unanswered} requests without an answer")
        return tally


def send(load: Load, environment: Mapping[str, str]) -> Tally:
    """Send the load from a process of its own. Raises CantRun."""
    answer = run(
        [sys.executable, "-m", "holdfast.bench.client"],
        environment,
        text=orjson.dumps(asdict(load)),
        within_seconds=(load.seconds or 0) + CLIENT_WITHIN_SECONDS,
    )
    return Tally(**orjson.loads(answer))


@contextmanager
def standing(environment: Mapping[str, str], name: str) -> Iterator[Ground]:
    """Start the web server and warm it up; stop it on leaving. Raises CantRun."""
    tenant, _, key = create_tenant(slug=f"bench-{name}")
    with closing(reserve("127.0.0.1", 0)) as held:
        address = Address("127.0.0.1", held.getsockname()[1])
        command = web_program(address, WEB_PROCESSES).command
        with running(command, environment) as process:
            wait_until(lambda: _answers(address), process, "the web server")
            ground = Ground(environment, address.port, tenant.id, key)
            ground.hold(ground.stock(units_each=WARM_UP).any_bodies(WARM_UP), connections=WEB_PROCESSES * 8)
            yield ground


def _answers(address: Address) -> bool:
    """Alive is enough: what else a ready HoldFast needs (workers, say) is not measured here."""
    connection = http.client.HTTPConnection(address.host, address.port, timeout=2.0)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
