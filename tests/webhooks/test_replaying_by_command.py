"""`manage.py replay_webhooks`: the past told once more, from the server's command line."""

import json
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from holdfast.kernel.clock import database_now
from tenants.models import Tenant
from tenants.scope import tenant_transaction
from tests.webhooks.post import OK
from webhooks.models import Delivery, Replay
from webhooks.operations.endpoints import disable_endpoint
from webhooks.replay import carry_on

SINCE = "2020-01-01T00:00:00Z"


def replay(post, *more: str, **asked: str) -> dict:
    """Run it, with what is usual unless something else is asked; what it prints."""
    slug = Tenant.objects.using("maintenance").get(id=post.tenant).slug
    asked = {"tenant": slug, "endpoint": str(post.id), "since": SINCE} | asked
    printed = StringIO()
    call_command(
        "replay_webhooks", *(f"--{name}={value}" for name, value in asked.items()), *more, "--json", stdout=printed
    )
    return json.loads(printed.getvalue())


def replays(post) -> list[Replay]:
    return list(Replay.everywhere.filter(tenant_id=post.tenant))


def test_all_is_told_once_more(post):
    post.tell(2)
    while post.answer(OK):
        pass
    printed = replay(post)
    (begun,) = replays(post)
    assert printed == {"replay": str(begun.id), "matched": 2}
    carry_on(post.tenant, begun.id)
    assert post.carry() == 2


def test_dead_letters_types_and_a_stretch_of_time_are_chosen(post):
    dead, _ = post.tell(2)
    with tenant_transaction(post.tenant):
        Delivery.objects.filter(id=dead.id).update(status="dead", look_at=None, settled_at=database_now())
    assert replay(post, "--dead")["matched"] == 1
    assert replay(post, "--types", "order.*", "hold.expired")["matched"] == 0
    assert replay(post, until="2021-01-01T00:00:00+01:00")["matched"] == 0
    assert [(one.status, len(one.types)) for one in replays(post)] == [("dead", 5), ("all", 6), ("all", 5)]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"tenant": "nobody"}, "There is no tenant nobody"),
        ({"endpoint": "x"}, "invalid UUID value"),
        ({"endpoint": str(uuid4())}, "There is no such"),
        ({"since": "yesterday"}, "invalid moment value"),
        ({"since": "2026-01-01T00:00:00"}, "invalid moment value"),
        ({"until": "2019-01-01T00:00:00Z"}, "--until: Must be after since"),
        ({"types": "everything"}, "--types: Must be a type of messages"),
    ],
)
def test_what_makes_no_sense_is_refused_and_begins_nothing(asked, said, post):
    with pytest.raises(CommandError, match=said):
        replay(post, **asked)
    assert replays(post) == []


def test_nothing_is_told_to_a_disabled_endpoint(post):
    disable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    with pytest.raises(CommandError, match="enable it first"):
        replay(post)
    assert replays(post) == []
