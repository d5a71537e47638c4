"""`demo_data [--json]`: the demo's tenant, events, login and key; safe to run again."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from holdfast.demo import LOGIN, make_demo


class Command(BaseCommand):
    help = "Make the demo's data; a new password and API key on each run."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        demo = make_demo()
        said = {
            "tenant": str(demo.tenant.id),
            "slug": demo.tenant.slug,
            "api_key": demo.api_key,
            "login": LOGIN,
            "password": demo.password,
            "event": str(demo.show.id),
            "event_name": demo.show.name,
            "section": demo.section,
        }
        if options["json"]:
            self.stdout.write(json.dumps(said))
        else:
            self.stdout.write("\n".join(f"{name}: {value}" for name, value in said.items()))
