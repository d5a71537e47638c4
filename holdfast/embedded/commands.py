"""The commands of `./hold`."""

import sys
from collections.abc import Callable, Sequence

from holdfast.embedded.errors import Refusal
from holdfast.embedded.foreground import run_in_foreground
from holdfast.embedded.mock_psp import tell_of_mock_psp
from holdfast.embedded.provision import forget, provision
from holdfast.embedded.serve import demo, up
from holdfast.embedded.services import running_services
from holdfast.embedded.settings import Settings
from holdfast.embedded.web import Address

# These must work when provisioning can't: one does it itself, one writes the migration that mends it.
WITHOUT_PROVISION = frozenset({"provision", "makemigrations", "help"})
CHANGES_SCHEMA = frozenset({"migrate", "flush", "provision"})


def manage(settings: Settings, arguments: Sequence[str]) -> int:
    """`manage.py` with the services up."""
    name = arguments[0] if arguments else "help"
    with running_services(settings, "dev") as services:
        tell_of_mock_psp(services, settings)
        services.environment["HOLDFAST_PUBLIC_URL"] = settings.public_url or Address(settings.host, settings.port).url
        if name not in WITHOUT_PROVISION:
            provision(services)
        if name in CHANGES_SCHEMA:
            forget(services)
        return run_in_foreground([sys.executable, "manage.py", *arguments], services.environment)


def bench(settings: Settings, arguments: Sequence[str]) -> int:
    """One scenario of the benchmarks."""
    return manage(settings, ["bench", *arguments])


def test(settings: Settings, arguments: Sequence[str]) -> int:
    """The test suite, on services of its own."""
    with running_services(settings, "test") as services:
        return run_in_foreground([sys.executable, "-m", "pytest", *arguments], services.environment)


COMMANDS: dict[str, Callable[[Settings, Sequence[str]], int]] = {
    "demo": demo,
    "up": up,
    "test": test,
    "manage": manage,
    "bench": bench,
}


def run(name: str, settings: Settings, arguments: Sequence[str]) -> int:
    """Run a command by its name. Raises Refusal."""
    if name not in COMMANDS:
        raise Refusal(f"there is no command {name!r}: see ./hold help")
    return COMMANDS[name](settings, arguments)
