"""That a call changed nothing."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.contract.till import Till
from tests.support.rows import everything_of

KEYS = "tenants_idempotencykey"
# an API key says when it was used
_ALWAYS = "tenants_apikey"


@contextmanager
def untouched(till: Till, *but: str) -> Iterator[None]:
    """The block makes and changes no row of the till's tenant, but in these tables, and the provider takes nothing."""

    def everything() -> object:
        rows = everything_of(till.sale.tenant.id)
        return till.psp.charges(), {table: rows[table] for table in rows if table not in (_ALWAYS, *but)}

    before = everything()
    yield
    assert everything() == before
