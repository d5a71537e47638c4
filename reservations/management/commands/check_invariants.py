"""`check_invariants [--json]`: exit 0 when all hold, exit 1 and the rows when one is broken."""

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reservations.invariants.checker import breaches


class Command(BaseCommand):
    help = "Check that every promise holds over all rows."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        found = breaches()
        broken = any(found.values())
        if options["json"]:
            rows = {name: [_row(breach) for breach in list_] for name, list_ in found.items()}
            self.stdout.write(json.dumps({"ok": not broken, "invariants": rows}))
        else:
            for name, list_ in found.items():
                self.stdout.write(f"{len(list_):>5}  {name}")
                for breach in list_:
                    self.stdout.write(f"       {breach.what} (event {breach.event_id}, tenant {breach.tenant_id})")
        if broken:
            sys.exit(1)


def _row(breach: Any) -> dict[str, str]:
    return {"tenant": str(breach.tenant_id), "event": str(breach.event_id), "what": breach.what}
