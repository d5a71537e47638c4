"""What each scope opens, endpoint by endpoint, as the contract says it."""

import pytest

from tenants.models import Scope
from tests.support.bodies import body_of, key_of
from tests.support.client import NOTHING
from tests.support.endpoints import Endpoint, tenant_endpoints

# the first word of a path, and the scopes that read and write it beside `admin`
OWN = {
    "api-keys": set(),
    "payment-accounts": set(),
    "events": {"events"},
    "pools": {"events"},
    "holds": {"holds"},
    "orders": {"orders"},
    "tickets": {"tickets"},
    "webhooks": {"webhooks"},
}
NOT_FOR_READ = {"api-keys", "payment-accounts"}
NOBODY = "01890000-0000-7000-8000-000000000000"


def serving(endpoint: Endpoint) -> set[str]:
    scopes = {"admin"} | OWN[endpoint.segment]
    if endpoint.path.endswith(("/tickets", "/qr.svg")):
        scopes |= {"orders", "tickets"}
    if endpoint.method == "GET" and endpoint.segment not in NOT_FOR_READ:
        scopes |= {"read"}
    return scopes


def call(client, endpoint: Endpoint):
    body = body_of(endpoint, {"event": NOBODY, "unit": NOBODY, "hold": NOBODY, "label": "A-1"})
    path = endpoint.at(**dict.fromkeys(endpoint.parameters, NOBODY))
    return client.send(endpoint.method, path, NOTHING if body is None else body, headers=key_of(endpoint))


@pytest.fixture
def keys_of_each_scope(tenant, make_key) -> dict[str, str]:
    return {scope: make_key(tenant, scopes=[scope]) for scope in Scope.values}


@pytest.mark.parametrize("endpoint", tenant_endpoints(), ids=str)
def test_an_endpoint_is_open_to_its_scopes_and_to_no_other(endpoint, keys_of_each_scope, api):
    for scope, key in keys_of_each_scope.items():
        response = call(api(key), endpoint)
        if scope in serving(endpoint):
            assert response.status_code in (200, 201, 202, 204, 404, 422), scope
        else:
            assert response.status_code == 403, scope
            problem = response.json()
            assert (problem["type"], problem["status"]) == ("/problems/forbidden", 403)
            assert problem["request_id"] == response.headers["X-Request-Id"]


@pytest.mark.parametrize("endpoint", tenant_endpoints(), ids=str)
def test_a_missing_scope_is_told_before_a_body_is_looked_at(endpoint, keys_of_each_scope, api):
    path = endpoint.at(**dict.fromkeys(endpoint.parameters, NOBODY))
    (wrong, *_) = [key for scope, key in keys_of_each_scope.items() if scope not in serving(endpoint)]
    assert api(wrong).send(endpoint.method, path, b"{not json").status_code == 403


def test_a_key_with_two_scopes_opens_what_either_opens(tenant, make_key, api):
    key = make_key(tenant, scopes=["holds", "events"])
    assert api(key).get("/v1/holds").status_code == 200
    assert api(key).get("/v1/events").status_code == 200
    assert api(key).get("/v1/api-keys").status_code == 403


def test_a_key_can_make_no_key_unless_it_is_an_admins(tenant, make_key, api):
    body = {"name": "More", "scopes": ["admin"]}
    for scope in set(Scope.values) - {"admin"}:
        assert api(make_key(tenant, scopes=[scope])).post("/v1/api-keys", body).status_code == 403
    assert api(tenant).post("/v1/api-keys", body).status_code == 201


@pytest.mark.parametrize(
    "scopes", [[], ["everything"], ["READ"], [""], [None], [1], [["read"]], "read", {"read": 1}, None]
)
def test_a_key_of_no_known_scope_is_refused(scopes, tenant, api):
    response = api(tenant).post("/v1/api-keys", {"name": "Odd", "scopes": scopes})
    assert response.status_code == 422
    assert response.json()["errors"][0]["pointer"].startswith("/scopes")


def test_scopes_named_twice_are_one(tenant, api):
    made = api(tenant).post("/v1/api-keys", {"name": "Twice", "scopes": ["read", "holds", "read"]})
    assert (made.status_code, made.json()["scopes"]) in [(201, ["holds", "read"]), (422, None)]
