"""Problem documents: one form for all that goes wrong on an API path."""

import re
import uuid

import pytest
from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import Http404
from rest_framework import exceptions

from holdfast.kernel.errors import Contention, FieldError, Invalid, NotFound, Refusal, Unavailable
from holdfast.kernel.problems import field_errors, refusal_of
from tests.support.endpoints import tenant_endpoints

NOBODY = "01890000-0000-7000-8000-000000000000"
TOKEN = re.compile(r"[a-z]+(-[a-z]+)*")


def detail(text: str = "x", code: str = "c") -> exceptions.ErrorDetail:
    return exceptions.ErrorDetail(text, code=code)


def test_pointers_follow_rfc_6901():
    nested = {"a/b": [detail()], "m~n": {"~/": [detail()]}, "": [detail()], "ä": {"non_field_errors": [detail()]}}
    assert [fault.place for fault in field_errors(nested)] == ["/a~1b", "/m~0n/~0~1", "/", "/ä"]


def test_pointers_count_the_items_of_a_list_and_skip_those_that_are_fine():
    nested = {"units": {1: {"label": [detail(code="blank")]}, 3: {"label": [detail(), detail()]}}}
    assert [fault.place for fault in field_errors(nested)] == ["/units/1/label", "/units/3/label", "/units/3/label"]
    listed = {"units": [{}, {"label": [detail(code="blank")]}]}
    assert [(fault.place, fault.code) for fault in field_errors(listed)] == [("/units/1/label", "blank")]


def test_a_fault_of_the_whole_body_points_to_the_whole():
    assert field_errors({"non_field_errors": [detail()]}) == [FieldError("", "c", "x")]
    assert field_errors([detail()]) == [FieldError("", "c", "x")]


def test_a_member_with_a_slash_is_pointed_to_over_http(tenant, api):
    body = {"name": "x", "scopes": ["read"], "a/b": 1, "~": 2, "": 3, "\u0000": 4}
    refused = api(tenant).post("/v1/api-keys", body)
    assert refused.status_code == 422
    assert {fault["pointer"] for fault in refused.json()["errors"]} == {"/a~1b", "/~0", "/", "/\u0000"}


def walk(kind: type[Refusal]) -> list[type[Refusal]]:
    return [kind, *(deeper for child in kind.__subclasses__() for deeper in walk(child))]


@pytest.mark.parametrize("kind", [kind for kind in walk(Refusal) if hasattr(kind, "slug")], ids=lambda k: k.__name__)
def test_every_refusal_has_a_status_a_type_and_a_title(kind):
    assert kind.status in (400, 401, 402, 403, 404, 409, 410, 413, 422, 429, 503)
    assert TOKEN.fullmatch(kind.slug)
    assert kind.title
    if kind.status in (400, 401, 403, 404, 413, 415, 422, 429, 503):
        assert kind.stored is False or kind.status == 422


def test_no_refusal_that_a_retry_cures_is_stored():
    assert Contention.stored is False
    assert Unavailable.stored is False
    for refusal in (Contention(), Unavailable()):
        assert refusal.retry_after_seconds == 1


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("40001", Contention),
        ("40P01", Contention),
        ("55P03", Contention),
        ("57014", Contention),
        ("57P01", Unavailable),
        ("57P03", Unavailable),
        ("08006", Unavailable),
        ("53300", Unavailable),
        ("23505", None),
        ("42501", None),
        ("22003", None),
    ],
)
def test_a_database_error_is_told_by_its_sqlstate(state, expected):
    cause = Exception()
    cause.sqlstate = state
    error = DatabaseError("any text: deadlock detected")
    error.__cause__ = cause
    found = refusal_of(error)
    assert found is None if expected is None else isinstance(found, expected)


def test_a_lost_connection_has_no_sqlstate_and_is_unavailable_all_the_same():
    assert isinstance(refusal_of(OperationalError("the connection is closed")), Unavailable)
    assert isinstance(refusal_of(InterfaceError("the connection is closed")), Unavailable)
    assert refusal_of(DatabaseError("something else")) is None
    assert refusal_of(ValueError("a fault of ours")) is None


def test_djangos_404_is_ours():
    assert isinstance(refusal_of(Http404()), NotFound)


def test_the_summary_of_many_faults_counts_them():
    errors = [FieldError("/a", "x", "Wrong."), FieldError("/b", "x", "Wrong."), FieldError("", "x", "Wrong.")]
    assert Invalid(errors).detail == "/a: Wrong. (and 2 more)"
    assert Invalid(errors[2:]).detail == "body: Wrong."
    assert Invalid.parameter("limit", "x", "Wrong.").document()["errors"] == [
        {"parameter": "limit", "code": "x", "detail": "Wrong."}
    ]


