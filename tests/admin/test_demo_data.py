"""The demo's data: made once, with fresh secrets each time."""

import json

from django.core.management import call_command
from django.test import Client

from holdfast.demo import KEY_NAME
from holdfast.kernel.clock import Now
from reservations.models import Event, Unit
from tenants.models import ApiKey
from tenants.scope import tenant_transaction
from tests.admin.conftest import page

SAID = {"tenant", "slug", "api_key", "login", "password", "event", "event_name", "section"}


def run(capsys) -> dict[str, str]:
    call_command("demo_data", "--json")
    return json.loads(capsys.readouterr().out)


def test_it_is_made_once_and_its_secrets_each_time(database_name, capsys, api):
    first, second = run(capsys), run(capsys)
    assert set(first) == set(second) == SAID
    assert {name for name in SAID if first[name] != second[name]} == {"api_key", "password"}
    with tenant_transaction(second["tenant"]):
        kinds = dict(Event.objects.filter(status="on_sale").values_list("kind", "id"))
        counts = {kind: Unit.objects.filter(event_id=event).count() for kind, event in kinds.items()}
        assert Unit.objects.filter(event_id=second["event"], section=second["section"]).exists()
        assert ApiKey.objects.values_list("name", "revoked_at").get() == (KEY_NAME, None)
    assert counts == {"seats": 300, "slots": 16, "items": 100}
    assert api(second["api_key"]).get("/v1/events").status_code == 200
    assert api(first["api_key"]).get("/v1/events").status_code == 401
    form = {"username": second["login"], "password": second["password"]}
    assert Client().post(page("login"), form).status_code == 302


def test_a_key_that_was_revoked_stays_so_and_another_is_made(database_name, capsys, api):
    first = run(capsys)
    with tenant_transaction(first["tenant"]):
        ApiKey.objects.update(revoked_at=Now())
    second = run(capsys)
    assert api(first["api_key"]).get("/v1/events").status_code == 401
    assert api(second["api_key"]).get("/v1/events").status_code == 200
