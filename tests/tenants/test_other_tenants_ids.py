"""Every endpoint with another tenant's ids: the answer is that of an id nobody has, and nothing is touched.

Three times over: with both walls, with row-level security alone, and with the managers' filter alone. With neither,
the walk must find the fault; so it can.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from django.db import connections, models

from holdfast.kernel.ids import new_id
from reservations.models import Event
from reservations.operations.events import publish_event
from tenants.models import TenantModel
from tenants.models.base import TenantManager
from tests.support import catalog, feed
from tests.support.bodies import body_of, key_of
from tests.support.client import NOTHING, Api
from tests.support.endpoints import Endpoint, tenant_endpoints
from tests.support.rows import everything_of, one_of_each, sample, tenant_models, unique, word_of

WITH_IDS_IN_THE_PATH = [endpoint for endpoint in tenant_endpoints() if endpoint.parameters]
# the same for everybody
COMMON = {"/v1/webhooks/catalogue"}
READING = [endpoint for endpoint in tenant_endpoints() if endpoint.method == "GET"]
WALLS = ("both walls", "row-level security alone", "the filter alone")


def unfiltered(manager: TenantManager) -> models.QuerySet[Any]:
    return super(TenantManager, manager).get_queryset()


@pytest.fixture
def without_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TenantManager, "get_queryset", unfiltered)


@pytest.fixture
def without_policies(database_name: str) -> Iterator[None]:
    _row_level_security("DISABLE")
    yield
    _row_level_security("ENABLE")


def _row_level_security(verb: str) -> None:
    with connections["owner"].cursor() as cursor:
        for table in catalog.tenant_tables():
            cursor.execute(f'ALTER TABLE "{table}" {verb} ROW LEVEL SECURITY')


@pytest.fixture(params=WALLS)
def walls(request: pytest.FixtureRequest) -> str:
    if request.param == "row-level security alone":
        request.getfixturevalue("without_the_filter")
    elif request.param == "the filter alone":
        request.getfixturevalue("without_policies")
    return request.param


@dataclass
class Two:
    """Tenant A, who asks, and tenant B, who has one of everything."""

    a: Any
    b: Any
    rows: dict[type[TenantModel], Any]

    @property
    def ids(self) -> dict[str, Any]:
        """B's ids by the names that paths and bodies have for them."""
        found: dict[str, Any] = {word_of(model): row.id for model, row in self.rows.items()}
        for word, identity in list(found.items()):
            found[f"{word}_id"] = identity
        unit = next(row for model, row in self.rows.items() if word_of(model) == "unit")
        return found | {"label": unit.label, "section": unit.section, "customer": unit.hold.customer}


# every kind of id there is, and what else a list may be filtered by
FILTERS = [
    *(word_of(model) for model in tenant_models()),
    "subject",
    "endpoint",
    "message",
    "customer",
    "label",
    "section",
]


def unknown(ids: dict[str, Any]) -> dict[str, Any]:
    """The same names, for things that nobody has."""
    return {name: new_id() if isinstance(value, UUID) else unique(name) for name, value in ids.items()}


@pytest.fixture
def two(make_tenant) -> Two:
    a, b = make_tenant(), make_tenant()
    return Two(a, b, one_of_each(b.id))


def seen(response: Any, ids: dict[str, Any]) -> tuple[Any, ...]:
    """The answer but for what may differ: the request's id, and the ids that were sent."""
    text = response.content.decode()
    if response.headers.get("Content-Type", "").endswith("json"):
        text = text.replace(response.headers["X-Request-Id"], "REQUEST")
    for name, value in ids.items():
        if value:
            text = text.replace(str(value), name.upper())
    headers = {
        name: value for name, value in response.headers.items() if name not in ("X-Request-Id", "Content-Length")
    }
    return response.status_code, headers, text


def call(client: Api, endpoint: Endpoint, ids: dict[str, Any]) -> Any:
    body = body_of(endpoint, ids)
    sent = NOTHING if body is None else body
    return client.send(endpoint.method, endpoint.at(**ids), sent, headers=key_of(endpoint))


@pytest.mark.parametrize("endpoint", WITH_IDS_IN_THE_PATH, ids=str)
def test_an_id_of_another_tenant_in_a_path_is_an_unknown_id(endpoint, two, api, walls):
    warm_caches(two, api)
    before = everything_of(two.b.id)
    ids, nobodys = two.ids, unknown(two.ids)
    foreign = call(api(two.a), endpoint, ids)
    assert foreign.status_code == 404
    assert foreign.json()["type"] == "/problems/not-found"
    assert seen(foreign, ids) == seen(call(api(two.a), endpoint, nobodys), nobodys)
    assert unchanged(two.b.id, before)


def warm_caches(two: Two, api: Any) -> None:
    """B asks first: what is kept in process for B must not be shown to A."""
    for endpoint in READING:
        assert call(api(two.b), endpoint, two.ids).status_code == 200, endpoint


def unchanged(tenant_id: UUID, before: dict[str, list[str]]) -> bool:
    return everything_of(tenant_id) == before


@pytest.mark.parametrize("endpoint", [e for e in READING if not e.parameters and e.path not in COMMON], ids=str)
def test_a_list_shows_no_row_of_another_tenant(endpoint, two, api, walls):
    feed.settle()
    shown = api(two.b).get(endpoint.path).json()["data"]
    listed = api(two.a).get(endpoint.path).json()["data"]
    assert shown, "the tenant that has one of everything sees it"
    assert not {row["id"] for row in shown} & {row["id"] for row in listed}


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("endpoint", [endpoint for endpoint in READING if not endpoint.parameters], ids=str)
def test_an_id_of_another_tenant_in_a_filter_is_an_unknown_id(endpoint, name, two, api):
    ids = {"subject": two.ids["event"], "endpoint": two.ids["event"], "message": two.ids["event"]} | two.ids
    nobodys = unknown(ids)
    foreign = api(two.a).get(f"{endpoint.path}?{name}={ids[name]}")
    assert seen(foreign, ids) == seen(api(two.a).get(f"{endpoint.path}?{name}={nobodys[name]}"), nobodys)


