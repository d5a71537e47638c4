"""`work QUEUE`: run the jobs of one queue until told to stop."""

import os
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from holdfast.embedded.deathsig import die_with_parent
from holdfast.worker import make_worker


class Command(BaseCommand):
    help = "Run the jobs of one queue."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("queue", choices=sorted(settings.RQ_QUEUES))

    def handle(self, *args: Any, **options: Any) -> None:
        if os.environ.get("HOLDFAST_SUPERVISED") == "1":
            die_with_parent()
        make_worker(options["queue"]).work(logging_level="WARNING")
