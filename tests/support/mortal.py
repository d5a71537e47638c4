"""Processes that die in the middle of their work, at a point that the test names: `python -m tests.support.mortal`.

A nursery has the product loaded and no connection open. Each piece of work is done by a child of its own, which wraps a
function of the product in itself and there ends or stops itself by a signal: nothing of it is cleaned up, as with a
machine that loses its power. Lines of JSON come in and go out.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from tests.support.web import CHECKOUT, TIED, environment

STOP_SECONDS = 60


@dataclass(frozen=True)
class End:
    """How a child ended: `killed`, `stopped` (it can be woken) or `done` with what came of its work."""

    how: str
    word: str
    pid: int


class Mortals:
    """`with Mortals(**variables) as mortals: mortals.run("pay", "before reservations.checkout.saga.settle", …)`"""

    def __init__(self, **variables: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", TIED, "-m", "tests.support.mortal"],
            cwd=CHECKOUT,
            env={**environment(), **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, act: str, at: str = "", *, stops: bool = False, **arguments: Any) -> End:
        """Do it in a child that is killed, or stopped, `before` or `after` a function of the product is called."""
        return self._ask({"act": act, "at": at, "stops": stops, "arguments": arguments})

    def wake(self, stopped: End) -> End:
        """Have one that was stopped go on to its end."""
        return self._ask({"wake": stopped.pid})

    def _ask(self, wanted: dict[str, Any]) -> End:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(wanted) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the nursery is gone"
        return End(**json.loads(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(STOP_SECONDS)
        self.process.stdout.close()


def main() -> None:
    import django  # noqa: PLC0415 - the parent has it set up already

    django.setup()
    from tests.support.paying import PAYING  # noqa: PLC0415 - models come after the setup
    from tests.support.posting import POSTING  # noqa: PLC0415 - the same

    acts = PAYING | POSTING
    words: dict[int, int] = {}
    for line in sys.stdin:
        wanted = json.loads(line)
        pid = wanted.get("wake") or _born(acts[wanted["act"]], wanted, words)
        if "wake" in wanted:
            os.kill(pid, signal.SIGCONT)
        sys.stdout.write(json.dumps(_end_of(pid, words)) + "\n")
        sys.stdout.flush()
    for pid in words:  # nobody woke them
        os.kill(pid, signal.SIGKILL)


def _born(act: Any, wanted: dict[str, Any], words: dict[int, int]) -> int:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        if wanted["at"]:
            _die(wanted["at"], signal.SIGSTOP if wanted["stops"] else signal.SIGKILL)
        try:
            word = act(UUID(wanted["arguments"].pop("tenant")), **wanted["arguments"])
        except Exception as error:  # noqa: BLE001 - told to the test
            word = repr(error)
        os.write(writer, word.encode())
        os._exit(0)
    os.close(writer)
    words[pid] = reader
    return pid


def _die(at: str, by: int) -> None:
    """Send this process the signal, once, when the function is called or has returned."""
    when, _, place = at.partition(" ")
    module, _, name = place.rpartition(".")
    holder = importlib.import_module(module)
    wrapped = getattr(holder, name)
    times = iter([by])

    def dying(*args: Any, **kwargs: Any) -> Any:
        if when == "before" and (sent := next(times, None)):
            os.kill(os.getpid(), sent)
        result = wrapped(*args, **kwargs)
        if when == "after" and (sent := next(times, None)):
            os.kill(os.getpid(), sent)
        return result

    setattr(holder, name, dying)


def _end_of(pid: int, words: dict[int, int]) -> dict[str, Any]:
    _, status = os.waitpid(pid, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        return {"how": "stopped", "word": "", "pid": pid}
    with os.fdopen(words.pop(pid), "rb") as written:
        word = written.read().decode()
    return {"how": "killed" if os.WIFSIGNALED(status) else "done", "word": word, "pid": pid}


if __name__ == "__main__":
    main()
