"""What a client may send, however odd, is answered as a fault of its own."""

import http.client
from urllib.parse import urlsplit

import pytest
from django.db import DatabaseError

from holdfast.kernel.problems import refusal_of


@pytest.mark.parametrize("levels", [260, 1000])
def test_a_deep_body_under_a_key_is_no_fault_of_ours(tenant, api, levels):
    """orjson reads 1,024 levels and writes 254: the fingerprint of `once` can't be made."""
    body = b'{"x":' + b"[" * levels + b"]" * levels + b"}"
    answer = api(tenant).post("/v1/events", body, headers={"Idempotency-Key": "deep"})
    assert answer.status_code in (400, 422), answer.content


@pytest.mark.parametrize("path", ["/v1/events", "/v1/holds"])
def test_many_query_parameters_are_no_fault_of_ours(tenant, api, path):
    """Over 1,000 parameters Django raises TooManyFieldsSent, a SuspiciousOperation."""
    answer = api(tenant).get(f"{path}?{'&'.join(['a=1'] * 1001)}")
    assert answer.status_code in (400, 422), answer.content


@pytest.mark.parametrize("charset", ["idna", "base64"])
def test_a_charset_that_reads_no_text_is_no_fault_of_ours(tenant, web, charset):
    """WSGIRequest takes the charset for its query string: outside of every handler, so a bare 500 without a body."""
    place = urlsplit(web.url)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
    headers = {"Authorization": f"Bearer {tenant.key}", "Content-Type": f"application/json; charset={charset}"}
    connection.request("GET", "/v1/holds?customer=%C3%A9", headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.status < 500, (answer.status, body)
    assert answer.getheader("X-Request-Id")


def test_a_query_is_utf_8_whatever_charset_the_body_claims(tenant, web, make_event, make_units):
    """The same cause: a filter reads another text than was sent, and selects nothing."""
    event = make_event(tenant)
    make_units(tenant, event, labels=["Ä-1"])
    headers = {"Content-Type": "application/json; charset=latin-1"}
    found = web.api(tenant).get(f"/v1/events/{event.id}/units?label=%C3%84-1", headers=headers).json()
    assert [unit["label"] for unit in found["data"]] == ["Ä-1"]


@pytest.mark.parametrize("host", ["evil.example", "a b", "127.0.0.1.evil.example", "@127.0.0.1"])
@pytest.mark.parametrize("path", ["/v1/events", "/v1/docs", "/v1/openapi.json", "/v1/nowhere"])
def test_a_foreign_host_is_refused_under_v1(tenant, api, path, host):
    assert api(tenant).get(path, headers={"Host": "127.0.0.1:8000"}).status_code in (200, 404)
    answer = api(tenant).get(path, headers={"Host": host})
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert "HOLDFAST_ALLOWED_HOSTS" in answer.json()["detail"]
    assert answer.json()["request_id"] == answer["X-Request-Id"]


def test_a_hold_is_not_made_under_a_foreign_host(tenant, api, make_event, make_units):
    event = make_event(tenant)
    make_units(tenant, event)
    asked = {"event": str(event.id), "quantity": 1, "customer": "ada@example.org"}
    refused = api(tenant).post("/v1/holds", asked, headers={"Host": "evil.example"})
    assert refused.status_code == 400
    assert api(tenant).get("/v1/holds").json()["data"] == []


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_the_probes_answer_any_host(database_name, api, path):
    assert api(None).get(path, headers={"Host": "10.0.0.7:8000"}).status_code in (200, 503)


@pytest.mark.parametrize("state", ["25P03", "25006"])
def test_a_session_that_was_ended_and_a_server_that_only_reads_are_unavailable(state):
    """25P03: idle_in_transaction_session_timeout ended the session. 25006: a standby after a failover."""
    error = DatabaseError()
    error.__cause__ = type("Fault", (Exception,), {"sqlstate": state})()
    refusal = refusal_of(error)
    assert refusal is not None, "answered 500"
    assert refusal.status == 503
