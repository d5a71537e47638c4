"""The first wall: every transaction says whose rows it is about.

`tenant_transaction` is the one boundary. It opens a transaction in which the database itself (row-level security)
shows the rows of that tenant alone; outside of it, tenant tables look empty. Nothing is ever set on a session.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from uuid import UUID

from django.db import transaction

from holdfast.kernel.db.base import transaction_settings

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


@contextmanager
def tenant_transaction(tenant_id: UUID) -> Iterator[None]:
    """Run the block in a transaction of this tenant; inside one of the same tenant, in a savepoint.

    Raises AnotherTransaction where the outer transaction belongs to another tenant or to none.
    """
    wanted = {SETTING: str(tenant_id)}
    if transaction.get_connection().in_atomic_block:
        if transaction_settings.get() != wanted:
            raise AnotherTransaction("the outer transaction is not of this tenant")
        with transaction.atomic():
            yield
        return
    with ExitStack() as stack:
        token = transaction_settings.set(wanted)
        try:
            stack.enter_context(transaction.atomic())
            yield
        finally:
            # before the commit: what runs after it is outside
            transaction_settings.reset(token)
