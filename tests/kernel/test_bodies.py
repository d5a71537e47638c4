"""What is no good body, to every endpoint that takes one: refused in one form, nothing changed, no fault of ours."""

import contextlib
import copy
import gzip
import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings

from tests.support.bodies import BODIES, body_of, key_of
from tests.support.client import authorization
from tests.support.endpoints import Endpoint, tenant_endpoints
from tests.support.rows import everything_of, sample, tenant_models, word_of

WITH_BODIES = [endpoint for endpoint in tenant_endpoints() if endpoint.takes_bodies]
EACH = pytest.mark.parametrize("endpoint", WITH_BODIES, ids=str)
MAY_BE_EMPTY = ("/extend", "/release", "/refund", "/cancel", "/rotate-secret")
BULK = {"POST /v1/events/{event_id}/units"}
DEEP = 20_000
OTHER_MEDIA_TYPES = (
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "json",
    "*/*",
)

MALFORMED = {
    "deep arrays": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "deep in a member": b'{"metadata":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "opened and never closed": b"[" * DEEP,
    "truncated": b'{"name": "x"',
    "truncated text": b'{"name": "x',
    "a byte order mark": b'\xef\xbb\xbf{"name": "x"}',
    "UTF-16": '{"name": "x"}'.encode("utf-16"),
    "NaN": b'{"quantity": NaN}',
    "Infinity": b'{"quantity": Infinity}',
    "-Infinity": b'{"quantity": -Infinity}',
    "invalid UTF-8": b'{"name": "\xff\xfe"}',
    "overlong UTF-8": b'{"name": "\xc0\xaf"}',
    "a surrogate in UTF-8": b'{"name": "\xed\xa0\x80"}',
    "a lone surrogate": b'{"name": "\\ud800"}',
    "a NUL byte": b"\0",
    "a control character in text": b'{"name": "a\nb"}',
    "single quotes": b"{'name': 'x'}",
    "a trailing comma": b'{"name": "x",}',
    "two values": b'{"name": "x"}{"name": "x"}',
    "a comment": b'{"name": "x"} // x',
    "hexadecimal": b'{"quantity": 0x10}',
    "a leading zero": b'{"quantity": 01}',
    "white space": b" \n\t ",
    "form data": b"name=x&scopes=read",
}
NO_OBJECT = {
    "a list": b"[]",
    "a list of objects": b'[{"name": "x"}]',
    "text": b'"name"',
    "null": b"null",
    "true": b"true",
    "a number": b"1e3",
    "a large number": b"1" * 30,
}


@pytest.fixture
def ids(tenant) -> dict[str, Any]:
    """Ids of rows that are there, so that no answer is about their absence."""
    rows = {word_of(model): sample(model, tenant.id) for model in tenant_models()}
    found = {word: row.id for word, row in rows.items()}
    return found | {f"{word}_id": row.id for word, row in rows.items()} | {"label": rows["unit"].label}


@pytest.fixture
def send(endpoint: Endpoint, ids, tenant, api) -> Any:
    """Sends to the endpoint, and sees to it that a refusal changes nothing but that it is kept under its key."""
    client = api(tenant)
    address = endpoint.at(**ids)
    assert client.get("/v1/api-keys").status_code == 200
    before = everything_of(tenant.id)

    def run(body: Any, *, headers: dict[str, str] | None = None, **kwargs: Any) -> Any:
        response = client.send(endpoint.method, address, body, headers=key_of(endpoint) | (headers or {}), **kwargs)
        if response.status_code >= 400:
            now = everything_of(tenant.id)
            assert but_for_answers(now) == but_for_answers(before)
            kept = now[ANSWERS] != before[ANSWERS]
            assert not kept or response.status_code in (402, 409, 410)
        return response

    return run


ANSWERS = "tenants_idempotencykey"


def but_for_answers(rows: dict[str, list[str]]) -> dict[str, list[str]]:
    return {table: found for table, found in rows.items() if table != ANSWERS}


def assert_problem(response: Any, status: int, slug: str) -> dict[str, Any]:
    assert response.status_code == status, response.content[:300]
    assert response.headers["Content-Type"] == "application/problem+json"
    problem = response.json()
    assert problem["type"] == f"/problems/{slug}"
    assert problem["request_id"] == response.headers["X-Request-Id"]
    return problem


def test_the_walk_has_a_good_body_for_every_call_that_needs_one(ids, tenant, api):
    for endpoint in WITH_BODIES:
        if str(endpoint) not in BODIES:
            response = api(tenant).send(endpoint.method, endpoint.at(**ids), headers=key_of(endpoint))
            assert response.status_code < 500
            assert response.status_code not in (400, 422), endpoint


@EACH
def test_what_is_no_json_is_malformed(endpoint, send):
    for name, body in MALFORMED.items():
        problem = assert_problem(send(body), 400, "malformed")
        assert len(problem["detail"]) < 300, name


