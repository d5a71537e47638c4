"""pgbench's part, where there is none: some processes with some threads, each with a connection, run one script.

Run as `python -m holdfast.bench.floor_client`, with a `Plan` as JSON on standard input; writes the transactions that
were committed a second. Python's own cost is in that figure, so it is called by another name than pgbench's.
"""

import json
import random
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import psycopg
from psycopg.rows import dict_row

from holdfast.bench.scripts import TransactionScript, transaction_script

START_WITHIN_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Plan:
    """`processes` times `threads` connections for `seconds`."""

    url: str
    script: str
    variables: Mapping[str, int]
    seconds: float
    processes: int
    threads: int


def measure(plan: Plan) -> float:
    """Committed transactions a second, over all processes."""
    context = get_context("spawn")
    with context.Pool(plan.processes) as pool:
        return sum(pool.map(_process, [plan] * plan.processes, chunksize=1))


def _process(plan: Plan) -> float:
    script = transaction_script(plan.script)
    together = threading.Barrier(plan.threads)
    with ThreadPoolExecutor(plan.threads) as threads:
        return sum(threads.map(lambda _: _thread(plan, script, together), range(plan.threads)))


def _thread(plan: Plan, script: TransactionScript, together: threading.Barrier) -> float:
    with psycopg.connect(plan.url, autocommit=True, prepare_threshold=1, row_factory=dict_row) as connection:
        together.wait(START_WITHIN_SECONDS)
        began_at = time.perf_counter()
        committed = 0
        while time.perf_counter() < began_at + plan.seconds:
            _transaction(connection, plan, script)
            committed += 1
        return committed / (time.perf_counter() - began_at)


def _transaction(connection: psycopg.Connection[dict[str, Any]], plan: Plan, script: TransactionScript) -> None:
    """Once through the script; raises TypeError where a row it needs is not there, as pgbench aborts."""
    values: dict[str, Any] = {
        name: random.randint(1, plan.variables[most])  # noqa: S311 - spreads load; guards nothing
        for name, most in script.drawn.items()
    }
    for step in script.steps:
        cursor = connection.execute(step.statement.encode(), values)
        if step.keeps_row:
            row = cursor.fetchone()
            if row is None:
                raise TypeError(f"no row: {step.statement}")
            values |= row


if __name__ == "__main__":
    sys.stdout.write(str(measure(Plan(**json.loads(sys.stdin.read())))))
