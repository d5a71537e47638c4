"""What an answer must look like; each helper fails with the whole answer, so that a broken test tells its story."""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

PROBLEM_MEMBERS = {"type", "title", "status", "detail", "request_id"}
UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
ZULU = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z")


def story(response: Any) -> str:
    """The answer in one line."""
    return f"{response.status_code} {response.content[:1500]!r}"


def body(response: Any, status: int = 200) -> Any:
    """The JSON of an answer with this status."""
    assert response.status_code == status, story(response)
    assert response.headers["content-type"] == "application/json", response.headers
    assert response.headers["x-request-id"], response.headers
    return response.json()


def problem(response: Any, status: int, slug: str, members: Collection[str] = ()) -> Any:
    """The problem document, of this status and type, with exactly these members besides the usual ones."""
    assert response.status_code == status, story(response)
    assert response.headers["content-type"] == "application/problem+json", response.headers
    document = response.json()
    assert document["type"] == f"/problems/{slug}", story(response)
    assert document["status"] == status, story(response)
    assert set(document) == PROBLEM_MEMBERS | set(members), story(response)
    assert isinstance(document["title"], str), story(response)
    assert document["title"], story(response)
    assert isinstance(document["detail"], str), story(response)
    assert document["detail"], story(response)
    assert document["request_id"] == response.headers["x-request-id"], story(response)
    return document


def faults(response: Any, key: str = "pointer") -> dict[str, str]:
    """The codes of a 422 by pointer (or by parameter)."""
    errors = problem(response, 422, "invalid", {"errors"})["errors"]
    assert errors, story(response)
    for error in errors:
        assert set(error) == {key, "code", "detail"}, story(response)
        assert all(isinstance(text, str) for text in error.values()), story(response)
        assert error["detail"], story(response)
    return {error[key]: error["code"] for error in errors}


def pointers(response: Any) -> list[str]:
    """Where the faults of a 422 are, in their order."""
    return list(faults(response))


def parameters(response: Any) -> list[str]:
    """Which query parameters a 422 names."""
    return list(faults(response, "parameter"))


def moment(text: Any) -> datetime:
    """The time of an answer: RFC 3339 in UTC with Z."""
    assert isinstance(text, str), text
    assert ZULU.fullmatch(text), text
    return datetime.fromisoformat(text).astimezone(UTC)


def identifier(text: Any) -> str:
    """The id of an answer: a UUIDv7."""
    assert isinstance(text, str), text
    assert UUID7.fullmatch(text), text
    return text


def apart_from(document: dict[str, Any], *names: str) -> dict[str, Any]:
    """The document without these members."""
    return {name: value for name, value in document.items() if name not in names}