def assert_problem(response, status: int, slug: str) -> None:
    assert response.status_code == status
    assert response.headers["Content-Type"] == "application/problem+json"
    problem = response.json()
    assert {"type", "title", "status", "detail", "request_id"} <= set(problem)
    assert (problem["type"], problem["status"]) == (f"/problems/{slug}", status)
    assert problem["request_id"] == response.headers["X-Request-Id"]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/",
        "/v1/nothing",
        "/v1/api-keys/",
        "/v1/api-keys/not-an-id/revoke",
        f"/v1/api-keys/{2**63}/revoke",
        f"/v1/api-keys/{NOBODY.replace('-', '')}/revoke",
        f"/v1/events/{NOBODY}/nothing",
        "/v1/events/%00",
        "/v1/events/%ff%fe",
        "/v1/events/%F0%9F%8E%AD",
        "/v1/events/" + "a" * 5_000,
        "/v1//api-keys",
        "/v1/../v1/nothing",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_path_that_is_none_is_a_problem_too(path, method, tenant, api):
    assert_problem(api(tenant).send(method, path), 404, "not-found")


@pytest.mark.parametrize("path", sorted({endpoint.path for endpoint in tenant_endpoints()}))
def test_a_method_that_a_path_has_not_is_405_and_names_those_it_has(path, tenant, api):
    methods = {endpoint.method for endpoint in tenant_endpoints() if endpoint.path == path}
    address = re.sub(r"{\w+}", NOBODY, path)
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} - methods:
        response = api(tenant).send(method, address)
        assert_problem(response, 405, "method-not-allowed")
        allowed = {word.strip() for word in response.headers["Allow"].split(",")}
        assert methods <= allowed
        assert method not in allowed


def test_head_answers_as_get_without_a_body(tenant, api):
    get, head = api(tenant).get("/v1/api-keys"), api(tenant).send("HEAD", "/v1/api-keys")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Type"] == get.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "*/*", "nonsense", "application/json;q=0"])
def test_every_client_gets_json_whatever_it_accepts(accept, tenant, api):
    response = api(tenant).get("/v1/api-keys", headers={"Accept": accept})
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    assert_problem(api(tenant).get("/v1/nothing", headers={"Accept": accept}), 404, "not-found")


def test_a_fault_of_ours_is_a_500_that_tells_nothing_of_it(tenant, api, monkeypatch):
    def fail(*_args, **_kwargs):
        raise RuntimeError("the reason is private")

    monkeypatch.setattr("tenants.api.api_keys.page", fail)
    response = api(tenant).get("/v1/api-keys")
    assert_problem(response, 500, "internal")
    assert "private" not in response.content.decode()
    assert "RuntimeError" not in response.content.decode()


def test_a_database_that_is_away_is_503_and_says_when_to_come_back(tenant, api, monkeypatch):
    def fail(*_args, **_kwargs):
        raise OperationalError("connection to server on socket failed: secret details")

    monkeypatch.setattr("tenants.api.api_keys.page", fail)
    response = api(tenant).get("/v1/api-keys")
    assert_problem(response, 503, "unavailable")
    assert response.headers["Retry-After"] == "1"
    assert "secret details" not in response.content.decode()


@pytest.mark.parametrize("given", ["abc", "A.b:c-d_1", "x" * 128, NOBODY])
@pytest.mark.parametrize("path", ["/v1/api-keys", "/v1/nothing", "/healthz"])
def test_a_sane_request_id_is_echoed(given, path, tenant, api):
    response = api(tenant).get(path, headers={"X-Request-Id": given})
    assert response.headers["X-Request-Id"] == given


@pytest.mark.parametrize("given", ["", " ", "a b", "x" * 129, "a\tb", "é", "<script>", "a/b", "a\n", "\u0661", "a,b"])
@pytest.mark.parametrize("path", ["/v1/api-keys", "/v1/nothing"])
def test_a_request_id_that_is_not_sane_is_replaced(given, path, tenant, api):
    response = api(tenant).get(path, headers={"X-Request-Id": given})
    assert uuid.UUID(response.headers["X-Request-Id"]).version == 7
    assert given not in (response.headers["X-Request-Id"], "") or given == ""


def test_two_requests_have_two_ids(tenant, api):
    ids = {api(tenant).get("/v1/api-keys").headers["X-Request-Id"] for _ in range(5)}
    assert len(ids) == 5


def test_the_probes_need_no_key_and_tell_nothing_secret(api, settings):
    for path in ("/healthz", "/readyz"):
        response = api(None).get(path)
        text = response.content.decode()
        assert response.status_code in (200, 503)
        for alias in ("default", "maintenance", "owner"):
            assert settings.DATABASES[alias]["USER"] not in text
            assert (settings.DATABASES[alias]["PASSWORD"] or "\0") not in text
    assert api(None).get("/healthz").status_code == 200