@EACH
def test_json_that_is_no_object_is_invalid_as_a_whole(endpoint, send):
    for body in NO_OBJECT.values():
        problem = assert_problem(send(body), 422, "invalid")
        assert [fault["pointer"] for fault in problem["errors"]] == [""]


@EACH
def test_no_body_where_one_is_needed_is_malformed(endpoint, send):
    response = send(b"")
    if str(endpoint) in BODIES:
        allowed = {400} if not endpoint.path.endswith(MAY_BE_EMPTY) else {200, 409, 410}
        assert response.status_code in allowed
    else:
        assert response.status_code in (200, 202, 204, 409)


@EACH
def test_another_media_type_is_415(endpoint, send, ids):
    body = json.dumps(body_of(endpoint, ids) or {}).encode()
    multipart = b'--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nx\r\n--x--\r\n'
    for media_type in OTHER_MEDIA_TYPES:
        assert_problem(send(body, media_type=media_type), 415, "unsupported-media-type")
    assert_problem(send(multipart, media_type="multipart/form-data; boundary=x"), 415, "unsupported-media-type")


@EACH
def test_a_compressed_body_is_415(endpoint, send, ids):
    body = json.dumps(body_of(endpoint, ids) or {}).encode()
    for encoding in ("gzip", "deflate", "br", "GZIP", "gzip, gzip"):
        response = send(gzip.compress(body), headers={"Content-Encoding": encoding})
        assert_problem(response, 415, "unsupported-media-type")


@EACH
def test_a_body_over_its_limit_is_413_and_one_at_its_limit_is_read(endpoint, send):
    limit = settings.BULK_BODY_BYTES_MAX if str(endpoint) in BULK else settings.BODY_BYTES_MAX
    assert limit in (1024 * 1024, 4 * 1024 * 1024)
    frame = len(b'{"nonsense":""}')
    assert_problem(send(b'{"nonsense":"' + b"x" * (limit - frame) + b'"}'), 422, "invalid")
    assert_problem(send(b'{"nonsense":"' + b"x" * (limit - frame + 1) + b'"}'), 413, "body-too-large")


@EACH
def test_a_charset_beside_the_media_type_is_fine(endpoint, send):
    for media_type in ("application/json; charset=utf-8", "Application/JSON", "application/json;charset=UTF-8"):
        assert_problem(send(b'{"nonsense": 1}', media_type=media_type), 422, "invalid")


@EACH
def test_a_member_that_is_not_known_is_refused_by_name(endpoint, send, ids):
    body = (body_of(endpoint, ids) or {}) | {"nonsense": 1}
    problem = assert_problem(send(body), 422, "invalid")
    assert [(fault["pointer"], fault["code"]) for fault in problem["errors"]] == [("/nonsense", "unknown")]


def leaves(value: Any, pointer: str = "", path: tuple[Any, ...] = ()) -> Iterator[tuple[str, tuple[Any, ...], Any]]:
    """Every value within a body: its pointer, its path, itself. What is inside of metadata is free."""
    if path:
        yield pointer, path, value
    if path and path[-1] == "metadata":
        return
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from leaves(item, f"{pointer}/{key}", (*path, key))


