"""`mock_charges [--json]`: all charges and refunds of the mock payment provider, which need not run."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from holdfast.mock_psp.books import CHARGE_FIELDS, REFUND_FIELDS, read_books


class Command(BaseCommand):
    help = "Print the charges and refunds of the mock payment provider; amounts in minor units."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.MOCK_PSP_FILE is None:
            raise CommandError("HOLDFAST_MOCK_PSP_FILE is required (./hold sets it for you)")
        try:
            books = read_books(Path(settings.MOCK_PSP_FILE))
        except sqlite3.Error as error:
            raise CommandError(f"HOLDFAST_MOCK_PSP_FILE {settings.MOCK_PSP_FILE} can't be read: {error}") from error
        if options["json"]:
            self.stdout.write(json.dumps(books))
            return
        self.stdout.write(_table("charges", CHARGE_FIELDS, books["charges"]))
        self.stdout.write(_table("refunds", REFUND_FIELDS, books["refunds"]))


def _table(title: str, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    cells = [names, *([str(row[name]) for name in names] for row in rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    return "\n".join([f"{title}: {len(rows)}", *lines, ""])
