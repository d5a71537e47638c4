"""Cursor lists: each row once, whatever comes and goes between the pages."""

import base64
import secrets
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.kernel.clock import database_now
from tenants.models import ApiKey
from tenants.scope import tenant_transaction
from tests.support.bodies import body_of
from tests.support.endpoints import Endpoint, tenant_endpoints
from tests.support.rows import one_of_each, word_of

PATH = "/v1/api-keys"
LISTS = [endpoint for endpoint in tenant_endpoints() if endpoint.method == "GET"]


def add(tenant, count: int) -> list[str]:
    """Keys that were all made in one moment, by one statement."""
    moment = database_now()
    with tenant_transaction(tenant.id):
        rows = ApiKey.objects.bulk_create(
            ApiKey(
                tenant_id=tenant.id,
                name="One of many",
                prefix=secrets.token_hex(5),
                secret_sha256=secrets.token_bytes(32),
                scopes=["read"],
                created_at=moment,
            )
            for _ in range(count)
        )
    return [str(row.id) for row in rows]


def remove(tenant, ids: list[str]) -> None:
    with tenant_transaction(tenant.id):
        ApiKey.objects.filter(id__in=ids).delete()


def walk(client, limit: int, between: Callable[[int], Any] = lambda _: None) -> list[list[str]]:
    """The ids of each page; `between` is called with the number of pages read so far."""
    pages: list[list[str]] = []
    address = f"{PATH}?limit={limit}"
    while True:
        answer = client.get(address).json()
        pages.append([row["id"] for row in answer["data"]])
        if answer["next"] is None:
            return pages
        address = f"{PATH}?limit={limit}&cursor={answer['next']}"
        between(len(pages))


def flat(pages: list[list[str]]) -> list[str]:
    return [identity for page in pages for identity in page]


@pytest.fixture
def many(tenant) -> list[str]:
    """501 keys, the tenant's first among them."""
    first = [str(row.id) for row in ApiKey.everywhere.filter(tenant_id=tenant.id)]
    return first + add(tenant, 500)


def test_five_hundred_rows_of_one_moment_are_each_shown_once_in_order(tenant, many, api):
    pages = walk(api(tenant), 50)
    assert [len(page) for page in pages] == [50] * 10 + [1]
    assert flat(pages) == sorted(many)


def test_the_last_page_that_is_just_full_has_no_next(tenant, many, api):
    remove(tenant, many[-1:])
    assert [len(page) for page in walk(api(tenant), 50)] == [50] * 10
    assert [len(page) for page in walk(api(tenant), 200)] == [200, 200, 100]


def test_rows_that_are_added_meanwhile_come_last_and_no_row_is_shown_twice(tenant, many, api):
    added: list[str] = []
    pages = walk(api(tenant), 50, lambda read: added.extend(add(tenant, 7)) if read <= 3 else None)
    assert flat(pages) == sorted(many) + sorted(added)


def test_rows_that_vanish_meanwhile_cost_no_other_row_its_turn(tenant, many, api):
    ordered = sorted(many)
    gone: set[str] = set()

    def between(read: int) -> None:
        # of what was shown: the row the cursor stands on too; and of what was not
        doomed = [ordered[read * 50 - 1], ordered[read * 50 - 25], ordered[read * 50], ordered[read * 50 + 1]]
        doomed = [identity for identity in doomed if identity != ordered[0]][:4] if read < 9 else []
        gone.update(doomed)
        remove(tenant, doomed)

    shown = flat(walk(api(tenant), 50, between))
    assert len(gone) == 32
    assert len(shown) == len(set(shown))
    assert set(ordered) - gone <= set(shown)
    assert shown == sorted(shown)


def test_a_walk_ends_though_every_row_vanish(tenant, many, api):
    answer = api(tenant).get(f"{PATH}?limit=50").json()
    remove(tenant, sorted(many)[1:])
    rest = api(tenant).get(f"{PATH}?limit=50&cursor={answer['next']}").json()
    assert rest == {"data": [], "next": None}


def test_the_default_is_fifty(tenant, many, api):
    assert len(api(tenant).get(PATH).json()["data"]) == 50
    assert len(api(tenant).get(f"{PATH}?limit=1").json()["data"]) == 1


BAD_LIMITS = [
    "0",
    "201",
    "-1",
    "abc",
    "",
    "1.0",
    "1e2",
    "+5",
    " 5",
    "５",
    "１２",
    "0x10",
    "10" * 20,
    "5%00",
    "²",
    "1_0",
]


def lists(client, ids: dict[str, Any]) -> list[str]:
    """The addresses of all lists."""
    found = []
    for endpoint in LISTS:
        address = endpoint.at(**ids)
        answer = client.get(address)
        assert answer.status_code == 200, endpoint
        if answer.headers["Content-Type"] == "application/json" and "next" in answer.json():
            found.append(address)
    return found