def bodies_naming(two: Two, own: dict[str, Any]) -> list[tuple[str, dict[str, Any], str]]:
    """Bodies of A that name something of B: the path, the body, and where the fault is."""
    theirs = two.ids
    base = {"event": str(own["event"]), "customer": "ada@example.org"}
    return [
        ("/v1/holds", base | {"event": str(theirs["event"]), "quantity": 1}, "/event"),
        ("/v1/holds", base | {"event": str(theirs["event"]), "units": [str(theirs["unit"])]}, "/event"),
        ("/v1/holds", base | {"event": str(theirs["event"]), "labels": [theirs["label"]]}, "/event"),
        ("/v1/holds", base | {"units": [str(own["unit"]), str(theirs["unit"])]}, "/units/1"),
        ("/v1/holds", base | {"labels": [theirs["label"]]}, "/labels/0"),
        ("/v1/orders", {"hold": str(theirs["hold"]), "payment": {"method": "tok_ok"}}, "/hold"),
    ]


@pytest.fixture
def own(two, make_event, make_units) -> dict[str, Any]:
    """What A has itself, to be named beside what is B's."""
    event = make_event(two.a)
    return {"event": event.id, "unit": make_units(two.a, event, 1)[0].id}


@pytest.mark.usefixtures("walls")
@pytest.mark.parametrize("number", range(6))
def test_an_id_of_another_tenant_in_a_body_is_an_unknown_id(number, two, own, api):
    path, body, pointer = bodies_naming(two, own)[number]
    nobodys = unknown(two.ids)
    before = everything_of(two.b.id), but_for_keys(everything_of(two.a.id))
    foreign = api(two.a).post(path, body, headers={"Idempotency-Key": unique("key")})
    assert (foreign.status_code, foreign.json()["type"]) == (422, "/problems/invalid")
    assert [fault["pointer"] for fault in foreign.json()["errors"]] == [pointer]
    unknown_one = api(two.a).post(path, swap(body, two.ids, nobodys), headers={"Idempotency-Key": unique("key")})
    assert seen(foreign, two.ids) == seen(unknown_one, nobodys)
    assert (everything_of(two.b.id), but_for_keys(everything_of(two.a.id))) == before


def but_for_keys(rows: dict[str, list[str]]) -> dict[str, list[str]]:
    """A's own key notes that it was used."""
    return {table: found for table, found in rows.items() if table != "tenants_apikey"}


def swap(value: Any, old: dict[str, Any], new: dict[str, Any]) -> Any:
    """The same body with unknown names in the place of B's."""
    if isinstance(value, dict):
        return {key: swap(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [swap(item, old, new) for item in value]
    names = [name for name, known in old.items() if str(known) == value and known]
    return str(new[names[0]]) if names else value


def test_with_neither_wall_the_walk_sees_another_tenants_rows(two, api, without_the_filter, without_policies):
    """The control of all of the above."""
    assert api(two.a).get(f"/v1/events/{two.ids['event']}").status_code == 200
    assert api(two.a).get(f"/v1/holds/{two.ids['hold']}").status_code == 200
    before = everything_of(two.b.id)
    assert api(two.a).post(f"/v1/api-keys/{two.ids['api_key']}/revoke").status_code == 200
    assert not unchanged(two.b.id, before)


def test_the_walk_has_an_id_for_every_parameter_of_every_path(two):
    named = {parameter for endpoint in tenant_endpoints() for parameter in endpoint.parameters}
    assert named <= set(two.ids)
    assert {"event_id", "hold_id", "api_key_id"} <= named
    assert len(tenant_models()) == len(two.rows)


def test_one_slug_and_one_label_may_be_used_by_two_tenants_with_no_hint_of_each_other(make_tenant, api):
    slug = unique("slug")
    for tenant in (make_tenant(), make_tenant()):
        body = body_of(next(e for e in tenant_endpoints() if str(e) == "POST /v1/events"), {}) | {"slug": slug}
        first = api(tenant).post("/v1/events", body)
        assert first.status_code == 201
        units = {"units": [{"label": "A-1"}]}
        assert api(tenant).post(f"/v1/events/{first.json()['id']}/units", units).status_code == 201
        again = api(tenant).post("/v1/events", body)
        assert again.status_code == 422
        assert [(f["pointer"], f["code"]) for f in again.json()["errors"]] == [("/slug", "taken")]


def test_one_idempotency_key_of_two_tenants_and_of_two_api_keys_is_three_keys(make_tenant, make_key, make_units, api):
    a, b = make_tenant(), make_tenant()
    header = {"Idempotency-Key": secrets.token_hex(8)}
    made = []
    for tenant, key in ((a, a.key), (a, make_key(a)), (b, b.key)):
        event = publish_event(tenant_id=tenant.id, event_id=sample(Event, tenant.id).id)
        (unit,) = make_units(tenant, event, 1)
        body = {"event": str(event.id), "units": [str(unit.id)], "customer": "ada@example.org"}
        first = api(key).post("/v1/holds", body, headers=header)
        assert first.status_code == 201
        assert "Idempotency-Replayed" not in first.headers
        again = api(key).post("/v1/holds", body, headers=header)
        assert (again.status_code, again.json()["id"]) == (201, first.json()["id"])
        assert again.headers["Idempotency-Replayed"] == "true"
        made.append(first.json()["id"])
    assert len(set(made)) == 3
