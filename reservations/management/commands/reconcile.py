"""`manage.py reconcile`: compare payments with their providers now; a job does it every day."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from reservations.checkout.reconcile import reconcile_all
from reservations.models import Difference


class Command(BaseCommand):
    help = "Compare payments with what their providers say. Exit 1 and the differences, where there are any."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the open differences as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        count = reconcile_all()
        rows = [_row(one) for one in Difference.everywhere.filter(resolved_at=None).order_by("tenant_id", "id")]
        if options["json"]:
            self.stdout.write(json.dumps({"differences": rows}))
        else:
            for row in rows:
                self.stdout.write("{kind} {reference}: here {here}, there {there} (tenant {tenant})".format(**row))
            self.stdout.write(f"{count} differences" if count else "no differences")
        if count:
            raise SystemExit(1)


def _row(one: Difference) -> dict[str, str | None]:
    return {
        "tenant": str(one.tenant_id),
        "account": str(one.account_id),
        "kind": one.kind,
        "reference": one.reference,
        "order": str(one.order_id) if one.order_id else None,
        "here": one.here,
        "there": one.there,
    }
