"""A transaction that could not be told who it is for is not one."""

import pytest
from django.db import DatabaseError, connection, transaction

from holdfast.kernel.db.base import transaction_settings
from tenants.models import Tenant
from tenants.scope import tenant_transaction


def test_a_transaction_that_fails_to_open_leaves_a_connection_that_works(tenant):
    token = transaction_settings.set({"no such setting!": "x"})
    try:
        with pytest.raises(DatabaseError), transaction.atomic():
            pytest.fail("it opened")
    finally:
        transaction_settings.reset(token)
    assert not connection.in_atomic_block
    with tenant_transaction(tenant.id):
        assert Tenant.objects.get().id == tenant.id
    assert connection.get_autocommit()
