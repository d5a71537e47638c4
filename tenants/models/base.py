"""What every row of a tenant has: an id that sorts by time, its tenant, and managers that ask for one."""

from typing import Any, ClassVar, Self

from django.db import models

from holdfast.kernel.ids import new_id
from tenants.scope import current_tenant_id


class TenantManager(models.Manager[Any]):
    """The rows of the running tenant transaction's tenant. Raises NoTenant outside of one."""

    def get_queryset(self) -> models.QuerySet[Any]:
        return super().get_queryset().filter(tenant_id=current_tenant_id())


class MaintenanceManager(models.Manager[Any]):
    """The rows of all tenants, read by the maintenance role: to find work or a key, never to change a row."""

    def get_queryset(self) -> models.QuerySet[Any]:
        return super().get_queryset().using("maintenance")


class TenantModel(models.Model):
    """The base of all tables with a tenant; see `tenants.rls.IsolateTenant` for what the database adds.

    References to other tenant tables are declared with `db_constraint=False`: the migration makes them composite.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey("tenants.Tenant", models.PROTECT, editable=False, related_name="+", db_index=False)

    objects: ClassVar[models.Manager[Self]] = TenantManager()
    everywhere: ClassVar[models.Manager[Self]] = MaintenanceManager()

    class Meta:
        abstract = True
        constraints = [
            # the target of composite foreign keys, and the index of the reference to the tenant
            models.UniqueConstraint(fields=["tenant", "id"], name="%(class)s_of_tenant"),
        ]
