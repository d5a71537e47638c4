"""The mock payment provider as the product starts it: a process of its own, with books in a file.

`with mock_psp(folder) as psp: MockProvider(psp.url, account).charge(…); psp.charges(key)`
"""

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.mock_psp.books import read_books
from tests.support.processes import wait_until
from tests.support.web import CHECKOUT, TIED, environment, free_port

STOP_SECONDS = 60
# in place of the five seconds that people see
LATE_CALLBACK_SECONDS = 0.5


class Psp:
    """A provider that can be killed and started again, on the same port and the same file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def variables(self) -> dict[str, str]:
        """For the environment of a process that shall use it."""
        return {"HOLDFAST_MOCK_PSP_URL": self.url, "HOLDFAST_MOCK_PSP_FILE": str(self.file)}

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def charges(self, reference: str | None = None) -> list[dict[str, Any]]:
        """What its books have: every charge, or those of one key."""
        return [row for row in read_books(self.file)["charges"] if reference in (None, row["reference"])]

    def refunds(self, charge: str | None = None) -> list[dict[str, Any]]:
        """Every refund, or those of one charge; failed ones are among them."""
        return [row for row in read_books(self.file)["refunds"] if charge in (None, row["charge"])]

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [sys.executable, "-c", TIED, "manage.py", "mock_psp", "--port", str(self.port)]
        self._process = subprocess.Popen(
            [*command, "--late-callback-seconds", str(LATE_CALLBACK_SECONDS)],
            cwd=CHECKOUT,
            env={**environment(), "HOLDFAST_SUPERVISED": "0", **self.variables},
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        process = self._process
        wait_until(lambda: self._answers() or process.poll() is not None, "the mock provider")
        assert process.poll() is None, self.log()

    def kill(self) -> None:
        """As a machine that loses its power would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(STOP_SECONDS)

    def stop(self) -> None:
        """Nobody is left of it."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(STOP_SECONDS)
        self._output.close()

    def log(self) -> str:
        """What it wrote."""
        self._output.seek(0)
        return self._output.read().decode(errors="replace")

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False
        finally:
            connection.close()


@contextlib.contextmanager
def mock_psp(folder: Path | None = None) -> Iterator[Psp]:
    """A running provider with its file in that folder, or in one that goes when it ends."""
    with contextlib.ExitStack() as ends:
        where = folder or Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-psp-")))
        psp = Psp(where / "books.sqlite3")
        ends.callback(psp.stop)
        psp.start()
        yield psp
