"""Who is let in: the 401, the five seconds after which a dead key is dead everywhere, the note of its use."""

import io
import logging
import secrets
import time
from datetime import timedelta

import pytest
from cachetools import TTLCache
from django.core.management import call_command

from holdfast.kernel.clock import database_now
from tenants import authentication, keys
from tenants.authentication import ApiKeyAuthentication
from tenants.models import ApiKey
from tenants.operations import api_keys
from tests.support.endpoints import endpoints, tenant_endpoints

OPEN = {"/v1/openapi.json", "/v1/docs"}
# proved by a signature: see tests/contract/test_payment_callbacks.py
SIGNED = {"/v1/payments/callbacks/{provider}/{account_id}"}
DEAD_WITHIN_SECONDS = 5
IN_A_ROW = 8  # requests, so that each process of the server answers some
POLL_SECONDS = 0.05


class Timer:
    """The process's clock, moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def timer(monkeypatch) -> Timer:
    """A process that has just started, as far as keys go, whose caches run by this timer."""
    timer = Timer()
    for name in ("_known", "_recorded"):
        cache = getattr(authentication, name)
        monkeypatch.setattr(authentication, name, TTLCache(cache.maxsize, cache.ttl, timer=timer))
    return timer


def key_row(tenant) -> ApiKey:
    return ApiKey.everywhere.get(prefix=keys.parse(tenant.key).prefix)


def test_nothing_under_v1_but_its_description_and_what_is_signed_is_open_to_all():
    with_key = {endpoint.path for endpoint in tenant_endpoints()}
    assert {endpoint.path for endpoint in endpoints()} - with_key == OPEN | SIGNED
    assert len(with_key) >= 15


@pytest.mark.parametrize("endpoint", tenant_endpoints(), ids=str)
@pytest.mark.parametrize("key", [None, "hf_0123456789_" + "a" * 43, "nonsense"])
def test_every_endpoint_asks_for_a_good_key(endpoint, key, api):
    ids = dict.fromkeys(endpoint.parameters, "01890000-0000-7000-8000-000000000000")
    response = api(key).send(endpoint.method, endpoint.at(**ids), b"{not json")
    assert_unauthenticated(response)


def assert_unauthenticated(response) -> None:
    assert response.status_code == 401
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="HoldFast"'
    problem = response.json()
    assert set(problem) == {"type", "title", "status", "detail", "request_id"}
    assert (problem["type"], problem["status"]) == ("/problems/unauthenticated", 401)
    assert problem["request_id"] == response.headers["X-Request-Id"]


def changed(key: str) -> str:
    """The same prefix with another secret."""
    return key[:-1] + ("A" if key[-1] != "A" else "B")


@pytest.mark.parametrize(
    "header",
    [
        "Bearer {wrong}",
        "Bearer",
        "Bearer ",
        "{key}",
        "Basic {key}",
        "Token {key}",
        "Bearer {key} {key}",
        "Bearer {key}x",
        "Bearer {upper}",
        "Bearer \u00e9",
        "Bearer {key},Bearer {key}",
    ],
)
def test_a_header_that_is_not_a_good_key_lets_no_one_in(header, tenant, api):
    text = header.format(key=tenant.key, wrong=changed(tenant.key), upper=tenant.key.upper())
    response = api(None).get("/v1/api-keys", headers={"Authorization": text})
    assert_unauthenticated(response)
    assert api(tenant).get("/v1/api-keys").status_code == 200


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_schemes_name_is_read_in_any_case(scheme, tenant, api):
    assert api(None).get("/v1/api-keys", headers={"Authorization": f"{scheme} {tenant.key}"}).status_code == 200


def test_a_wrong_secret_is_refused_while_the_right_one_is_remembered(tenant, api, timer):
    assert api(tenant).get("/v1/api-keys").status_code == 200
    assert_unauthenticated(api(changed(tenant.key)).get("/v1/api-keys"))
    assert api(tenant).get("/v1/api-keys").status_code == 200


def kill(way: str, tenant, shift_clock) -> None:
    if way == "revoked":
        api_keys.revoke_api_key(tenant_id=tenant.id, api_key_id=key_row(tenant).id)
    elif way == "rotated":
        api_keys.rotate_api_key(tenant_id=tenant.id, api_key_id=key_row(tenant).id)
    else:
        shift_clock(61)


@pytest.mark.parametrize("way", ["revoked", "rotated", "expired"])
def test_a_dead_key_is_dead_within_five_seconds(way, tenant, make_key, api, timer, shift_clock):
    key = make_key(tenant, expires_at=database_now() + timedelta(seconds=60)) if way == "expired" else tenant.key
    assert api(key).get("/v1/api-keys").status_code == 200
    kill(way, tenant, shift_clock)
    timer.now += DEAD_WITHIN_SECONDS
    assert_unauthenticated(api(key).get("/v1/api-keys"))


def test_a_key_is_looked_up_once_in_those_seconds(tenant, api, timer, queries):
    assert api(tenant).get("/v1/api-keys").status_code == 200
    with queries("maintenance") as seen:
        timer.now += 3.9
        assert api(tenant).get("/v1/api-keys").status_code == 200
    assert seen.count == 0
    timer.now += 0.2
    with queries("maintenance") as seen:
        assert api(tenant).get("/v1/api-keys").status_code == 200
    assert seen.count == 1


def test_a_key_made_after_it_was_tried_in_vain_works_within_five_seconds(tenant, api, timer, monkeypatch):
    key = keys.generate()
    assert api(key.whole).get("/v1/api-keys").status_code == 401
    monkeypatch.setattr(keys, "generate", lambda: key)
    api_keys.create_api_key(tenant_id=tenant.id, name="Late", scopes=["admin"])
    timer.now += DEAD_WITHIN_SECONDS
    assert api(key.whole).get("/v1/api-keys").status_code == 200


def test_dead_keys_are_dead_in_every_web_process_within_five_seconds(make_tenant, make_key, web):
    revoked, rotated, alive = make_tenant(), make_tenant(), make_tenant()
    expiring = make_key(alive, expires_at=database_now() + timedelta(seconds=1))
    dead_at = {expiring: time.monotonic() + 1}
    for _ in range(IN_A_ROW):  # each process has seen each key
        for key in (revoked.key, rotated.key, alive.key, expiring):
            assert web.api(key).get("/v1/api-keys").status_code in (200, 401)
    assert web.api(revoked).post(f"/v1/api-keys/{key_row(revoked).id}/revoke").status_code == 200
    dead_at[revoked.key] = time.monotonic()
    rotation = web.api(rotated).post(f"/v1/api-keys/{key_row(rotated).id}/rotate")
    assert rotation.status_code == 200
    dead_at[rotated.key] = time.monotonic()
    for key, moment in dead_at.items():
        refused_in_a_row = 0
        while refused_in_a_row < IN_A_ROW:
            begun = time.monotonic()
            refused = web.api(key).get("/v1/api-keys").status_code == 401
            assert refused or begun < moment + DEAD_WITHIN_SECONDS
            refused_in_a_row = refused_in_a_row + 1 if refused else 0
            time.sleep(0 if refused else POLL_SECONDS)
    assert web.api(rotation.json()["secret"]).get("/v1/api-keys").status_code == 200
    assert web.api(alive).get("/v1/api-keys").status_code == 200


def test_the_last_use_is_noted_to_the_minute(tenant, api, timer, shift_clock, queries):
    assert key_row(tenant).last_used_at is None
    before = database_now()
    api(tenant).get("/v1/api-keys")
    first = key_row(tenant).last_used_at
    assert before <= first <= database_now()
    with queries() as seen:
        api(tenant).get("/v1/api-keys")
    assert not [statement for statement in seen if statement.startswith("UPDATE")]
    shift_clock(61)
    timer.now += 61
    api(tenant).get("/v1/api-keys")
    assert key_row(tenant).last_used_at >= first + timedelta(seconds=61)


def test_a_second_process_does_not_note_the_same_minute_again(tenant, api, timer):
    api(tenant).get("/v1/api-keys")
    first = key_row(tenant).last_used_at
    authentication._recorded.clear()
    api(tenant).get("/v1/api-keys")
    assert key_row(tenant).last_used_at == first


def test_a_refused_key_is_not_noted_as_used(tenant, api, timer):
    api(changed(tenant.key)).get("/v1/api-keys")
    assert key_row(tenant).last_used_at is None


def test_a_key_without_the_scope_is_noted_as_used_all_the_same(tenant, make_key, api):
    key = make_key(tenant, scopes=["read"])
    assert api(key).get("/v1/api-keys").status_code == 403
    assert ApiKey.everywhere.get(prefix=keys.parse(key).prefix).last_used_at is not None


def test_the_secret_is_shown_once_and_kept_nowhere(tenant, api):
    made = api(tenant).post("/v1/api-keys", {"name": "Shop", "scopes": ["holds"]})
    assert made.status_code == 201
    key = keys.parse(made.json()["secret"])
    listed = api(tenant).get("/v1/api-keys")
    assert key.secret not in listed.content.decode()
    assert key.prefix in listed.content.decode()
    row = ApiKey.everywhere.get(id=made.json()["id"])
    for text in (repr(row), str(row), str(row.__dict__)):
        assert key.secret not in text
    assert api(key.whole).get("/v1/holds").status_code == 200


@pytest.mark.parametrize("fault", ["represent", "create_api_key"])
def test_no_log_line_shows_a_secret_though_a_request_fail_amid_it(fault, tenant, api, monkeypatch, caplog, capfd):
    key = keys.generate()
    monkeypatch.setattr(keys, "generate", lambda: key)
    row = api_keys.create_api_key(tenant_id=tenant.id, name="Shop", scopes=["read"])

    def fail(*_args, **_kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr(f"tenants.api.api_keys.{fault}", fail)
    if fault == "represent":
        monkeypatch.setattr("tenants.api.api_keys.create_api_key", lambda **_: row)
    with caplog.at_level(logging.DEBUG):
        response = api(tenant).post("/v1/api-keys", {"name": "Shop", "scopes": ["read"]})
        wrong = changed(tenant.key)
        assert api(wrong).get("/v1/api-keys").status_code == 401
    assert response.status_code == 500
    shown = capfd.readouterr()
    everything = caplog.text + shown.out + shown.err + response.content.decode()
    assert "ZeroDivisionError" in everything, "the fault itself is logged"
    for secret in (key.secret, keys.parse(tenant.key).secret, keys.parse(wrong).secret):
        assert secret not in everything


def test_a_principals_repr_shows_no_secret(tenant, rf):
    request = rf.get("/", headers={"Authorization": f"Bearer {tenant.key}"})
    principal, _ = ApiKeyAuthentication().authenticate(request)
    assert principal.tenant_id == tenant.id
    assert keys.parse(tenant.key).secret not in repr(principal)


def test_create_tenant_prints_the_key_once_and_no_log_has_it(database_name, caplog, capfd):
    out, err = io.StringIO(), io.StringIO()
    with caplog.at_level(logging.DEBUG):
        call_command("create_tenant", f"t-{secrets.token_hex(6)}", stdout=out, stderr=err)
    (secret,) = [word for word in out.getvalue().split() if word.startswith("hf_")]
    shown = capfd.readouterr()
    assert secret not in caplog.text + shown.out + shown.err + err.getvalue()
