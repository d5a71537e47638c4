"""The mock payment provider as a program to supervise: its place, and the port it listens on.

The port is kept from one start to the next, so that commands beside a running server find it, and an address that was
handed out stays good; where another program has it by then, the server takes a new one.
"""

import socket
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from holdfast.embedded.errors import BadSetting
from holdfast.embedded.services import Services
from holdfast.embedded.settings import Settings
from holdfast.embedded.state import open_state
from holdfast.embedded.supervisor import Program
from holdfast.embedded.web import Address, reserve

HOST = "127.0.0.1"


def tell_of_mock_psp(services: Services, settings: Settings) -> Path | None:
    """Tell all programs where the provider has its books and its address; answers its folder.

    None where it is not ours to run: in production, or where another one is named.
    """
    if not settings.has_mock_psp:
        return None
    state = services.state or open_state(services.environment.get("HOLDFAST_STATE"))
    folder = state.mock_psp()
    services.environment["HOLDFAST_MOCK_PSP_FILE"] = settings.mock_psp_file or str(folder / "books.sqlite3")
    with suppress(FileNotFoundError, ValueError):
        services.environment["HOLDFAST_MOCK_PSP_URL"] = Address(HOST, int(_kept(folder).read_text())).url
    return folder


@contextmanager
def mock_psp(services: Services, settings: Settings) -> Iterator[Address | None]:
    """The address it shall listen on, kept free for it; None where it is not ours to run."""
    folder = tell_of_mock_psp(services, settings)
    if folder is None:
        yield None
        return
    with closing(_reserve(_kept(folder))) as held:
        address = Address(HOST, held.getsockname()[1])
        services.environment["HOLDFAST_MOCK_PSP_URL"] = address.url
        yield address


def mock_psp_program(address: Address) -> Program:
    """The provider on the address that was kept free."""
    command = [sys.executable, "manage.py", "mock_psp", "--host", address.host, "--port", str(address.port)]
    return Program("mock payment provider", command)


def _kept(folder: Path) -> Path:
    return folder / "port"


def _reserve(kept: Path) -> socket.socket:
    with suppress(FileNotFoundError, ValueError, OverflowError, BadSetting):
        return reserve(HOST, int(kept.read_text()))
    held = reserve(HOST, 0)
    draft = kept.with_suffix(".new")
    draft.write_text(str(held.getsockname()[1]))
    draft.replace(kept)
    return held
