"""A tenant: an organizer's space. Created by `create_tenant`; nothing ends it but an operator."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from holdfast.kernel.ids import new_id


class Tenant(models.Model):
    """The owner of events, keys and people. Its own row is seen only inside its own transactions."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    slug = models.SlugField(max_length=60, db_index=False)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects: ClassVar[models.Manager["Tenant"]] = models.Manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["slug"], name="tenant_slug_is_unique")]

    def __str__(self) -> str:
        return self.name
