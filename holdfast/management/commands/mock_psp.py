"""`mock_psp [--host HOST] [--port PORT]`: run the mock payment provider until told to stop."""

import ipaddress
import os
import sqlite3
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from holdfast.embedded.deathsig import die_with_parent
from holdfast.mock_psp.ledger import Ledger
from holdfast.mock_psp.server import MockServer

DEFAULT_PORT = 8001
LATE_CALLBACK_SECONDS = 5.0


class Command(BaseCommand):
    help = "Run the mock payment provider, which moves no money."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="a loopback address")
        parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0 takes a free one")
        parser.add_argument(
            "--late-callback-seconds",
            type=float,
            default=LATE_CALLBACK_SECONDS,
            help="how long a charge with tok_late_callback keeps its callback back",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        supervised = os.environ.get("HOLDFAST_SUPERVISED") == "1"
        if supervised:
            die_with_parent()
        if not settings.ENVIRONMENT.development:
            raise CommandError("the mock payment provider moves no money: it has no place in production")
        host = _loopback(options["host"])
        try:
            ledger = Ledger(_file(), options["late_callback_seconds"])
            server = MockServer(host, options["port"], ledger, shares_port=supervised)
        except (OSError, OverflowError) as error:
            raise CommandError(f"can't listen on {host} port {options['port']}: {error}") from error
        except sqlite3.Error as error:
            raise CommandError(f"HOLDFAST_MOCK_PSP_FILE {settings.MOCK_PSP_FILE} can't be used: {error}") from error
        self.stderr.write(f"mock payment provider on {host} port {server.server_port}")
        try:
            server.run()
        except KeyboardInterrupt:
            server.server_close()


def _file() -> Path:
    if settings.MOCK_PSP_FILE is None:
        raise CommandError("HOLDFAST_MOCK_PSP_FILE is required (./hold sets it for you)")
    return Path(settings.MOCK_PSP_FILE)


def _loopback(host: str) -> str:
    try:
        if ipaddress.ip_address(host).is_loopback:
            return host
    except ValueError:
        pass
    raise CommandError(f"--host {host} is no loopback address: whoever reaches the mock provider can charge and refund")
