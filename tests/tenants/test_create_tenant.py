"""`manage.py create_tenant`, as a command of its own."""

import json
import secrets
import subprocess
import sys

import pytest

from tenants.models import ApiKey, Tenant
from tests.support.web import CHECKOUT, environment

pytestmark = pytest.mark.usefixtures("database_name")


def create_tenant(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", "create_tenant", *arguments],
        cwd=CHECKOUT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def tenants_called(slug: str) -> int:
    return Tenant.objects.using("maintenance").filter(slug=slug).count()


def test_with_json_it_prints_one_object_and_nothing_else(api):
    slug = f"t-{secrets.token_hex(6)}"
    ran = create_tenant(slug, "--name", "Théâtre 🎭", "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.count("\n") == 1
    printed = json.loads(ran.stdout)
    assert set(printed) == {"tenant", "slug", "api_key"}
    assert printed["slug"] == slug
    assert Tenant.objects.using("maintenance").get(id=printed["tenant"]).name == "Théâtre 🎭"
    assert api(printed["api_key"]).get("/v1/api-keys").status_code == 200
    assert ApiKey.everywhere.get(tenant_id=printed["tenant"]).scopes == ["admin"]


def test_a_slug_that_is_taken_is_one_line_and_leaves_no_key(tenant):
    ran = create_tenant(tenant.slug, "--json")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.count("\n") == 1
    assert tenant.slug in ran.stderr
    assert "Traceback" not in ran.stderr
    assert tenants_called(tenant.slug) == 1


@pytest.mark.parametrize("slug", ["Bad Slug"])
def test_a_bad_slug_is_one_line(slug):
    ran = create_tenant(slug, "--json")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.count("\n") == 1
    assert "Traceback" not in ran.stderr
    assert tenants_called(slug) == 0
