"""`relay`: what it costs those who hold that others are told of it."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from holdfast.bench.deliverers import deliverers
from holdfast.bench.ground import Ground
from holdfast.bench.listening import Receiver, receiving
from holdfast.bench.messages import listen
from holdfast.bench.options import Options
from holdfast.bench.processes import CantRun, is_so_within
from holdfast.bench.report import Findings
from holdfast.bench.rounds import Arm, take_turns
from holdfast.bench.scenarios.throughput import UNITS_A_SECOND, holds_per_second, stocked_seconds
from holdfast.kernel.ids import new_id
from webhooks.models import Message
from webhooks.operations.endpoints import delete_endpoint

ENDPOINTS = 3
FIRST_WITHIN_SECONDS = 30.0
QUIET_WITHIN_SECONDS = 60.0
UNIT = "holds/s"


def relay(ground: Ground, options: Options) -> Findings:
    """As `hot`, with nobody who listens and with three endpoints; the workers of webhooks run beside both."""
    options = replace(options, seconds=stocked_seconds(options.seconds, events=1))
    units = math.ceil(options.seconds * UNITS_A_SECOND)
    lines: list[str] = []

    def hold() -> float:
        return holds_per_second(ground, options, 1, units, lines)

    def told(receiver: Receiver) -> float:
        with _listening(ground, receiver, lines):
            return hold()

    with receiving(ground.environment) as receiver, deliverers(ground.environment):
        arms = [Arm("three endpoints", lambda: told(receiver)), Arm("no endpoint", hold)]
        figures = take_turns(arms, options.rounds, UNIT)
    ratio = figures["three endpoints"].over(figures["no endpoint"])
    title = f"one event, one unit a hold; {options.connections} connections, {options.seconds:g} s a load"
    return Findings(title, UNIT, figures, {"three endpoints / no endpoint": ratio}, lines)


@contextmanager
def _listening(ground: Ground, receiver: Receiver, lines: list[str]) -> Iterator[None]:
    """Endpoints that are told of all holds, and gone afterwards with what they were not told yet."""
    paths = [f"/fast/{new_id()}" for _ in range(ENDPOINTS)]
    endpoint_ids = [listen(ground.tenant_id, receiver.url(path), "hold.*") for path in paths]
    yield
    is_so_within(FIRST_WITHIN_SECONDS, lambda: receiver.has(dict.fromkeys(paths, 1)))  # after a short load
    counts = receiver.counts()
    delivered = [counts.get(path, 0) for path in paths]
    for endpoint_id in endpoint_ids:
        delete_endpoint(tenant_id=ground.tenant_id, endpoint_id=endpoint_id)
    lines.append(f"meanwhile {sum(delivered)} deliveries were made: {', '.join(map(str, delivered))}")
    if not all(delivered):
        ground.faults.append(f"deliveries to {ENDPOINTS} endpoints were {delivered}")
    waits = Message.everywhere.filter(tenant_id=ground.tenant_id, waits_for_relay=True)
    if not is_so_within(QUIET_WITHIN_SECONDS, lambda: not waits.exists()):
        raise CantRun("messages still wait for the relay: the other arm would not be alone")
