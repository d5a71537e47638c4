"""Idempotency keys: the same request again gets the first answer again.

The row is written in the transaction of the effect; before that, the key is locked by name, so that of two requests
with one key the second waits and then finds the first one's answer. A call that works in several steps writes it in the
first, in progress, with the id of what it works on; whoever ends that work answers it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
from django.db.models import Q

from holdfast.kernel.clock import Now
from holdfast.kernel.errors import IdempotencyInFlight, IdempotencyKeyReused
from tenants.models import IdempotencyKey
from tenants.scope import current_tenant_id, tenant_transaction

KEPT_SECONDS = 72 * 3600
REAPED_AT_ONCE_MAX = 1_000


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
class KeptAnswer:
    """A first answer, to be told again."""

    status: int
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What the first request with a key was answered; `status` is None while it is in progress."""

    fingerprint: bytes
    status: int | None
    body: dict[str, Any]
    resource_id: UUID | None = None

    def refuse_another(self, claim: Claim) -> None:
        """Raises IdempotencyKeyReused where the claim is for another request."""
        if claim.fingerprint != self.fingerprint:
            raise IdempotencyKeyReused

    def replay_for(self, claim: Claim) -> KeptAnswer:
        """Raises IdempotencyKeyReused, and IdempotencyInFlight while there is no answer."""
        self.refuse_another(claim)
        if self.status is None:
            raise IdempotencyInFlight
        return KeptAnswer(self.status, self.body)


def stored_answers(claims: Iterable[Claim]) -> dict[tuple[UUID, str], StoredAnswer]:
    """The answers that were stored under these keys, by principal and key. One query, none without claims."""
    wanted = {claim.name for claim in claims}
    if not wanted:
        return {}
    rows = IdempotencyKey.objects.filter(
        principal_id__in={principal for principal, _ in wanted}, key__in={key for _, key in wanted}
    )
    return {
        (row.principal_id, row.key): StoredAnswer(
            bytes(row.fingerprint), row.status_code, orjson.loads(row.body or "{}"), row.resource_id
        )
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


def begin_answer(claim: Claim, resource_id: UUID) -> None:
    """Keep the claim, in progress, with what it works on; the running transaction writes that, too."""
    IdempotencyKey.objects.create(
        tenant_id=current_tenant_id(),
        principal_id=claim.principal_id,
        key=claim.key,
        fingerprint=claim.fingerprint,
        resource_id=resource_id,
    )


def end_answer(resource_id: UUID, status: int, body: Mapping[str, Any]) -> None:
    """Answer the claim that works on this, where one is still in progress."""
    IdempotencyKey.objects.filter(resource_id=resource_id, status_code=None).update(
        status_code=status, body=orjson.dumps(body).decode()
    )


def reap_answers() -> int:
    """Forget the answers that are older than KEPT_SECONDS, of every tenant; one in progress is never forgotten."""
    old = Q(status_code__isnull=False, created_at__lt=Now() - timedelta(seconds=KEPT_SECONDS))
    tenants = IdempotencyKey.everywhere.filter(old).order_by("tenant_id").values_list("tenant_id", flat=True).distinct()
    reaped = 0
    for tenant_id in tenants:
        while count := _reap(tenant_id, old):
            reaped += count
    return reaped


def _reap(tenant_id: UUID, old: Q) -> int:
    with tenant_transaction(tenant_id):
        some = IdempotencyKey.objects.filter(old).order_by("created_at").values("id")[:REAPED_AT_ONCE_MAX]
        count, _ = IdempotencyKey.objects.filter(id__in=list(some.values_list("id", flat=True))).delete()
        return count
