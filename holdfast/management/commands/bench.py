"""`bench SCENARIO`: a load and its ratios, on a database of the run's own; exit 1 when a promise broke under it."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from holdfast.bench.database import bench_database
from holdfast.bench.ground import standing
from holdfast.bench.options import CONNECTIONS_MAX, COUNT_MAX, ROUNDS_MAX, SECONDS_MAX, Options
from holdfast.bench.processes import CantRun, stoppable
from holdfast.bench.report import as_json, as_text, machine
from holdfast.bench.scenarios import SCENARIOS

ARM_OPTIONS = ("peer", "floor", "noop")
USUAL = Options()


class Command(BaseCommand):
    help = "Run one scenario of the benchmarks."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.prog = "./hold bench"
        parser.add_argument("scenario", choices=list(SCENARIOS))
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
        parser.add_argument(
            "--seconds",
            type=_within(float, SECONDS_MAX),
            default=USUAL.seconds,
            help="of a timed load, or of blows",
        )
        parser.add_argument(
            "--connections", type=_within(int, CONNECTIONS_MAX), default=USUAL.connections, help="of HoldFast's load"
        )
        parser.add_argument(
            "--rounds", type=_within(int, ROUNDS_MAX), default=USUAL.rounds, help="each arm has one load in each"
        )
        parser.add_argument(
            "--count", type=_within(int, COUNT_MAX), help="messages that wait (deliveries, and for each of hanging)"
        )
        parser.add_argument("--peer", type=Path, help="the Express peer's folder (flash, hot, spread)")
        parser.add_argument("--floor", type=Path, help="the folder of pgbench files (hot, spread)")
        parser.add_argument("--noop", action="store_true", help="beside a request that does nothing (hot, spread)")

    def handle(self, *args: Any, **given: Any) -> None:
        scenario = given["scenario"]
        for name in ARM_OPTIONS:
            if given[name] and name not in SCENARIOS[scenario].arms:
                raise CommandError(f"{scenario} has no --{name}")
        options = Options(**{name: given[name] for name in Options.__dataclass_fields__})
        try:
            faults = self._run(scenario, options, as_object=given["json"])
        except CantRun as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            raise CommandError("stopped", returncode=130) from None
        if faults:
            raise CommandError("a promise broke: this run counts nothing")

    def _run(self, scenario: str, options: Options, *, as_object: bool) -> list[str]:
        with stoppable(), bench_database() as environment:
            with standing(environment, scenario) as ground:
                findings = SCENARIOS[scenario].run(ground, options)
            faults, place = ground.check(), machine()
        told = json.dumps(as_json(scenario, findings, place, faults)) if as_object else as_text(findings, place, faults)
        self.stdout.write(told)
        return faults


def _within[T: (int, float)](kind: Callable[[str], T], most: float) -> Callable[[str], T]:
    """A number above 0 and up to `most`."""

    def read(text: str) -> T:
        number = kind(text)
        if not 0 < number <= most:
            raise argparse.ArgumentTypeError(f"{text} is not above 0 and up to {most:g}")
        return number

    return read
