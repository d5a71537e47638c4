"""What can be done to holds, units and tickets, each told in a word or two: the same for threads and for processes."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db.models import Q

from holdfast.kernel.errors import Refusal
from reservations import expiry, jobs
from reservations.allocation.allocator import allocate
from reservations.allocation.requests import Granted, HoldRequest, Refused
from reservations.locks import lock_tickets
from reservations.messages import ticket_fact
from reservations.models import TicketStatus
from reservations.operations.holds import extend_hold, release_hold
from reservations.operations.tickets import redeem_ticket, reissue_ticket
from tenants.scope import tenant_transaction
from webhooks.outbox import publish


def _word(answer: Callable[[], Any]) -> str:
    try:
        return str(answer())
    except Refusal as refusal:
        return refusal.slug


def nothing(tenant: UUID) -> str:
    expiry.sweep_tenant(tenant)  # connects
    return "nothing"


def release(tenant: UUID, hold: str) -> str:
    return _word(lambda: release_hold(tenant_id=tenant, hold_id=UUID(hold)).status)


def extend(tenant: UUID, hold: str) -> str:
    return _word(lambda: extend_hold(tenant_id=tenant, hold_id=UUID(hold)) and "extended")


def expire(tenant: UUID, hold: str) -> str:
    """As the job that was asked for when the hold was made; tells how many it expired."""
    return str(jobs.expire_holds(str(tenant), [hold]))


def sweep(tenant: UUID) -> str:
    return str(expiry.sweep_tenant(tenant))


def buy(tenant: UUID, event: str, customer: str, **fields: Any) -> str:
    """`buy(tenant, event, "bob", labels=["A-1"])`: the new hold's id, or why there is none."""
    if "labels" in fields:
        fields["labels"] = tuple(fields["labels"])
    request = HoldRequest(event_id=UUID(event), customer=customer, **fields)
    (outcome,) = allocate(tenant_id=tenant, requests=[request])
    match outcome:
        case Granted(hold):
            return str(hold.id)
        case Refused(refusal):
            return refusal.slug
    raise AssertionError(outcome)


def redeem(tenant: UUID, token: str, gate: str) -> str:
    return _word(lambda: redeem_ticket(tenant_id=tenant, token=token, gate=gate).status)


def reissue(tenant: UUID, ticket: str) -> str:
    return _word(lambda: reissue_ticket(tenant_id=tenant, ticket_id=UUID(ticket)) and "reissued")


def void(tenant: UUID, ticket: str, refund: str) -> str:
    """As a refund does it to its tickets."""
    with tenant_transaction(tenant):
        (row,) = lock_tickets(Q(id=ticket))
        row.status, row.refund_id = TicketStatus.VOID, UUID(refund)
        row.save(update_fields=["status", "refund"])
        publish([ticket_fact("ticket.voided", row)])
    return "voided"


ACTS: dict[str, Callable[..., str]] = {
    "nothing": nothing,
    "release": release,
    "extend": extend,
    "expire": expire,
    "sweep": sweep,
    "buy": buy,
    "redeem": redeem,
    "reissue": reissue,
    "void": void,
}
