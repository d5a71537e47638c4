"""Refusals: what HoldFast answers instead of doing what was asked.

    Refusal
    ├── Malformed                 400  the body can't be read
    ├── IdempotencyKeyMissing     400
    ├── IdempotencyKeyInvalid     400
    ├── NotFound                  404
    ├── Invalid                   422  a field, a parameter or a rule of the input
    ├── IdempotencyKeyReused      422
    ├── IdempotencyInFlight       409  try again: the first request still runs
    ├── Conflict                  409  the input is fine, the state is against it
    │   └── Contention            409  try again: nothing was decided
    └── Unavailable               503  try again: something HoldFast needs is away

Each app adds its own below these. A refusal changes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


class Refusal(Exception):
    """The base of all refusals; `members` are the extra members of the problem document."""

    status: ClassVar[int]
    slug: ClassVar[str]
    title: ClassVar[str]
    # stored under an idempotency key and replayed; False leaves the key free
    stored: ClassVar[bool] = False

    def __init__(self, detail: str = "", *, retry_after_seconds: int | None = None, **members: Any) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        self.retry_after_seconds = retry_after_seconds
        self.members: Mapping[str, Any] = members

    def document(self) -> dict[str, Any]:
        """The problem document of RFC 9457, but for the request id."""
        return {
            "type": f"/problems/{self.slug}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            **self.members,
        }


# a document names the first so many faults, and says how many there are
ERRORS_SHOWN_MAX = 100


class Malformed(Refusal):
    status, slug, title = 400, "malformed", "The body is not readable JSON"


class IdempotencyKeyMissing(Refusal):
    status, slug, title = 400, "idempotency-key-missing", "This call needs an Idempotency-Key"


class IdempotencyKeyInvalid(Refusal):
    status, slug, title = 400, "idempotency-key-invalid", "An Idempotency-Key is 1 to 255 visible ASCII characters"


class NotFound(Refusal):
    status, slug, title = 404, "not-found", "There is no such thing here"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault of the input: a JSON pointer into the body, or the name of a query parameter."""

    place: str
    code: str
    detail: str
    parameter: bool = False

    def document(self) -> dict[str, str]:
        key = "parameter" if self.parameter else "pointer"
        return {key: self.place, "code": self.code, "detail": self.detail}


class Invalid(Refusal):
    status, slug, title = 422, "invalid", "The request is not valid"

    def __init__(self, errors: Sequence[FieldError], detail: str = "") -> None:
        self.errors = tuple(errors)
        shown = [error.document() for error in self.errors[:ERRORS_SHOWN_MAX]]
        super().__init__(detail or self._summary(), errors=shown)

    def _summary(self) -> str:
        first = self.errors[0]
        more = f" (and {len(self.errors) - 1} more)" if len(self.errors) > 1 else ""
        return f"{first.place or 'body'}: {first.detail}{more}"

    @classmethod
    def at(cls, pointer: str, code: str, detail: str) -> "Invalid":
        """One fault in the body."""
        return cls([FieldError(pointer, code, detail)])

    @classmethod
    def parameter(cls, name: str, code: str, detail: str) -> "Invalid":
        """One fault in the query string."""
        return cls([FieldError(name, code, detail, parameter=True)])


class IdempotencyKeyReused(Refusal):
    status, slug, title = 422, "idempotency-key-reused", "This Idempotency-Key was used for another request"


class IdempotencyInFlight(Refusal):
    status, slug, title = 409, "idempotency-in-flight", "The first request with this Idempotency-Key still runs"

    def __init__(self) -> None:
        super().__init__("Ask again for its answer.", retry_after_seconds=1)


class Conflict(Refusal):
    status, slug, title = 409, "conflict", "The state of things is against it"
    stored = True


class Contention(Conflict):
    slug, title = "contention", "Too many at once: try again"
    stored = False

    def __init__(self, detail: str = "Nothing was decided: others held what this call needed.") -> None:
        super().__init__(detail, retry_after_seconds=1)


class Unavailable(Refusal):
    status, slug, title = 503, "unavailable", "The service is not available right now"

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail, retry_after_seconds=1)
