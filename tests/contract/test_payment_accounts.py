"""`GET /v1/payment-accounts`: for admin keys, of their tenant, without a secret."""

import pytest

from reservations.operations.payment_accounts import open_account
from tenants.models import Scope
from tests.contract import expect

STRIPE = {"secret_key": "sk_test_4eC39HqLyjWDarjtT1zdp7dc", "webhook_secret": "whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6"}


def test_the_list_shows_where_callbacks_go_and_no_secret(tenant, api):
    account = open_account(tenant_id=tenant.id, provider="stripe", credentials=STRIPE)
    answer = api(tenant).get("/v1/payment-accounts")
    first, second = expect.body(answer)["data"]
    assert (first["provider"], first["status"]) == ("mock", "disabled")
    assert second == {
        "id": str(account.id),
        "provider": "stripe",
        "status": "enabled",
        "callback_url": f"http://127.0.0.1:8000/v1/payments/callbacks/stripe/{account.id}",
    }
    assert not [secret for secret in STRIPE.values() if secret in answer.content.decode()]


def test_the_list_is_walked_page_by_page(tenant, api):
    for _ in range(3):
        open_account(tenant_id=tenant.id, provider="stripe", credentials=STRIPE)
    seen, cursor = [], ""
    while cursor is not None:
        page = expect.body(api(tenant).get(f"/v1/payment-accounts?limit=2{cursor and f'&cursor={cursor}'}"))
        seen += [row["id"] for row in page["data"]]
        cursor = page["next"]
    assert len(seen) == len(set(seen)) == 4
    assert seen == sorted(seen)


@pytest.mark.parametrize("scope", sorted(set(Scope.values) - {"admin"}))
def test_no_other_key_sees_them(tenant, make_key, api, scope):
    expect.problem(api(make_key(tenant, scopes=[scope])).get("/v1/payment-accounts"), 403, "forbidden")


def test_another_tenants_accounts_are_not_there(tenant, make_tenant, api):
    other = make_tenant()
    listed = {row["id"] for row in expect.body(api(other).get("/v1/payment-accounts"))["data"]}
    assert not {row["id"] for row in expect.body(api(tenant).get("/v1/payment-accounts"))["data"]} & listed


def test_it_can_only_be_read(tenant, api):
    for send in (api(tenant).post, api(tenant).patch):
        expect.problem(send("/v1/payment-accounts", {}), 405, "method-not-allowed")
