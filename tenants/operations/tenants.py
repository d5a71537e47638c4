"""Tenants: create. What other apps give a new tenant are steps, named in the settings."""

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.utils.module_loading import import_string

from holdfast.kernel.db.errors import constraint_name
from tenants.errors import BadTenant, SlugTaken
from tenants.models import ApiKey, Scope, Tenant
from tenants.operations.api_keys import create_api_key
from tenants.scope import tenant_transaction


def create_tenant(*, slug: str, name: str = "") -> tuple[Tenant, ApiKey, str]:
    """A new tenant with a first API key of scope `admin`, and that key's text. Raises SlugTaken, BadTenant."""
    tenant = Tenant(slug=slug, name=name or slug)
    try:
        tenant.clean_fields()
    except ValidationError as error:
        raise BadTenant("; ".join(error.messages)) from error
    try:
        with tenant_transaction(tenant.id):
            tenant.save(force_insert=True)
            api_key, text = create_api_key(tenant_id=tenant.id, name="First key", scopes=[Scope.ADMIN])
            for step in settings.NEW_TENANT_STEPS:
                import_string(step)(tenant.id)
    except IntegrityError as error:
        if constraint_name(error) != "tenant_slug_is_unique":
            raise
        raise SlugTaken(f"There is a tenant {slug} already.") from error
    return tenant, api_key, text
