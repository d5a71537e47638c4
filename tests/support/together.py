"""Races: functions released by one barrier, each in a thread with database connections of its own."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connections

DEADLINE_SECONDS = 30


def run_together(functions: Sequence[Callable[[], Any]], deadline_seconds: float = DEADLINE_SECONDS) -> list[Any]:
    """Run all at once; the result of each, or the exception it raised, in their order.

    Connections are opened before the barrier, so that nobody is late for the race.
    """
    barrier = threading.Barrier(len(functions))
    results: list[Any] = [TimeoutError(f"did not end in {deadline_seconds} s")] * len(functions)

    def run(index: int) -> None:
        try:
            connections["default"].ensure_connection()
            barrier.wait(deadline_seconds)
            results[index] = functions[index]()
        except Exception as error:  # noqa: BLE001 - handed to the test
            results[index] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(deadline_seconds)
    if any(thread.is_alive() for thread in threads):
        raise TimeoutError(f"{sum(thread.is_alive() for thread in threads)} threads run after {deadline_seconds} s")
    return results
