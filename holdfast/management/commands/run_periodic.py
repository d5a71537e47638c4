"""`run_periodic`: ask for the periodic jobs until told to stop. Two at once do no harm."""

import os
import signal
from threading import Event
from typing import Any

from django.core.management.base import BaseCommand

from holdfast.embedded.deathsig import die_with_parent
from holdfast.periodic import run_until


class Command(BaseCommand):
    help = "Ask for the periodic jobs: sweeps, and the watch over the invariants."

    def handle(self, *args: Any, **options: Any) -> None:
        if os.environ.get("HOLDFAST_SUPERVISED") == "1":
            die_with_parent()
        stop = Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        run_until(stop.wait)
