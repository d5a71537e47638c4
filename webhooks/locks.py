"""The lock order of webhooks, and every lock it takes.

1. the name of a tenant's claims (advisory), as the transaction opens: what is in flight is counted under it
2. replays
3. endpoints; the lock of an endpoint is also that of its deliveries
4. messages that wait for the relay, and settled deliveries that are removed: these skip what others have locked
5. who listens (advisory): shared by who writes a message, in the insert itself; alone by who begins to listen
"""

from uuid import UUID

from django.db import connection
from django.db.models import Q

from holdfast.kernel.clock import Now
from tenants.models import TenantModel
from webhooks.models import AT_WORK, Endpoint, Message, Replay


def claims_name(tenant_id: UUID) -> bytes:
    """Held while deliveries of this tenant are claimed."""
    return b"webhook claims" + tenant_id.bytes


def lock_endpoint(endpoint_id: UUID) -> Endpoint | None:
    """The endpoint, locked; None where there is none, or a deleted one."""
    return Endpoint.objects.select_for_update(no_key=True).filter(id=endpoint_id, deleted_at=None).first()


def lock_endpoint_at_work(endpoint_id: UUID, *, is_slow: bool) -> Endpoint | None:
    """The endpoint, locked, if it may be asked now, and by this queue; None otherwise."""
    at_work = Endpoint.objects.filter(AT_WORK, id=endpoint_id, is_slow=is_slow)
    return at_work.select_for_update(no_key=True).first()


def lock_endpoint_of_answer(endpoint_id: UUID) -> Endpoint | None:
    """The endpoint, locked, whatever has become of it since it was asked; None where it was removed."""
    return Endpoint.objects.select_for_update(no_key=True).filter(id=endpoint_id).first()


def lock_due_replay(replay_id: UUID) -> Replay | None:
    """The replay, locked, if it is due and nobody else works on it; None otherwise."""
    due = Replay.objects.filter(id=replay_id, look_at__lte=Now())
    return due.select_for_update(no_key=True, skip_locked=True).first()


def lock_messages_to_relay(count_max: int) -> list[tuple[UUID, str]]:
    """Id and type of the oldest messages that wait for the relay, but for those another has locked."""
    waiting = Message.objects.filter(waits_for_relay=True).order_by("id").values_list("id", "type")
    return list(waiting.select_for_update(no_key=True, skip_locked=True)[:count_max])


def lock_listening() -> None:
    """Wait until the tenant's messages that are being written are committed; who writes one from here on waits for the
    end of the running transaction, and sees what it has done. So it is taken last, right before the commit.

    Nobody who writes waits for longer than a moment, even while this waits for others. Raises OperationalError where
    one of them does not end.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT webhooks_begin_to_listen()")


def lock_rows(model: type[TenantModel], which: Q) -> list[UUID]:
    """The ids of these rows, to be removed; what another has locked is left out."""
    found = model.objects.filter(which).select_for_update(of=("self",), skip_locked=True)
    return list(found.values_list("id", flat=True))
