"""`provision`: make the database current: its roles, its tables, its grants. Safe to run again, and by two at once."""

from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connections

from holdfast.roles import CantProvision, ensure_roles

# any constant will do: whoever provisions this database waits for whoever does so already
PROVISION_LOCK = 0x486F6C64


class Command(BaseCommand):
    help = "Create the database roles, migrate, grant."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        if "owner" not in connections:
            raise CommandError("DATABASE_URL is needed to provision: it names the owner of the schema")
        try:
            with connections["owner"].cursor() as cursor:
                cursor.execute("SELECT pg_advisory_lock(%s)", [PROVISION_LOCK])
                ensure_roles()
                call_command("migrate", verbosity=0, interactive=False)
                cursor.execute("SELECT pg_advisory_unlock(%s)", [PROVISION_LOCK])
        except CantProvision as error:
            raise CommandError(str(error)) from error
        except DatabaseError as error:
            raise CommandError(f"the database of DATABASE_URL can't be provisioned: {error}".strip()) from error
