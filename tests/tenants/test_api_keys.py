"""`/v1/api-keys`: what each call answers and does."""

from datetime import timedelta

import pytest

from holdfast.kernel.clock import database_now, rfc3339
from tenants.models import ApiKey

SHOWN = {"id", "name", "prefix", "scopes", "expires_at", "created_at", "last_used_at", "revoked_at"}


@pytest.fixture
def made(tenant, api) -> dict:
    return api(tenant).post("/v1/api-keys", {"name": "Shop", "scopes": ["read"]}).json()


def test_a_new_key_is_shown_with_its_secret(made):
    assert set(made) == SHOWN | {"secret"}
    assert made["secret"].startswith(f"hf_{made['prefix']}_")
    assert (made["expires_at"], made["last_used_at"], made["revoked_at"]) == (None, None, None)
    assert made["created_at"].endswith("Z")


def test_a_list_shows_no_secret_oldest_first(tenant, api, made):
    listed = api(tenant).get("/v1/api-keys").json()
    assert [set(row) for row in listed["data"]] == [SHOWN, SHOWN]
    assert [row["name"] for row in listed["data"]] == ["First key", "Shop"]
    assert listed["next"] is None


def test_a_second_revoke_answers_the_same(tenant, api, made):
    first = api(tenant).post(f"/v1/api-keys/{made['id']}/revoke")
    second = api(tenant).post(f"/v1/api-keys/{made['id']}/revoke")
    assert first.status_code == second.status_code == 200
    assert first.json() == second.json()
    assert set(first.json()) == SHOWN
    assert first.json()["revoked_at"] is not None


def test_a_rotation_keeps_the_id_and_shows_a_new_secret(tenant, api, made):
    rotated = api(tenant).post(f"/v1/api-keys/{made['id']}/rotate")
    assert rotated.status_code == 200
    assert set(rotated.json()) == SHOWN | {"secret"}
    assert rotated.json()["id"] == made["id"]
    assert rotated.json()["secret"] != made["secret"]
    assert api(rotated.json()["secret"]).get("/v1/events").status_code == 200


def test_a_revoked_key_can_not_be_rotated_back_to_life(tenant, api, made):
    api(tenant).post(f"/v1/api-keys/{made['id']}/revoke")
    row = ApiKey.everywhere.get(id=made["id"])
    refused = api(tenant).post(f"/v1/api-keys/{made['id']}/rotate")
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/key-revoked")
    after = ApiKey.everywhere.get(id=made["id"])
    assert (bytes(after.secret_sha256), after.prefix, after.revoked_at) == (
        bytes(row.secret_sha256),
        row.prefix,
        row.revoked_at,
    )


def test_an_expiry_in_the_past_makes_a_key_that_opens_nothing(tenant, api):
    past = rfc3339(database_now() - timedelta(seconds=1))
    made = api(tenant).post("/v1/api-keys", {"name": "Late", "scopes": ["read"], "expires_at": past})
    assert made.status_code in (201, 422)
    if made.status_code == 201:
        assert api(made.json()["secret"]).get("/v1/events").status_code == 401


@pytest.mark.parametrize("call", ["revoke", "rotate"])
@pytest.mark.parametrize("body", [{"name": "x"}, {"": 1}])
def test_a_call_that_takes_no_members_refuses_them(call, body, tenant, api, made):
    before = ApiKey.everywhere.filter(id=made["id"]).values().get()
    refused = api(tenant).post(f"/v1/api-keys/{made['id']}/{call}", body)
    assert (refused.status_code, refused.json()["errors"][0]["code"]) == (422, "unknown")
    assert ApiKey.everywhere.filter(id=made["id"]).values().get() == before
    assert api(tenant).post(f"/v1/api-keys/{made['id']}/{call}", {}).status_code == 200


def test_ten_rotations_at_once_leave_one_secret_that_works(tenant, api, made, run_together):
    answers = run_together([lambda: api(tenant).post(f"/v1/api-keys/{made['id']}/rotate")] * 10)
    assert {answer.status_code for answer in answers} == {200}
    secrets = [answer.json()["secret"] for answer in answers]
    assert len(set(secrets)) == 10
    assert [api(secret).get("/v1/events").status_code for secret in secrets].count(200) == 1
