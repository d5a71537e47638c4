"""`create_tenant SLUG [--name N] [--json]`: a tenant and its first API key."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from holdfast.kernel.errors import Refusal
from tenants.operations.tenants import create_tenant


class Command(BaseCommand):
    help = "Create a tenant and its first API key, of scope admin."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="letters, digits, hyphens and underscores")
        parser.add_argument("--name", default="", help="shown to people; the slug by default")
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            tenant, _, secret = create_tenant(slug=options["slug"], name=options["name"])
        except Refusal as refusal:
            raise CommandError(refusal.detail) from refusal
        if options["json"]:
            self.stdout.write(json.dumps({"tenant": str(tenant.id), "slug": tenant.slug, "api_key": secret}))
        else:
            self.stdout.write(f"Tenant {tenant.slug} ({tenant.id})\nAPI key, shown this once: {secret}")
