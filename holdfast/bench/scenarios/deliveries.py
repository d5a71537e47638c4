"""`deliveries`: a backlog for one endpoint that answers at once, delivered by the product's own worker."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from uuid import UUID

from holdfast.bench.cpu import Meter
from holdfast.bench.deliverers import deliverers
from holdfast.bench.figures import percentile
from holdfast.bench.ground import Ground
from holdfast.bench.listening import Receiver, receiving
from holdfast.bench.messages import count_pending, listen, rest, say, tidy
from holdfast.bench.options import Options
from holdfast.bench.processes import CantRun, is_so_within
from holdfast.bench.report import Findings
from holdfast.bench.rounds import Arm, take_turns
from holdfast.bench.statements import counted_statements
from holdfast.kernel.ids import new_id
from webhooks.couriers import Couriers
from webhooks.models import Attempt
from webhooks.operations.endpoints import delete_endpoint, enable_endpoint
from webhooks.relay import relay

COUNT = 10_000
# statements are counted over so many, in this process
COUNTED_MAX = 400
# far slower than any machine that is of use
DELIVERIES_A_SECOND_MIN = 20
SETTLED_WITHIN_SECONDS = 30.0
UNIT = "deliveries/s"


def deliveries(ground: Ground, options: Options) -> Findings:
    """From the moment when all are due until the last has arrived."""
    count = options.count or COUNT
    lines: list[str] = []
    with receiving(ground.environment) as receiver:
        with deliverers(ground.environment) as worker:
            arms = [Arm("worker", lambda: _deliver(ground, receiver, worker, count, lines))]
            figures = take_turns(arms, options.rounds, UNIT)
        lines.append(_statements(ground, receiver, min(count, COUNTED_MAX)))
    return Findings(f"{count:,} messages for one endpoint that answers at once", UNIT, figures, lines=lines)


def wrong_arrivals(said: Iterable[str], came: Iterable[str]) -> list[str]:
    """Messages that did not come, and such as nobody said."""
    wanted, found = set(said), set(came)
    faults = [f"{len(wanted - found)} of {len(wanted)} messages did not arrive"] if wanted - found else []
    return faults + ([f"{len(found - wanted)} arrived that nobody said"] if found - wanted else [])


def _deliver(ground: Ground, receiver: Receiver, worker: int, count: int, lines: list[str]) -> float:
    """One round: all wait while the endpoint rests, and are due once it is enabled."""
    path, endpoint_id = _endpoint(ground.tenant_id, receiver)
    rest(ground.tenant_id, endpoint_id)
    said = say(ground.tenant_id, "hold.created", count)
    if not is_so_within(SETTLED_WITHIN_SECONDS, lambda: count_pending(endpoint_id) == count):
        raise CantRun(f"the relay made {count_pending(endpoint_id)} of {count} deliveries")
    tidy()
    meter, began = Meter(worker=worker, receiver=receiver.pid), time.monotonic()
    enable_endpoint(tenant_id=ground.tenant_id, endpoint_id=endpoint_id)
    is_so_within(SETTLED_WITHIN_SECONDS + count / DELIVERIES_A_SECOND_MIN, lambda: receiver.has({path: count}))
    if not is_so_within(SETTLED_WITHIN_SECONDS, lambda: count_pending(endpoint_id) == 0):
        ground.faults.append(f"{count_pending(endpoint_id)} deliveries were not written down")
    cpu, arrivals = meter.seconds(), receiver.arrivals(path)
    delete_endpoint(tenant_id=ground.tenant_id, endpoint_id=endpoint_id)
    came = Counter(webhook_id for webhook_id, _ in arrivals)
    ground.faults += wrong_arrivals(map(str, said), came)
    if not arrivals:
        raise CantRun("nothing arrived")
    elapsed = max(at for _, at in arrivals) - began
    lines += [
        f"{len(came)} arrived, {came.total() - len(came)} requests more than that; {_attempts(endpoint_id)}",
        f"CPU a delivery: {_cpu_of_each(cpu, count)}; the receiver was at work {cpu.get('receiver', 0) / elapsed:.0%}",
    ]
    return len(came) / elapsed


def _endpoint(tenant_id: UUID, receiver: Receiver) -> tuple[str, UUID]:
    """A new one, with a path of its own."""
    path = f"/fast/{new_id()}"
    return path, listen(tenant_id, receiver.url(path), "hold.*")


def _attempts(endpoint_id: UUID) -> str:
    """How many were made for each delivery, and how long they took."""
    attempts = Attempt.everywhere.filter(delivery__endpoint_id=endpoint_id)
    each = Counter(attempts.values_list("delivery_id", flat=True)).values()
    took = [duration for duration in attempts.values_list("duration_ms", flat=True) if duration is not None]
    return (
        f"attempts a delivery p50 {percentile(list(each), 50):g}, p95 {percentile(list(each), 95):g}, "
        f"an attempt p50 {percentile(took, 50):g} ms, p95 {percentile(took, 95):g} ms"
    )


def _cpu_of_each(cpu: Mapping[str, float], count: int) -> str:
    told = ", ".join(f"{name} {1000 * seconds / count:.2f} ms" for name, seconds in cpu.items() if name != "receiver")
    return told or "it can't be seen from here"


def _statements(ground: Ground, receiver: Receiver, count: int) -> str:
    """The same by couriers of this process, whose statements can be counted."""
    path, endpoint_id = _endpoint(ground.tenant_id, receiver)
    say(ground.tenant_id, "hold.created", count)
    while relay(ground.tenant_id)[0]:
        pass
    with counted_statements() as counter, Couriers(is_slow=False) as couriers:
        couriers.take_up(ground.tenant_id, endpoint_id)
        is_so_within(SETTLED_WITHIN_SECONDS, lambda: receiver.has({path: count}))
    delete_endpoint(tenant_id=ground.tenant_id, endpoint_id=endpoint_id)
    if left := count - receiver.counts().get(path, 0):
        ground.faults.append(f"couriers of this process left {left} of {count}")
    return f"SQL: {counter.count / count:.1f} statements a delivery, BEGIN and COMMIT among them, counted over {count}"
