"""The second wall as PostgreSQL itself describes it. Each check has a control that makes the fault."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import connections, models, transaction

from tenants.models import Tenant
from tests.support import catalog
from tests.support.rows import tenant_models

pytestmark = pytest.mark.usefixtures("database_name")


@pytest.fixture
def as_owner(database_name: str) -> Iterator[Callable[[str], Any]]:
    """Executes statements as the owner, in a transaction that is rolled back."""
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        yield cursor.execute
        transaction.set_rollback(True, using="owner")


def test_the_tables_with_a_tenant_are_those_of_the_models_with_a_tenant():
    of_models = {
        model._meta.db_table
        for model in apps.get_models()
        if any(getattr(field, "related_model", None) is Tenant for field in model._meta.local_fields)
    }
    assert set(catalog.tenant_tables()) == of_models | {"tenants_tenant"}
    assert {"tenants_apikey", "reservations_event", "reservations_unit", "reservations_hold"} <= of_models


def test_every_model_with_a_tenant_is_a_tenant_model():
    with_tenant = {model for model in apps.get_models() if any(f.name == "tenant" for f in model._meta.local_fields)}
    assert with_tenant == set(tenant_models())


def test_every_tenant_table_forces_row_level_security_with_its_two_policies():
    assert catalog.unguarded_tables() == []


@pytest.mark.parametrize(
    "fault",
    [
        "CREATE TABLE newcomer (id uuid PRIMARY KEY, tenant_id uuid NOT NULL)",
        "ALTER TABLE reservations_event NO FORCE ROW LEVEL SECURITY",
        "ALTER TABLE reservations_event DISABLE ROW LEVEL SECURITY",
        "DROP POLICY tenant ON reservations_event",
        "ALTER POLICY tenant ON reservations_event WITH CHECK (true)",
        "ALTER POLICY tenant ON tenants_tenant USING (true)",
        "CREATE POLICY another ON reservations_event USING (true)",
        "ALTER POLICY maintenance ON reservations_unit TO public",
    ],
)
def test_the_check_of_the_policies_finds(fault, as_owner):
    as_owner(fault)
    assert len(catalog.unguarded_tables()) >= 1


def test_every_foreign_key_between_tenant_tables_names_the_tenant_too():
    assert catalog.foreign_keys_past_the_tenant() == []


def test_the_check_of_composite_keys_finds_a_plain_one(as_owner):
    as_owner("ALTER TABLE reservations_unit ADD FOREIGN KEY (event_id) REFERENCES reservations_event (id)")
    assert len(catalog.foreign_keys_past_the_tenant()) == 1


@pytest.mark.parametrize("model", tenant_models(), ids=lambda model: model.__name__)
def test_every_reference_of_a_model_to_a_tenant_model_is_a_foreign_key_in_the_database(model):
    references = {
        field.column: field.related_model._meta.db_table
        for field in model._meta.local_fields
        if isinstance(field, models.ForeignKey) and field.related_model in tenant_models()
    }
    assert catalog.foreign_keys_of(model._meta.db_table) == references


def test_every_foreign_key_column_leads_an_index():
    assert catalog.unindexed_foreign_keys() == []


def test_the_check_of_indexes_finds_a_missing_and_a_partial_one(as_owner):
    as_owner("DROP INDEX unit_by_hold")
    assert catalog.unindexed_foreign_keys() == ["reservations_unit.hold_id"]
    as_owner("CREATE INDEX ON reservations_unit (hold_id) WHERE status = 'held'")
    assert catalog.unindexed_foreign_keys() == ["reservations_unit.hold_id"]


def test_nothing_runs_with_its_owners_rights():
    assert catalog.definers_rights() == []


def test_the_check_of_definers_rights_finds_a_function_and_a_view(as_owner):
    as_owner("CREATE FUNCTION peek() RETURNS bigint LANGUAGE sql SECURITY DEFINER RETURN 1")
    as_owner("CREATE VIEW all_events AS SELECT * FROM reservations_event")
    as_owner("CREATE VIEW own_events WITH (security_invoker = true) AS SELECT * FROM reservations_event")
    assert catalog.definers_rights() == ["function peek()", "view all_events"]