@pytest.fixture
def all_lists(tenant, api) -> list[str]:
    ids = {f"{word_of(model)}_id": row.id for model, row in one_of_each(tenant.id).items()}
    found = lists(api(tenant), ids)
    assert {"/v1/api-keys", "/v1/events", "/v1/holds"} <= set(found)
    return found


def assert_refused(answer, parameter: str) -> None:
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid")
    (fault,) = answer.json()["errors"]
    assert set(fault) == {"parameter", "code", "detail"}
    assert fault["parameter"] == parameter


def test_every_list_refuses_a_limit_that_is_none(all_lists, tenant, api):
    for address in all_lists:
        for limit in BAD_LIMITS:
            assert_refused(api(tenant).get(f"{address}?limit={limit}"), "limit")
        for limit in ("1", "200"):
            assert api(tenant).get(f"{address}?limit={limit}").status_code == 200


BAD_CURSORS = ["", "x", "a.b", ".", "...", "%00", "%ff", "null", "A" * 10_000, "\u0661", "1:1", "=", "e30.e30"]


def test_every_list_refuses_a_cursor_that_it_did_not_give_out(all_lists, tenant, api):
    for address in all_lists:
        for cursor in BAD_CURSORS:
            assert_refused(api(tenant).get(f"{address}?cursor={cursor}"), "cursor")


def test_a_cursor_that_was_tampered_with_is_none(tenant, many, api):
    cursor = api(tenant).get(f"{PATH}?limit=50").json()["next"]
    position, signature = cursor.rsplit(".", 1)
    elsewhere = base64.urlsafe_b64encode(bytes(16)).decode().rstrip("=")
    tampered = [
        f"{elsewhere}.{signature}",
        f"{position}.{signature[:-1]}",
        f"{position}.{signature[::-1]}",
        position,
        f"{position}.",
        cursor.swapcase(),
        f"{cursor}x",
        f"x{cursor}",
    ]
    for text in tampered:
        assert_refused(api(tenant).get(f"{PATH}?cursor={text}"), "cursor")
    assert api(tenant).get(f"{PATH}?cursor={cursor}").status_code == 200


def test_a_cursor_of_another_tenant_or_another_list_is_none(make_tenant, api, make_event):
    a, b = make_tenant(), make_tenant()
    for tenant in (a, b):
        add(tenant, 2)
        for _ in range(2):
            make_event(tenant)
    cursor = api(b).get(f"{PATH}?limit=1").json()["next"]
    assert cursor is not None
    assert_refused(api(a).get(f"{PATH}?cursor={cursor}"), "cursor")
    assert_refused(api(b).get(f"/v1/events?cursor={cursor}"), "cursor")
    assert api(b).get(f"{PATH}?cursor={cursor}").status_code == 200


def test_a_list_of_one_events_units_takes_no_cursor_of_anothers(tenant, api, make_event, make_units):
    first, second = make_event(tenant), make_event(tenant)
    for event in (first, second):
        make_units(tenant, event, 2)
    cursor = api(tenant).get(f"/v1/events/{first.id}/units?limit=1").json()["next"]
    assert_refused(api(tenant).get(f"/v1/events/{second.id}/units?cursor={cursor}"), "cursor")


def test_units_are_listed_oldest_first_and_each_once(tenant, api, make_event, make_units):
    event = make_event(tenant)
    units = make_units(tenant, event, 120)
    shown, address = [], f"/v1/events/{event.id}/units?limit=50"
    while address:
        answer = api(tenant).get(address).json()
        shown += [row["id"] for row in answer["data"]]
        address = answer["next"] and f"/v1/events/{event.id}/units?limit=50&cursor={answer['next']}"
    assert shown == [str(unit.id) for unit in units]


@pytest.mark.parametrize("endpoint", [e for e in LISTS if not e.parameters], ids=str)
@pytest.mark.parametrize("query", ["nonsense=1", "limit=5&limit=6", "a[]=1", "%00=1", "=", "&&&", "%ff=%ff"])
def test_a_strange_query_is_no_fault_of_ours(endpoint: Endpoint, query, tenant, api):
    assert api(tenant).get(f"{endpoint.path}?{query}").status_code in (200, 422)
    assert body_of(endpoint, {}) is None


@pytest.mark.parametrize(
    ("address", "parameter"),
    [
        ("/v1/holds?event=x", "event"),
        ("/v1/holds?event=", "event"),
        (f"/v1/holds?event={2**63}", "event"),
        ("/v1/holds?status=reserved", "status"),
        ("/v1/holds?status=ACTIVE", "status"),
        ("/v1/holds?status=", "status"),
        ("/v1/holds?customer=%00", "customer"),
    ],
)
def test_a_filter_that_can_not_be_is_refused_by_name(address, parameter, tenant, api):
    assert_refused(api(tenant).get(address), parameter)