def replaced(body: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(body)
    place: Any = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return changed


WRONG: dict[type, list[Any]] = {
    int: ["2", "", 2.0, 2.5, True, [], [2], {}, -1, 2**62, 2**63, 2**64, 10**40, 1e300],
    str: [2, 0, 2.5, True, False, [], ["x"], {}, "", "   ", "\0", "a\0b", "a\nb", "x" * 10_000, 2**64],
    list: ["x", "", 2, True, {}, {"0": "x"}, [], [None], [[]], [{}], [True], [2.5]],
    dict: ["x", "", 2, True, [], [{}]],
    bool: ["true", "", 1, 0, 1.0, [], {}, [True]],
}
# null says "none" for what need not be there
NULLABLE = (
    "_at",
    "_max",
    "seconds",
    "section",
    "row",
    "number",
    "price",
    "reason",
    "/buyer",
    "/buyer/name",
    "/buyer/email",
    "/description",
    "/until",
    "/types",
)
# no text at all is a text, too
MAY_BE_BLANK = ("/reason", "/description")


@EACH
def test_every_member_is_of_its_type_and_in_its_range(endpoint, send, ids):
    body = body_of(endpoint, ids)
    for pointer, path, value in leaves(body or {}):
        wrong = list(WRONG[type(value)])
        if pointer in MAY_BE_BLANK:
            wrong = [bad for bad in wrong if not isinstance(bad, str) or bad.strip()]
        if not pointer.endswith(NULLABLE):
            wrong.append(None)
        for bad in wrong:
            response = send(replaced(body, path, bad))
            assert response.status_code == 422, (pointer, bad, response.content[:200])
            if response.json()["type"] == "/problems/invalid":
                pointers = [fault["pointer"] for fault in response.json()["errors"]]
                assert all(found.startswith(pointer) for found in pointers), (pointer, bad, pointers)


@EACH
def test_a_member_named_twice_is_no_fault_of_ours(endpoint, send):
    assert send(b'{"nonsense": 1, "nonsense": 2}').status_code == 422


@EACH
def test_without_a_key_no_body_is_looked_at(endpoint, ids, api):
    for body in [*MALFORMED.values(), *NO_OBJECT.values(), b""]:
        response = api(None).send(endpoint.method, endpoint.at(**ids), body)
        assert_problem(response, 401, "unauthenticated")
    large = b"x" * (settings.BULK_BODY_BYTES_MAX + 1)
    assert_problem(api(None).send(endpoint.method, endpoint.at(**ids), large), 401, "unauthenticated")


@EACH
def test_to_a_thing_that_is_not_there_a_bad_body_is_no_fault_of_ours(endpoint, tenant, api):
    if not endpoint.parameters:
        return
    address = endpoint.at(**dict.fromkeys(endpoint.parameters, "01890000-0000-7000-8000-000000000000"))
    for body in [*MALFORMED.values(), *NO_OBJECT.values()]:
        assert api(tenant).send(endpoint.method, address, body).status_code in (400, 404, 422)


@pytest.mark.parametrize(
    "number",
    ["1e20", "1e300", "-1e300", "18446744073709551615", "18446744073709551616", "9223372036854775808", "1e-300"],
)
def test_a_number_in_metadata_comes_back_however_large(number, tenant, api, make_event, make_units):
    event = make_event(tenant)
    make_units(tenant, event, 1)
    body = {"event": str(event.id), "quantity": 1, "customer": "ada@example.org", "metadata": {}}
    sent = json.dumps(body).replace('"metadata": {}', f'"metadata": {{"n": {number}}}').encode()
    made = api(tenant).post("/v1/holds", sent)
    if made.status_code == 422:
        assert made.json()["errors"][0]["pointer"].startswith("/metadata")
        return
    assert made.status_code == 201
    read = api(tenant).get(f"/v1/holds/{made.json()['id']}")
    assert read.status_code == 200
    assert float(read.json()["metadata"]["n"]) == float(number)
    assert read.json()["metadata"] == made.json()["metadata"]
    assert api(tenant).get("/v1/holds").status_code == 200


def over_a_socket(web: Any, lines: list[str], body: bytes) -> tuple[int, bytes]:
    """A request written by hand."""
    place = web.url.removeprefix("http://")
    connection = http.client.HTTPConnection(place, timeout=60)
    try:
        connection.connect()
        head = "".join(f"{line}\r\n" for line in [*lines, f"Host: {place}", "Connection: close"])
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may answer before it has read all
            connection.sock.sendall(head.encode() + b"\r\n" + body)
        response = http.client.HTTPResponse(connection.sock)
        response.begin()
        return response.status, response.read()
    finally:
        connection.close()


def chunked(body: bytes, size: int = 1000) -> bytes:
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def post_lines(key: str) -> list[str]:
    bearer = authorization(key)["Authorization"]
    return ["POST /v1/api-keys HTTP/1.1", f"Authorization: {bearer}", "Content-Type: application/json"]


def test_a_body_in_chunks_is_read_as_any_other(tenant, web):
    body = json.dumps({"name": "In chunks", "scopes": ["read"]}).encode()
    status, answer = over_a_socket(web, [*post_lines(tenant.key), "Transfer-Encoding: chunked"], chunked(body, 7))
    assert status == 201, answer
    assert json.loads(answer)["name"] == "In chunks"


def test_a_body_in_chunks_over_the_limit_is_413(tenant, web):
    body = b'{"name": "' + b"x" * (2 * 1024 * 1024) + b'"}'
    status, answer = over_a_socket(web, [*post_lines(tenant.key), "Transfer-Encoding: chunked"], chunked(body, 65536))
    assert status == 413, answer[:300]


def test_ten_megabytes_are_413(tenant, web):
    body = b"x" * 10_000_000
    status, answer = over_a_socket(web, [*post_lines(tenant.key), f"Content-Length: {len(body)}"], body)
    assert (status, json.loads(answer)["type"]) == (413, "/problems/body-too-large")


@pytest.mark.parametrize("name", ["deep arrays", "deep in a member", "invalid UTF-8", "a byte order mark"])
def test_the_real_server_answers_malformed_bodies_and_lives_on(name, tenant, web):
    answer = web.api(tenant).post("/v1/api-keys", MALFORMED[name])
    assert (answer.status_code, answer.json()["type"]) == (400, "/problems/malformed")
    assert answer.headers["content-type"] == "application/problem+json"
    assert web.api(tenant).get("/v1/api-keys").status_code == 200
