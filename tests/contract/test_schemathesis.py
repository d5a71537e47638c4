"""The API against its own OpenAPI document: whatever the document allows or forbids, the answer is one it tells of.

schemathesis reads the document and makes requests from it, good and bad; its checks judge the answers. They go through
the whole WSGI application, in this process. Each call is a test function of its own, since the items that schemathesis
makes of one function share one node id, of which pytest-xdist runs only one.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from django.test import Client
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from holdfast.kernel.fields import parse_id
from tests.contract import expect
from tests.contract.sale import Sale
from tests.support.endpoints import Endpoint, tenant_endpoints

EXAMPLES = 15
LONG_ENUMERATION = 20
CONFIG = {"generation": {"deterministic": True, "database": "none"}, "phases": {"coverage": {"enabled": True}}}
# What the document can't tell makes a good body 422 or 409 by contract: an id that nothing has, a label that is taken,
# two ways to choose, times out of order, an event that is not on sale.
EXCLUDED = [positive_data_acceptance]


def loaded() -> Any:
    """The document as it is served, but for its long enumerations (currencies, zones): three values of each will do."""
    document = Client().get("/v1/openapi.json", SERVER_NAME="localhost").json()
    for schema in document["components"]["schemas"].values():
        if "enum" in schema:
            schema["enum"] = schema["enum"][:3] if len(schema["enum"]) > LONG_ENUMERATION else schema["enum"]
    found = schemathesis.openapi.from_dict(document, config=SchemathesisConfig.from_dict(CONFIG))
    found.app = get_wsgi_application()
    return found


document = loaded()


@pytest.fixture
def theirs(make_sale: Callable[..., Sale]) -> Sale:
    """An event on sale with plenty of units."""
    return make_sale(50, units_per_hold_max=100)


@pytest.fixture
def known(theirs: Sale) -> dict[str, str]:
    """Ids of things that exist, by the name of the parameter or member that takes them."""
    event, endpoints = str(theirs.event.id), "/v1/webhooks/endpoints"
    made = theirs.api.post(endpoints, {"url": "http://127.0.0.1:9/", "events": ["hold.*"]})
    endpoint = expect.body(made, 201)["id"]
    ping = theirs.api.post(f"{endpoints}/{endpoint}/ping")
    replay = theirs.api.post(f"{endpoints}/{endpoint}/replay", {"since": "2020-01-01T00:00:00Z"})
    return {
        "event_id": event,
        "event": event,
        "hold_id": theirs.hold(quantity=1)["id"],
        "endpoint_id": endpoint,
        "endpoint": endpoint,
        "delivery_id": expect.body(ping, 202)["delivery"],
        "replay_id": expect.body(replay, 202)["replay"],
    }


def name_what_exists(case: Any, known: dict[str, str]) -> None:
    """Good ids become ids of things that exist: all of those that are made by rule, half of those made by chance."""
    by_rule = case.meta is not None and case.meta.phase.name == "coverage"
    for container in (case.path_parameters, case.query, case.body):
        if not isinstance(container, dict):
            continue
        for name, text in known.items():
            given = parse_id(container.get(name))
            if given is not None and (by_rule or given.int % 2 == 0):
                container[name] = text


def excluded_for(case: Any) -> list[Any]:
    """A query parameter that nobody knows is passed over, as HTTP has it: it makes no good request a bad one."""
    known_names = {parameter.name for parameter in case.operation.query}
    return [negative_data_rejection] if set(case.query or {}) - known_names else []


def test_schemathesis_has_the_checks_that_the_next_tests_rely_on() -> None:
    load_all_checks()
    wanted = {
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
        "negative_data_rejection",
        "ignored_auth",
        "unsupported_method",
    }
    assert wanted <= set(CHECKS.get_all_names())


def conformance(endpoint: Endpoint) -> Any:
    """The test of one call."""

    @document.include(path=endpoint.path, method=endpoint.method).parametrize()
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    def answers_as_the_document_says(case: Any, theirs: Sale, known: dict[str, str]) -> None:
        name_what_exists(case, known)
        headers = {"Authorization": f"Bearer {theirs.tenant.key}"}
        case.call_and_validate(headers=headers, excluded_checks=[*EXCLUDED, *excluded_for(case)])

    return answers_as_the_document_says


for _endpoint in tenant_endpoints():
    _words = "_".join(re.findall(r"[a-z]+", f"{_endpoint.method.lower()} {_endpoint.path}"))
    globals()[f"test_{_words}_answers_as_the_document_says"] = conformance(_endpoint)
