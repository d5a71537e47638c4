"""`GET /v1/webhooks/catalogue`: what messages there are; `test_message_catalogue` holds it against what is said."""

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.contract import expect
from tests.contract.sale import Sale
from tests.support import feed
from tests.support.client import Api
from webhooks.message_types import TYPES

CATALOGUE = "/v1/webhooks/catalogue"


def test_every_type_has_a_schema_and_an_example_that_fits(client: Api) -> None:
    document = expect.body(client.get(CATALOGUE))
    assert set(document) == {"data"}
    assert tuple(entry["type"] for entry in document["data"]) == TYPES
    for entry in document["data"]:
        assert set(entry) == {"type", "description", "schema", "example"}
        Draft202012Validator.check_schema(entry["schema"])
        assert list(Draft202012Validator(entry["schema"]).iter_errors(entry["example"])) == []


def test_a_message_of_the_feed_fits_what_is_served(sale: Sale) -> None:
    schemas = {entry["type"]: entry["schema"] for entry in expect.body(sale.api.get(CATALOGUE))["data"]}
    hold = sale.hold(quantity=1)
    (message,) = feed.read(sale.api, f"subject={hold['id']}")
    validator = Draft202012Validator(schemas[message["type"]])
    assert list(validator.iter_errors(message)) == []
    assert list(validator.iter_errors(message | {"data": {}})) != []


def test_it_is_the_same_for_everybody(client: Api, make_tenant: Any, api: Any) -> None:
    assert api(make_tenant()).get(CATALOGUE).content == client.get(CATALOGUE).content


@pytest.mark.parametrize(("scope", "status"), [("read", 200), ("webhooks", 200), ("holds", 403), ("events", 403)])
def test_keys_that_read_or_are_for_webhooks_see_it(
    tenant: Any, make_key: Any, api: Any, scope: str, status: int
) -> None:
    assert api(make_key(tenant, [scope])).get(CATALOGUE).status_code == status


def test_it_can_only_be_read(client: Api) -> None:
    for send in (client.post, client.patch, client.delete):
        expect.problem(send(CATALOGUE), 405, "method-not-allowed")
