"""What is done to be paid and to pay back, each told in a word: the same for threads and for processes."""

from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

from django.db import DatabaseError

from holdfast.kernel.db.errors import CONTENTION, sqlstate
from holdfast.kernel.errors import Refusal
from reservations.checkout import recovery
from reservations.checkout.answers import Answer
from reservations.checkout.begin import Wish
from reservations.checkout.claim_refund import RefundWish
from reservations.checkout.refunds import refund_order
from reservations.checkout.saga import check_out
from reservations.operations.orders import cancel_order
from tenants.idempotency import Claim
from tenants.models import ApiKey
from tenants.scope import tenant_transaction


def pay(tenant: UUID, hold: str, key: str, method: str | None = "tok_ok") -> str:
    """`201`, `202`, or why not, as a client of the API would hear it."""
    wish = Wish(UUID(hold), method)
    return _word(lambda: check_out(tenant_id=tenant, claim=claim_of(tenant, key, [hold, method]), wish=wish))


def refund(tenant: UUID, order: str, key: str, units: Sequence[str] | None = None, *, restock: bool = True) -> str:
    """`200`, or why not."""
    wish = RefundWish(UUID(order), None if units is None else [UUID(unit) for unit in units], restock=restock)
    claim = claim_of(tenant, key, [order, units, restock])
    return _word(lambda: refund_order(tenant_id=tenant, wish=wish, claim=claim))


def cancel(tenant: UUID, order: str) -> str:
    """`cancelled`, or why not."""
    return _word(lambda: cancel_order(tenant_id=tenant, order_id=UUID(order)))


def work(tenant: UUID) -> str:
    """Carry on with what is due, of all tenants."""
    return str(recovery.work_due())


def _word(call: Callable[[], Any]) -> str:
    try:
        answer = call()
    except Refusal as refusal:
        return refusal.slug
    except DatabaseError as error:
        if sqlstate(error) not in CONTENTION:
            raise
        return "contention"
    if not isinstance(answer, Answer):
        return str(answer.status)
    return str(answer.status) if "type" not in answer.body else str(answer.body["type"]).rpartition("/")[2]


def claim_of(tenant: UUID, key: str, asked: object) -> Claim:
    """Of the tenant's first API key; another request under the same key has another fingerprint."""
    with tenant_transaction(tenant):
        principal = ApiKey.objects.order_by("id").values_list("id", flat=True)[0]
    return Claim(principal, key, repr(asked).encode())


PAYING: dict[str, Callable[..., str]] = {"pay": pay, "refund": refund, "cancel": cancel, "work": work}
