"""Tickets: redeem one by its token, give one a new token. Each locks the ticket, then decides by one guarded update."""

from uuid import UUID

from django.db.models import F, Q

from holdfast.kernel.clock import Now, rfc3339
from holdfast.kernel.derived_keys import derived_keys
from holdfast.kernel.errors import NotFound
from reservations.errors import TicketElsewhere, TicketRedeemed, TicketVoid
from reservations.locks import lock_tickets
from reservations.messages import ticket_fact
from reservations.models import Ticket, TicketStatus
from reservations.queries.tickets import TOKEN_PURPOSE, get_ticket
from reservations.ticket_tokens import BadToken, Claims, read_token
from tenants.scope import tenant_transaction
from webhooks.outbox import publish

_STILL_VALID = Q(status=TicketStatus.VALID)


def redeem_ticket(*, tenant_id: UUID, token: str, gate: str = "", event_id: UUID | None = None) -> Ticket:
    """Let the ticket's holder in, at `gate`; the first call wins. With `event_id`, to that event alone.

    Raises NotFound for a token that is forged, another tenant's, or one that a later one has replaced, always the same;
    TicketElsewhere for one of another event, TicketVoid for one that was refunded, used before or not, and
    TicketRedeemed, which says when and where it was used first.
    """
    claims = _claims(tenant_id, token)
    with tenant_transaction(tenant_id):
        ticket = _locked(Q(id=claims.ticket_id, event_id=claims.event_id, serial=claims.serial))
        if event_id is not None and ticket.event_id != event_id:
            raise TicketElsewhere
        redeemed = Ticket.objects.filter(_STILL_VALID, id=ticket.id).update(
            status=TicketStatus.REDEEMED, redeemed_at=Now(), gate=gate
        )
        if not redeemed:
            raise _refusal(get_ticket(ticket.id))
        return _said("ticket.redeemed", ticket.id)


def reissue_ticket(*, tenant_id: UUID, ticket_id: UUID) -> Ticket:
    """Give the ticket a new token; from now on all earlier ones are unknown.

    For a token that was lost, or that the wrong people have. Raises NotFound, and TicketVoid or TicketRedeemed for a
    ticket that lets nobody in.
    """
    with tenant_transaction(tenant_id):
        _locked(Q(id=ticket_id))
        reissued = Ticket.objects.filter(_STILL_VALID, id=ticket_id).update(serial=F("serial") + 1)
        if not reissued:
            raise _refusal(get_ticket(ticket_id))
        return _said("ticket.issued", ticket_id)


def _claims(tenant_id: UUID, token: str) -> Claims:
    try:
        return read_token(token, tenant_id=tenant_id, keys=derived_keys(TOKEN_PURPOSE))
    except BadToken as error:
        raise NotFound from error


def _locked(wanted: Q) -> Ticket:
    tickets = lock_tickets(wanted)
    if not tickets:
        raise NotFound
    return tickets[0]


def _refusal(ticket: Ticket) -> TicketVoid | TicketRedeemed:
    """Void comes first: a ticket that was used and then refunded is no harmless second scan."""
    if ticket.status == TicketStatus.VOID:
        return TicketVoid()
    return TicketRedeemed(rfc3339(ticket.redeemed_at), ticket.gate or None)


def _said(message_type: str, ticket_id: UUID) -> Ticket:
    """The ticket as it is now, and the message of it."""
    ticket = get_ticket(ticket_id)
    publish([ticket_fact(message_type, ticket)])
    return ticket
