"""The second wall: row-level security and composite foreign keys, as migration operations.

`IsolateTenant` is put after the CreateModel of every table with a tenant. It needs no list of columns: the policies
follow from the table, the foreign keys from the model. `TieReference` is put after the AddField of a later reference.
"""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation, OperationCategory
from django.db.migrations.state import ProjectState

TENANT = "(SELECT nullif(current_setting('holdfast.tenant_id', true), '')::uuid)"


class IsolateTenant(Operation):
    """Force row-level security on a model's table and tie its references to its tenant.

    Under the policy `tenant` a row is seen and written only with the tenant's id set in the transaction; no setting,
    no rows. The maintenance role may read all rows and write none. Each foreign key to another tenant table becomes
    `(tenant_id, x_id) REFERENCES x (tenant_id, id)`; foreign keys bypass row-level security, so this is what keeps a
    row from naming another tenant's.
    """

    reversible = True
    category = OperationCategory.SQL

    def __init__(self, model: str, column: str = "tenant_id") -> None:
        self.model = model
        self.column = column

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        pass

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        model = to_state.apps.get_model(app_label, self.model)
        table = schema_editor.quote_name(model._meta.db_table)
        maintenance = schema_editor.quote_name(settings.DATABASES["maintenance"]["USER"])
        mine = f"{schema_editor.quote_name(self.column)} = {TENANT}"
        schema_editor.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
        schema_editor.execute(f"CREATE POLICY tenant ON {table} USING ({mine}) WITH CHECK ({mine})")
        schema_editor.execute(f"CREATE POLICY maintenance ON {table} FOR SELECT TO {maintenance} USING (true)")
        for field in _references(model):
            schema_editor.execute(_composite_foreign_key(model, field, schema_editor))

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        model = from_state.apps.get_model(app_label, self.model)
        table = schema_editor.quote_name(model._meta.db_table)
        for field in _references(model):
            name = schema_editor.quote_name(_constraint_name(model, field))
            schema_editor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        schema_editor.execute(f"DROP POLICY maintenance ON {table}")
        schema_editor.execute(f"DROP POLICY tenant ON {table}")
        schema_editor.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY")

    def describe(self) -> str:
        return f"Isolate the tenants of {self.model}"


class TieReference(Operation):
    """Tie a reference that was added to an isolated table later: the same composite foreign key."""

    reversible = True
    category = OperationCategory.SQL

    def __init__(self, model: str, field: str) -> None:
        self.model = model
        self.field = field

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        pass

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        model = to_state.apps.get_model(app_label, self.model)
        schema_editor.execute(_composite_foreign_key(model, model._meta.get_field(self.field), schema_editor))

    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        model = from_state.apps.get_model(app_label, self.model)
        table = schema_editor.quote_name(model._meta.db_table)
        name = schema_editor.quote_name(_constraint_name(model, model._meta.get_field(self.field)))
        schema_editor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")

    def describe(self) -> str:
        return f"Tie {self.field} of {self.model} to its tenant"


def _references(model: type[models.Model]) -> "list[models.ForeignKey[Any, Any]]":
    """The model's foreign keys to tables that have a tenant themselves."""
    return [
        field
        for field in model._meta.local_fields
        if isinstance(field, models.ForeignKey)
        and any(other.name == "tenant" for other in field.related_model._meta.local_fields)
    ]


def _constraint_name(model: type[models.Model], field: "models.Field[Any, Any]") -> str:
    return f"{model._meta.model_name}_{field.name}_of_its_tenant"


def _composite_foreign_key(
    model: type[models.Model], field: "models.ForeignKey[Any, Any]", schema_editor: BaseDatabaseSchemaEditor
) -> str:
    quote = schema_editor.quote_name
    target = quote(field.related_model._meta.db_table)
    return (
        f"ALTER TABLE {quote(model._meta.db_table)} ADD CONSTRAINT {quote(_constraint_name(model, field))} "
        f"FOREIGN KEY (tenant_id, {quote(field.column)}) REFERENCES {target} (tenant_id, id)"
    )
