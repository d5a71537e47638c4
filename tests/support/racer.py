"""A process of its own that acts on holds when it is told to: `python -m tests.support.racer`.

It reads a line of JSON for each act, `{"act": …, "at": Unix time, …}`, and answers with a line: what came of it.
"""

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Self
from uuid import UUID

from tests.support.web import CHECKOUT, TIED, environment


class Racers:
    """`with Racers(3) as racers: racers.race([{"act": "release", …}, …])`: that many processes, kept for many races.

    Variables of the environment may be given for the first of them, the second, and so on.
    """

    LEAD_SECONDS = 0.01

    def __init__(self, count: int, *variables: dict[str, str]) -> None:
        command = [sys.executable, "-c", TIED, "-m", "tests.support.racer"]
        self.processes = [
            subprocess.Popen(
                command,
                cwd=CHECKOUT,
                env={**environment(), **more},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            for more in itertools.islice(itertools.chain(variables, itertools.repeat({})), count)
        ]

    def race(self, acts: Sequence[dict[str, Any]]) -> list[str]:
        """All of them at one moment, or each as long after it as its `delay` says; what came of each."""
        at = time.time() + self.LEAD_SECONDS
        racing = self.processes[: len(acts)]
        for process, act in zip(racing, acts, strict=True):
            assert process.stdin
            process.stdin.write(json.dumps({**act, "at": at + act.get("delay", 0)}) + "\n")
            process.stdin.flush()
        answers = []
        for process in racing:
            assert process.stdout
            line = process.stdout.readline()
            assert line, f"process {process.pid} is gone"
            answers.append(json.loads(line))
        return answers

    def __enter__(self) -> Self:
        self.race([{"act": "nothing"}] * len(self.processes))
        return self

    def __exit__(self, *error: object) -> None:
        for process in self.processes:
            assert process.stdin
            process.stdin.close()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(60)
            assert process.stdout
            process.stdout.close()


def main() -> None:
    import django  # noqa: PLC0415 - the parent has it set up already

    django.setup()
    from tests.support.acts import ACTS  # noqa: PLC0415 - models come after the setup

    for line in sys.stdin:
        wanted = json.loads(line)
        act: Callable[..., str] = ACTS[wanted.pop("act")]
        at = wanted.pop("at")
        wanted.pop("delay", None)
        tenant = UUID(wanted.pop("tenant", str(UUID(int=0))))
        time.sleep(max(0.0, at - time.time()))
        sys.stdout.write(json.dumps(act(tenant, **wanted)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
