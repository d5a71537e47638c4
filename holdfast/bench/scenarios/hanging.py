"""`hanging`: the wait for a webhook, alone and beside endpoints that keep the workers waiting."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from holdfast.bench.deliverers import deliverers
from holdfast.bench.figures import percentile
from holdfast.bench.ground import Ground
from holdfast.bench.listening import Arrival, Receiver, receiving
from holdfast.bench.messages import listen, say
from holdfast.bench.options import Options
from holdfast.bench.processes import CantRun, is_so_within
from holdfast.bench.report import Findings
from holdfast.bench.rounds import Arm, take_turns
from holdfast.kernel.ids import new_id
from tenants.operations.tenants import create_tenant
from webhooks.delivery import IN_FLIGHT_MAX
from webhooks.operations.endpoints import delete_endpoint

COUNT = 1_000
BAD = ("/hang/", "/drip/")
# of the tenant that has the bad ones, and of another
ENDPOINTS_BESIDE, ENDPOINTS_ELSEWHERE = 2, 1
# to each tenant, at a rate that leaves the machine some room: it is the wait that is measured
MESSAGES_A_SECOND = 20
AT_WORK_WITHIN_SECONDS = 30.0
# in time or not, they are to arrive
ARRIVED_WITHIN_SECONDS = 30.0
UNIT = "ms"


def hanging(ground: Ground, options: Options) -> Findings:
    """The 95th percentile from the commit of a message to its arrival at endpoints that answer, in milliseconds."""
    count = options.count or COUNT
    lines: list[str] = []

    def wait(bad: int) -> float:
        with receiving(ground.environment) as receiver, _town(receiver) as town:
            town.keep_waiting(bad)
            return _p95_ms(ground, town, options.seconds, lines)

    with deliverers(ground.environment):
        arms = [Arm("beside", lambda: wait(count)), Arm("alone", lambda: wait(0))]
        figures = take_turns(arms, options.rounds, UNIT)
    ratios = {"beside / alone": figures["beside"].over(figures["alone"])}
    title = f"p95 of the wait for a webhook beside one endpoint that hangs and one that drips, {count:,} messages each"
    return Findings(title, UNIT, figures, ratios, lines)


def waits_ms(committed: Mapping[str, float], arrivals: Sequence[Arrival]) -> list[float]:
    """From each commit to the first arrival; of those that arrived."""
    first = dict(reversed(arrivals))
    return [1000 * (first[webhook_id] - at) for webhook_id, at in committed.items() if webhook_id in first]


@dataclass
class _Town:
    """Two new tenants; `paths` are those of their endpoints that answer, with the tenant of each."""

    receiver: Receiver
    tenant_id: UUID
    elsewhere_id: UUID
    paths: dict[str, UUID] = field(default_factory=dict)
    endpoints: list[tuple[UUID, UUID]] = field(default_factory=list)

    def add(self, tenant_id: UUID, path: str, events: str) -> None:
        self.endpoints.append((tenant_id, listen(tenant_id, self.receiver.url(path), events)))

    def keep_waiting(self, count: int) -> None:
        """Have so many messages for each bad endpoint, and as many requests under way as there may be."""
        if not count:
            return
        paths = [f"{bad}{new_id()}" for bad in BAD]
        for path in paths:
            self.add(self.tenant_id, path, "ticket.*")
        say(self.tenant_id, "ticket.issued", count)
        wanted = dict.fromkeys(paths, min(count, IN_FLIGHT_MAX))
        if not is_so_within(AT_WORK_WITHIN_SECONDS, lambda: self.receiver.has(wanted)):
            raise CantRun(f"the endpoints that hang and drip were not asked: {self.receiver.counts()}")


@contextmanager
def _town(receiver: Receiver) -> Iterator[_Town]:
    """Afterwards nobody is told anything more: the next round begins with idle workers."""
    tenant_id, elsewhere_id = (create_tenant(slug=f"bench-{new_id()}")[0].id for _ in range(2))
    town = _Town(receiver, tenant_id, elsewhere_id)
    for tenant, endpoints in ((tenant_id, ENDPOINTS_BESIDE), (elsewhere_id, ENDPOINTS_ELSEWHERE)):
        for _ in range(endpoints):
            path = f"/fast/{new_id()}"
            town.add(tenant, path, "hold.*")
            town.paths[path] = tenant
    yield town
    for tenant, endpoint_id in town.endpoints:
        delete_endpoint(tenant_id=tenant, endpoint_id=endpoint_id)


def _p95_ms(ground: Ground, town: _Town, seconds: float, lines: list[str]) -> float:
    committed = _say_steadily([town.tenant_id, town.elsewhere_id], seconds)
    wanted = {path: len(committed[tenant_id]) for path, tenant_id in town.paths.items()}
    is_so_within(ARRIVED_WITHIN_SECONDS, lambda: town.receiver.has(wanted))
    arrivals = {path: town.receiver.arrivals(path) for path in town.paths}
    waits = [wait for path, tenant_id in town.paths.items() for wait in waits_ms(committed[tenant_id], arrivals[path])]
    told, came = sum(wanted.values()), sum(map(len, arrivals.values()))
    if len(waits) < told:
        ground.faults.append(f"{told - len(waits)} of {told} messages did not arrive at endpoints that answer")
    counts = sorted(town.receiver.counts().items())
    bad = [f"{path[1:5]} was asked {count} times" for path, count in counts if path[:6] in BAD]
    lines.append(
        f"{len(waits)} arrived, {came - len(waits)} requests more than that; p50 {percentile(waits, 50):.0f} ms, "
        f"p95 {percentile(waits, 95):.0f} ms, the longest {max(waits, default=0):.0f} ms; {', '.join(bad) or 'alone'}"
    )
    return percentile(waits, 95)


def _say_steadily(tenant_ids: Sequence[UUID], seconds: float) -> dict[UUID, dict[str, float]]:
    """A message to each tenant again and again; for each tenant the messages' ids, and when they were committed."""
    committed: dict[UUID, dict[str, float]] = {tenant_id: {} for tenant_id in tenant_ids}
    began = time.monotonic()
    for number in range(max(1, round(seconds * MESSAGES_A_SECOND))):
        time.sleep(max(0.0, began + number / MESSAGES_A_SECOND - time.monotonic()))
        for tenant_id in tenant_ids:
            (message_id,) = say(tenant_id, "hold.created")
            committed[tenant_id][str(message_id)] = time.monotonic()
    return committed
