"""`replay_webhooks --tenant SLUG --endpoint ID --since TIME`: have an endpoint told of the past once more."""

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from holdfast.kernel.errors import Invalid, Refusal
from tenants.models import Tenant
from webhooks.models import Replay, ReplayedStatus
from webhooks.operations.replays import Selection, begin_replay


def moment(text: str) -> datetime:
    """A time with its offset, as argparse wants it: ValueError for anything else."""
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError("no offset")
    return found


class Command(BaseCommand):
    help = "Have an endpoint told of the past once more, at a gentle rate, by the workers. At most 10,000 messages."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--endpoint", required=True, type=UUID, metavar="ID")
        parser.add_argument("--since", required=True, type=moment, help="with an offset: 2026-01-01T00:00:00Z")
        parser.add_argument("--until", type=moment, help="before that moment; else up to now")
        parser.add_argument(
            "--types", nargs="+", metavar="TYPE", help="such as hold.*; else what the endpoint asks for"
        )
        parser.add_argument("--dead", action="store_true", help="only what the endpoint was told in vain")
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        replay = _begin(options)
        if options["json"]:
            self.stdout.write(json.dumps({"replay": str(replay.id), "matched": replay.matched}))
        else:
            self.stdout.write(f"Replay {replay.id}: {replay.matched} messages to tell once more")


def _begin(options: dict[str, Any]) -> Replay:
    tenant = Tenant.objects.using("maintenance").filter(slug=options["tenant"]).first()
    if tenant is None:
        raise CommandError(f"There is no tenant {options['tenant']}.")
    status = ReplayedStatus.DEAD if options["dead"] else ReplayedStatus.ALL
    selection = Selection(options["since"], options["until"], options["types"], status)
    try:
        return begin_replay(tenant_id=tenant.id, endpoint_id=options["endpoint"], selection=selection)
    except Invalid as refusal:
        faults = [f"--{error.place.split('/')[1]}: {error.detail}" for error in refusal.errors]
        raise CommandError("\n".join(faults)) from refusal
    except Refusal as refusal:
        raise CommandError(refusal.detail) from refusal
