"""Tenants as the operation makes them."""

import secrets

import pytest

from tenants.errors import BadTenant, SlugTaken
from tenants.models import ApiKey, Tenant
from tenants.operations.tenants import create_tenant

pytestmark = pytest.mark.usefixtures("database_name")


@pytest.mark.parametrize(
    "slug",
    ["", "a b", " a", "ä", "a\n", "a\0", "1" * 61, "../a", "a/b", "a.b", "\u0661", "a\u200d", "a%"],
)
def test_a_slug_that_is_none_is_refused(slug):
    with pytest.raises(BadTenant):
        create_tenant(slug=slug)
    if "\0" not in slug:
        assert not Tenant.objects.using("maintenance").filter(slug=slug).exists()


@pytest.mark.parametrize("name", ["x" * 201])
def test_a_name_that_can_not_be_kept_is_refused(name):
    slug = f"t-{secrets.token_hex(6)}"
    with pytest.raises(BadTenant):
        create_tenant(slug=slug, name=name)
    assert not Tenant.objects.using("maintenance").filter(slug=slug).exists()


@pytest.mark.parametrize("start", ["a", "A", "0", "-", "_"])
def test_a_slug_is_letters_digits_hyphens_and_underscores(start):
    slug = f"{start}-{secrets.token_hex(6)}_"
    tenant, _, _ = create_tenant(slug=slug)
    assert Tenant.objects.using("maintenance").get(id=tenant.id).slug == slug


def test_a_slug_of_sixty_characters_is_fine():
    slug = secrets.token_hex(30)
    tenant, key, text = create_tenant(slug=slug)
    assert (tenant.name, key.scopes, len(slug)) == (slug, ["admin"], 60)
    assert text.startswith(f"hf_{key.prefix}_")


def test_of_ten_at_once_with_one_slug_one_is_made(run_together):
    slug = f"t-{secrets.token_hex(6)}"
    results = run_together([lambda: create_tenant(slug=slug)] * 10)
    assert sorted(type(result).__name__ for result in results) == ["SlugTaken"] * 9 + ["tuple"]
    row = Tenant.objects.using("maintenance").get(slug=slug)
    assert ApiKey.everywhere.filter(tenant_id=row.id).count() == 1


def test_a_taken_slug_is_refused_after_the_first(tenant):
    with pytest.raises(SlugTaken):
        create_tenant(slug=tenant.slug)
