"""The first wall: every transaction says whose rows it is about.

`tenant_transaction` is the one boundary. It opens a transaction in which the database itself (row-level security)
shows the rows of that tenant alone; outside of it, tenant tables look empty. Nothing is ever set on a session.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from uuid import UUID

from django.db import DatabaseError, connection, transaction

from holdfast.kernel.db.base import transaction_locks, transaction_settings
from holdfast.kernel.db.errors import LOCK_NOT_AVAILABLE, sqlstate

SETTING = "holdfast.tenant_id"


class NoTenant(RuntimeError):
    """A tenant's rows were asked for outside a tenant transaction."""


class AnotherTransaction(RuntimeError):
    """A tenant transaction can't begin inside a transaction of another tenant, or of none."""


def current_tenant_id() -> UUID:
    """The tenant of the running tenant transaction. Raises NoTenant outside of one."""
    settings = transaction_settings.get()
    if not settings or SETTING not in settings:
        raise NoTenant("open a tenant_transaction first")
    return UUID(settings[SETTING])


def hold_name(name: bytes) -> None:
    """Hold a name from here to the end of the running transaction; waits for it as for a row."""
    (number,) = lock_numbers([name])
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [number])


def is_held(name: bytes) -> bool:
    """Whether another transaction holds a name now; where none does, the running one does from here on."""
    (number,) = lock_numbers([name])
    with connection.cursor() as cursor:
        cursor.execute("SELECT NOT pg_try_advisory_xact_lock(%s)", [number])
        (held,) = cursor.fetchone()
    return bool(held)


class NameTaken(RuntimeError):
    """Another transaction holds one of the names, and did not end while this one waited."""


@contextmanager
def tenant_transaction(tenant_id: UUID, *, names: Iterable[bytes] = ()) -> Iterator[None]:
    """Run the block in a transaction of this tenant; inside one of the same tenant, in a savepoint.

    `names` are held until the transaction ends: of two transactions that hold one name, the second begins when the
    first has ended. They are taken in the statement that opens the transaction, so that every later one sees what the
    first has left. Raises AnotherTransaction where the outer transaction belongs to another tenant or to none, or where
    names are asked for inside one; NameTaken where another transaction keeps a name longer than the lock timeout.
    """
    wanted = {SETTING: str(tenant_id)}
    if transaction.get_connection().in_atomic_block:
        if transaction_settings.get() != wanted:
            raise AnotherTransaction("the outer transaction is not of this tenant")
        if names:
            raise AnotherTransaction("names are taken as a transaction opens, not inside one")
        with transaction.atomic():
            yield
        return
    with ExitStack() as stack:
        token, held = transaction_settings.set(wanted), transaction_locks.set(lock_numbers(names))
        try:
            _open(stack)
            yield
        finally:
            # before the commit: what runs after it is outside
            transaction_settings.reset(token)
            transaction_locks.reset(held)


def _open(stack: ExitStack) -> None:
    try:
        stack.enter_context(transaction.atomic())
    except DatabaseError as error:
        if sqlstate(error) == LOCK_NOT_AVAILABLE:  # the opening waits for names and for nothing else
            raise NameTaken from error
        raise


def lock_numbers(names: Iterable[bytes]) -> tuple[int, ...]:
    """The advisory locks of these names, in the order in which everyone takes them.

    They are numbers of 64 bits; two names that fall on one number only wait for each other.
    """
    digests = (hashlib.sha256(name).digest() for name in names)
    return tuple(sorted({int.from_bytes(digest[:8], signed=True) for digest in digests}))
