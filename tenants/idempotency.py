"""Idempotency keys: the same request again gets the first answer again.

The row is written in the transaction of the effect; before that, the key is locked by name, so that of two requests
with one key the second waits and then finds the first one's answer.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from holdfast.kernel.errors import IdempotencyKeyReused
from tenants.models import IdempotencyKey
from tenants.scope import current_tenant_id


@dataclass(frozen=True, slots=True)
class Claim:
    """A request that carries a key: whose, which, and the digest of what was asked."""

    principal_id: UUID
    key: str
    fingerprint: bytes

    @property
    def name(self) -> tuple[UUID, str]:
        return self.principal_id, self.key

    @property
    def lock_name(self) -> bytes:
        return b"idempotency-key" + self.principal_id.bytes + self.key.encode()


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What the first request with a key was answered."""

    fingerprint: bytes
    status: int
    body: dict[str, Any]

    def replay_for(self, claim: Claim) -> "StoredAnswer":
        """Itself. Raises IdempotencyKeyReused where the claim is for another request."""
        if claim.fingerprint != self.fingerprint:
            raise IdempotencyKeyReused
        return self


def stored_answers(claims: Iterable[Claim]) -> dict[tuple[UUID, str], StoredAnswer]:
    """The answers that were stored under these keys, by principal and key. One query, none without claims."""
    wanted = {claim.name for claim in claims}
    if not wanted:
        return {}
    rows = IdempotencyKey.objects.filter(
        principal_id__in={principal for principal, _ in wanted}, key__in={key for _, key in wanted}
    )
    return {
        (row.principal_id, row.key): StoredAnswer(bytes(row.fingerprint), row.status_code, orjson.loads(row.body))
        for row in rows
    }


def store_answers(answers: Mapping[Claim, tuple[int, dict[str, Any]]]) -> None:
    """Keep these answers (status, body) with the effects of the running transaction; one statement, or none."""
    if not answers:
        return
    IdempotencyKey.objects.bulk_create(
        IdempotencyKey(
            tenant_id=current_tenant_id(),
            principal_id=claim.principal_id,
            key=claim.key,
            fingerprint=claim.fingerprint,
            status_code=status,
            body=orjson.dumps(body).decode(),
        )
        for claim, (status, body) in answers.items()
    )
