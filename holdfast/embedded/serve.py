"""`up` and `demo`: everything at once, in the foreground."""

import argparse
import os
import time
from collections.abc import Sequence
from contextlib import closing
from typing import NoReturn

from holdfast.embedded.background import background_programs
from holdfast.embedded.console import answer, say
from holdfast.embedded.demo import first_steps, introduction, make_demo_data, make_hold
from holdfast.embedded.errors import BadSetting
from holdfast.embedded.mock_psp import mock_psp, mock_psp_program
from holdfast.embedded.provision import provision
from holdfast.embedded.services import Services, running_services
from holdfast.embedded.settings import Settings, parse_port
from holdfast.embedded.supervisor import Program, Supervisor
from holdfast.embedded.web import Address, answers, lacks_only_redis, not_ready_reason, reserve, web_program

DEFAULT_WORKERS = 2
WORKERS_MAX = 64
READY_WITHIN_SECONDS = 60.0
# it may be late; beyond that it is away, which stops nobody
WITHOUT_REDIS_AFTER_SECONDS = 10.0


def up(settings: Settings, arguments: Sequence[str]) -> int:
    """Run until told to stop."""
    options = _parse("up", arguments)
    with closing(reserve(settings.host, options.port or settings.port)) as held:
        address = Address(settings.host, held.getsockname()[1])
        with running_services(settings, "dev") as services, mock_psp(services, settings) as mock:
            services.environment["HOLDFAST_PUBLIC_URL"] = settings.public_url or address.url
            provision(services)
            supervisor = Supervisor(services.environment, services.look_after)
            with supervisor.running(_programs(address, mock, options.workers)):
                _wait_until_ready(supervisor, address, mock)
                if not supervisor.stopping:
                    answer(first_steps(address, services))
                supervisor.tend_until(lambda: False)
    say("stopped")
    return 0


def demo(settings: Settings, arguments: Sequence[str]) -> int:
    """Run with demo data until told to stop; with `--check`, until one hold is made."""
    options = _parse("demo", arguments)
    # A check must not fail because something else has the usual port.
    usual_port = 0 if options.check and "HOLDFAST_PORT" not in os.environ else settings.port
    with closing(reserve(settings.host, options.port or usual_port)) as held:
        address = Address(settings.host, held.getsockname()[1])
        with running_services(settings, "dev") as services, mock_psp(services, settings) as mock:
            services.environment["HOLDFAST_PUBLIC_URL"] = settings.public_url or address.url
            provision(services)
            _run_demo(services, address, mock, options)
    say("stopped")
    return 0


def _run_demo(services: Services, address: Address, mock: Address | None, options: argparse.Namespace) -> None:
    data = make_demo_data(services)
    supervisor = Supervisor(services.environment, services.look_after)
    with supervisor.running(_programs(address, mock, options.workers)):
        _wait_until_ready(supervisor, address, mock)
        if supervisor.stopping:
            return
        if options.check:
            answer(make_hold(address, data))
            return
        answer(introduction(address, data, services))
        supervisor.tend_until(lambda: False)


def _programs(address: Address, mock: Address | None, workers: int) -> list[Program]:
    """Every process of a running HoldFast."""
    providers = [mock_psp_program(mock)] if mock else []
    return [web_program(address, workers), *background_programs(), *providers]


def _wait_until_ready(supervisor: Supervisor, address: Address, mock: Address | None) -> None:
    began = time.monotonic()
    deadline = began + READY_WITHIN_SECONDS
    without_redis_at = began + WITHOUT_REDIS_AFTER_SECONDS

    def serves() -> bool:
        return answers(address) or (time.monotonic() > without_redis_at and lacks_only_redis(address))

    supervisor.tend_until(lambda: serves() or time.monotonic() > deadline)
    if time.monotonic() > deadline:
        raise not_ready_reason(address)
    if time.monotonic() > without_redis_at and lacks_only_redis(address):
        say("Redis does not answer: it only wakes, so this starts without it")
    if mock is None:
        return
    supervisor.tend_until(lambda: answers(mock, "/healthz") or time.monotonic() > deadline)
    if time.monotonic() > deadline:
        raise not_ready_reason(mock, "/healthz", "mock payment provider")


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, like every other refusal."""

    def error(self, message: str) -> NoReturn:
        raise BadSetting(f"{self.prog}:", message)


def _parse(command: str, arguments: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(prog=f"./hold {command}")
    parser.add_argument("--port", type=lambda text: parse_port("--port", text), help="where the web server listens")
    parser.add_argument("--workers", type=_workers, default=DEFAULT_WORKERS, help="web processes")
    if command == "demo":
        parser.add_argument("--check", action="store_true", help="make one hold over HTTP, print it and stop")
    return parser.parse_args(arguments)


def _workers(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= WORKERS_MAX):
        raise BadSetting("--workers", f"is {text!r}: it is a number from 1 to {WORKERS_MAX}")
    return int(text)
