"""Races: functions released by one barrier, each in a thread with database connections of its own."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from django.db import connections

DEADLINE_SECONDS = 60


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


class Crew:
    """Threads that stay, each with its connections open: a race of theirs begins within microseconds, many times over.

    `with Crew(4) as crew: crew.race([f, g])`
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.pool = ThreadPoolExecutor(count)

    def race(self, functions: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run at most `count` functions at once; the result of each, or the exception it raised, in their order."""
        barrier = threading.Barrier(len(functions))

        def run(function: Callable[[], Any]) -> Any:
            barrier.wait(DEADLINE_SECONDS)
            try:
                return function()
            except Exception as error:  # noqa: BLE001 - handed to the test
                return error

        return list(self.pool.map(run, functions, timeout=DEADLINE_SECONDS))

    def __enter__(self) -> Self:
        self.race([connections["default"].ensure_connection] * self.count)
        return self

    def __exit__(self, *error: object) -> None:
        # the barrier gives each thread one of them
        self.race([connections.close_all] * self.count)
        self.pool.shutdown()
