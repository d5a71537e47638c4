# ruff: noqa: S608 - plain SQL over the tables of models, and past the managers, is what is tested
"""Row-level security at work, on every model that has a tenant: what the database does though the code be wrong."""

import pytest
from django.db import DatabaseError, IntegrityError, connection, connections, models, transaction
from psycopg import errors

from holdfast.kernel.db.errors import constraint_name, sqlstate
from tenants.models import Tenant, TenantModel
from tenants.scope import tenant_transaction
from tests.support.rows import one_of_each, sample, tenant_models

ROW_SECURITY = "42501"
FOREIGN_KEY = "23503"
EVERY_MODEL = pytest.mark.parametrize("model", tenant_models(), ids=lambda model: model.__name__)


def references(model: type[TenantModel]) -> "list[models.ForeignKey]":
    return [
        field
        for field in model._meta.local_fields
        if isinstance(field, models.ForeignKey) and field.related_model in tenant_models()
    ]


REFERENCES = pytest.mark.parametrize(
    ("model", "field"),
    [(model, field) for model in tenant_models() for field in references(model)],
    ids=lambda value: value.__name__ if isinstance(value, type) else value.name,
)


@pytest.fixture
def a(make_tenant):
    return make_tenant()


@pytest.fixture
def b(make_tenant):
    return make_tenant()


