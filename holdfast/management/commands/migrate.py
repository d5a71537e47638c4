"""Django's `migrate`, on the owner's connection: the web's role may not change the schema."""

from typing import Any

from django.core.management.base import CommandParser
from django.core.management.commands import migrate

from holdfast.roles import grant


class Command(migrate.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.set_defaults(database="owner")

    def handle(self, *args: Any, **options: Any) -> None:
        super().handle(*args, **options)
        if not options["check_unapplied"] and not options["plan"]:
            grant()