def run(statement: str, parameters: list[object]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.rowcount


def ids(model: type[models.Model]) -> set:
    """By plain SQL, on the app role's connection."""
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT id FROM "{model._meta.db_table}"')
        return {identity for (identity,) in cursor.fetchall()}


@EVERY_MODEL
def test_outside_of_a_tenant_transaction_a_table_looks_empty(model, a):
    row = sample(model, a.id)
    assert ids(model) == set()
    assert model._base_manager.count() == 0
    with transaction.atomic():
        assert ids(model) == set()
    with tenant_transaction(a.id):
        assert row.id in ids(model)
    assert row.id in set(model.everywhere.filter(id=row.id).values_list("id", flat=True))


@EVERY_MODEL
def test_inside_one_only_its_tenants_rows_are_there(model, a, b):
    own, foreign = sample(model, a.id), sample(model, b.id)
    with tenant_transaction(a.id):
        seen = ids(model)
        assert own.id in seen
        assert foreign.id not in seen
        assert set(model._base_manager.values_list("tenant_id", flat=True)) == {a.id}
        assert not model._base_manager.filter(id=foreign.id).exists()
        assert not model.objects.filter(id=foreign.id).exists()
    assert {a.id, b.id} <= set(model.everywhere.values_list("tenant_id", flat=True))


@EVERY_MODEL
def test_another_tenants_row_can_neither_be_changed_nor_deleted(model, a, b):
    foreign = sample(model, b.id)
    table = model._meta.db_table
    with tenant_transaction(a.id):
        assert run(f'UPDATE "{table}" SET tenant_id = %s WHERE id = %s', [a.id, foreign.id]) == 0
        assert run(f'UPDATE "{table}" SET id = id WHERE id = %s', [foreign.id]) == 0
        assert run(f'DELETE FROM "{table}" WHERE id = %s', [foreign.id]) == 0
        assert model._base_manager.filter(id=foreign.id).select_for_update().first() is None
    assert model.everywhere.get(id=foreign.id).tenant_id == b.id


@EVERY_MODEL
def test_a_row_can_not_be_given_to_another_tenant(model, a, b):
    own = sample(model, a.id)
    with pytest.raises(DatabaseError) as refused, tenant_transaction(a.id):
        run(f'UPDATE "{model._meta.db_table}" SET tenant_id = %s WHERE id = %s', [b.id, own.id])
    assert sqlstate(refused.value) == ROW_SECURITY
    assert model.everywhere.get(id=own.id).tenant_id == a.id


@EVERY_MODEL
def test_a_row_can_not_be_made_for_another_tenant_or_outside_of_a_tenant_transaction(model, a, b):
    own = sample(model, a.id)
    before = set(model.everywhere.values_list("id", flat=True))
    # a copy of a row that is fine but for its tenant: no other constraint is in the way before the policy
    columns = [field.column for field in model._meta.local_fields]
    own_values = model.everywhere.filter(id=own.id).values_list(*columns).get()
    copy = dict(zip(columns, own_values, strict=True)) | {"tenant_id": b.id}
    row = model(**{column: value for column, value in copy.items() if column != "id"})
    for manager in (model._base_manager, model.objects):
        with pytest.raises(DatabaseError) as refused, tenant_transaction(a.id):
            manager.bulk_create([row])
        assert sqlstate(refused.value) == ROW_SECURITY
    with pytest.raises(DatabaseError) as refused:
        model._base_manager.bulk_create([row])
    assert sqlstate(refused.value) == ROW_SECURITY
    assert set(model.everywhere.values_list("id", flat=True)) == before


@REFERENCES
def test_a_row_can_not_name_another_tenants_row(model, field, a, b):
    own, foreign = sample(model, a.id), sample(field.related_model, b.id)
    had = getattr(own, field.attname)
    statement = f'UPDATE "{model._meta.db_table}" SET "{field.column}" = %s WHERE id = %s'
    with pytest.raises(IntegrityError) as refused, tenant_transaction(a.id):
        run(statement, [foreign.id, own.id])
    assert sqlstate(refused.value) == FOREIGN_KEY
    assert constraint_name(refused.value) == f"{model._meta.model_name}_{field.name}_of_its_tenant"
    assert getattr(model.everywhere.get(id=own.id), field.attname) == had
    with tenant_transaction(a.id):  # the control: the tenant's own may be named
        assert run(statement, [had, own.id]) == 1


@pytest.mark.parametrize("operation", ["see", "change", "delete", "make"])
def test_a_tenants_own_row_is_behind_the_wall_too(operation, a, b):
    if operation == "see":
        assert ids(Tenant) == set()
        with tenant_transaction(a.id):
            assert ids(Tenant) == {a.id}
    elif operation == "change":
        with tenant_transaction(a.id):
            assert Tenant.objects.filter(id=b.id).update(name="Mine") == 0
            assert Tenant.objects.filter(id=a.id).update(name="Mine") == 1
    elif operation == "delete":
        with tenant_transaction(a.id):
            assert run("DELETE FROM tenants_tenant WHERE id = %s", [b.id]) == 0
    else:
        with pytest.raises(DatabaseError) as refused, tenant_transaction(a.id):
            Tenant(slug=f"x{a.slug}", name="x").save(force_insert=True)
        assert sqlstate(refused.value) == ROW_SECURITY
    assert Tenant.objects.using("maintenance").get(id=b.id).name == b.slug


@EVERY_MODEL
def test_the_manager_of_all_tenants_reads_and_can_not_write(model, a):
    row = sample(model, a.id)
    for write in (
        lambda: model.everywhere.filter(id=row.id).update(tenant=a.id),
        lambda: row.save(using="maintenance"),
    ):
        with pytest.raises(DatabaseError) as refused:
            write()
        assert sqlstate(refused.value) == ROW_SECURITY
    with pytest.raises(DatabaseError) as refused, connections["maintenance"].cursor() as cursor:
        cursor.execute(f'DELETE FROM "{model._meta.db_table}" WHERE id = %s', [row.id])
    assert isinstance(refused.value.__cause__, errors.InsufficientPrivilege)


@pytest.mark.parametrize("text", ["not-a-uuid", "' OR true --", "00000000-0000-0000-0000-000000000000"])
def test_a_setting_that_is_no_tenants_id_shows_nothing(text, a):
    one_of_each(a.id)
    with transaction.atomic():
        run("SELECT set_config('holdfast.tenant_id', %s, true)", [text])
        for model in tenant_models():
            try:
                with transaction.atomic():
                    assert ids(model) == set()
            except DatabaseError as error:
                assert sqlstate(error) == "22P02"  # noqa: PT017 - either is fine: no row is shown
