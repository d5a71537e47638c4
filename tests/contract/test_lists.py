"""Lists: pages, cursors and their refusals, for events, units and holds alike."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from reservations.models import Hold, Unit
from tenants.scope import tenant_transaction
from tests.contract import expect
from tests.contract.sale import EVENT, Sale
from tests.support.client import Api

UNITS = 500


def walk(client: Api, path: str, limit: int, between: Callable[[int], None] | None = None) -> list[Any]:
    """All rows of a list, page by page; `between` is called with the number of pages read."""
    rows: list[Any] = []
    separator = "&" if "?" in path else "?"
    following, pages = "", 0
    while following is not None:
        cursor = f"&cursor={following}" if following else ""
        page = expect.body(client.get(f"{path}{separator}limit={limit}{cursor}"))
        assert set(page) == {"data", "next"}
        assert len(page["data"]) <= limit
        assert len(page["data"]) == limit or page["next"] is None
        rows += page["data"]
        following, pages = page["next"], pages + 1
        assert pages < 1000, "the walk does not end"
        if between and following:
            between(pages)
    return rows


@pytest.fixture
def hall(make_sale: Callable[..., Sale]) -> Sale:
    """500 units, made by one statement, so at one moment."""
    return make_sale(UNITS)


def test_a_walk_shows_every_row_once_and_oldest_first(hall: Sale) -> None:
    rows = walk(hall.api, f"{hall.path}/units", 50)
    assert [row["label"] for row in rows] == hall.labels
    assert len({row["id"] for row in rows}) == UNITS


@pytest.mark.parametrize("limit", [77, 100, 200])
def test_a_walk_shows_the_same_rows_whatever_the_size_of_its_pages(hall: Sale, limit: int) -> None:
    assert [row["label"] for row in walk(hall.api, f"{hall.path}/units", limit)] == hall.labels


def test_a_walk_survives_rows_that_come_and_go_meanwhile(hall: Sale) -> None:
    gone: list[str] = []
    come: list[str] = []

    def disturb(pages: int) -> None:
        # the last row shown, on which the cursor stands, one that was shown, and two that were not
        places = [pages * 50 - 1, pages * 50 - 20, pages * 50 + 5, UNITS - pages]
        labels = [hall.labels[place] for place in places]
        gone.extend(labels)
        come.append(f"new-{pages}")
        with tenant_transaction(hall.tenant.id):
            Unit.objects.filter(event_id=hall.event.id, label__in=labels).delete()
        expect.body(hall.api.post(f"{hall.path}/units", {"units": [{"label": f"new-{pages}"}]}), 201)

    shown = [row["label"] for row in walk(hall.api, f"{hall.path}/units", 50, disturb)]
    assert len(shown) == len(set(shown))
    surviving = [label for label in hall.labels if label not in gone]
    assert [label for label in shown if label in surviving] == surviving
    assert [label for label in shown if label in come] == come


def test_a_walk_of_available_units_survives_units_that_are_held_meanwhile(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(60)

    def disturb(pages: int) -> None:
        sale.hold(labels=[sale.labels[pages * 10 - 1], sale.labels[pages * 10 + 3]], customer=f"c{pages}")

    shown = [row["label"] for row in walk(sale.api, f"{sale.path}/units?status=available", 10, disturb)]
    assert len(shown) == len(set(shown))
    assert {label for label, status in sale.statuses().items() if status == "available"} <= set(shown)


def test_lists_of_holds_and_events_walk_the_same_way(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(7)
    made = [sale.hold(quantity=1)["id"] for _ in range(7)]
    for limit in (1, 3, 7):
        assert [row["id"] for row in walk(sale.api, "/v1/holds", limit)] == made
        assert [row["id"] for row in walk(sale.api, f"/v1/holds?event={sale.event.id}&status=active", limit)] == made
    events = [str(sale.event.id)]
    events += [expect.body(sale.api.post("/v1/events", EVENT | {"slug": f"e-{n}"}), 201)["id"] for n in range(4)]
    assert [row["id"] for row in walk(sale.api, "/v1/events", 2)] == events


def test_the_status_of_holds_in_a_list_is_the_one_that_their_time_gives_them(
    make_sale: Callable[..., Sale], shift_clock: Callable[[float], None]
) -> None:
    sale = make_sale(4)
    short = [sale.hold(quantity=1, ttl_seconds=60)["id"] for _ in range(2)]
    long = [sale.hold(quantity=1, ttl_seconds=600)["id"] for _ in range(2)]
    assert [hold["id"] for hold in sale.holds("&status=active")] == short + long
    shift_clock(61)
    assert [(hold["id"], hold["status"]) for hold in sale.holds("&status=active")] == [(id_, "active") for id_ in long]
    assert [(hold["id"], hold["status"]) for hold in sale.holds("&status=expired")] == [
        (id_, "expired") for id_ in short
    ]
    assert [hold["status"] for hold in sale.holds()] == ["expired", "expired", "active", "active"]
    assert [row["id"] for row in walk(sale.api, "/v1/holds?status=expired", 1)] == short


def test_fifty_rows_are_a_page_unless_another_size_is_asked(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(51)
    page = expect.body(sale.api.get(f"{sale.path}/units"))
    assert [row["label"] for row in page["data"]] == sale.labels[:50]
    rest = expect.body(sale.api.get(f"{sale.path}/units?cursor={page['next']}"))
    assert ([row["label"] for row in rest["data"]], rest["next"]) == (sale.labels[50:], None)


def test_a_page_that_ends_with_the_last_row_has_no_next(sale: Sale) -> None:
    assert expect.body(sale.api.get(f"{sale.path}/units?limit=3"))["next"] is None
    assert expect.body(sale.api.get(f"{sale.path}/units?limit=2"))["next"] is not None


def test_a_cursor_whose_rows_are_all_gone_is_an_empty_last_page(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(3)
    following = expect.body(sale.api.get(f"{sale.path}/units?limit=1"))["next"]
    with tenant_transaction(sale.tenant.id):
        Unit.objects.filter(event_id=sale.event.id).delete()
    assert expect.body(sale.api.get(f"{sale.path}/units?cursor={following}")) == {"data": [], "next": None}


LISTS = ("/v1/events", "/v1/holds", "units")


def path_of(sale: Sale, name: str) -> str:
    return f"{sale.path}/units" if name == "units" else name


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("limit", ["0", "201", "-1", "1.0", "1e1", "", "ten", "10" * 15, "%D9%A1", "+5", " 5", "0x10"])
def test_a_limit_out_of_range_is_named(sale: Sale, name: str, limit: str) -> None:
    assert expect.parameters(sale.api.get(f"{path_of(sale, name)}?limit={limit}")) == ["limit"]


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("limit", [1, 200])
def test_the_ends_of_the_range_of_a_limit_are_inside(sale: Sale, name: str, limit: int) -> None:
    expect.body(sale.api.get(f"{path_of(sale, name)}?limit={limit}"))


@pytest.mark.parametrize("name", LISTS)
def test_what_is_no_cursor_of_this_list_is_named(make_sale: Callable[..., Sale], name: str) -> None:
    sale = make_sale(2)
    for _ in range(2):
        sale.hold(quantity=1)
    sale.api.post("/v1/events", EVENT)
    path = path_of(sale, name)
    good = expect.body(sale.api.get(f"{path}?limit=1"))["next"]
    middle = len(good) // 2
    tampered = [
        good[:-1],
        good + "A",
        "A" + good,
        good[:middle] + ("A" if good[middle] != "A" else "B") + good[middle + 1 :],
    ]
    for wrong in (*tampered, good.swapcase(), "", "%00", "x", "%C3%A9", ".", "a.b", "9" * 5000, str(UUID(int=0))):
        assert expect.parameters(sale.api.get(f"{path}?cursor={wrong}")) == ["cursor"], wrong
    assert len(expect.body(sale.api.get(f"{path}?cursor={good}"))["data"]) == 1


def test_a_cursor_of_one_list_is_none_of_another(make_sale: Callable[..., Sale]) -> None:
    first = make_sale(2)
    second = make_sale(2, tenant=first.tenant)
    for _ in range(2):
        first.hold(quantity=1)
    paths = [f"{first.path}/units", f"{second.path}/units", "/v1/holds", "/v1/events"]
    for path in paths:
        good = expect.body(first.api.get(f"{path}?limit=1"))["next"]
        for other in paths:
            answer = first.api.get(f"{other}?cursor={good}")
            if other == path:
                expect.body(answer)
            else:
                assert expect.parameters(answer) == ["cursor"]


@pytest.mark.parametrize("path", ["/v1/events", "/v1/holds"])
def test_a_cursor_of_one_tenant_is_none_of_another(make_sale: Callable[..., Sale], client: Api, path: str) -> None:
    sale = make_sale(2)
    for _ in range(2):
        sale.hold(quantity=1)
    sale.api.post("/v1/events", EVENT)
    good = expect.body(sale.api.get(f"{path}?limit=1"))["next"]
    assert expect.parameters(client.get(f"{path}?cursor={good}")) == ["cursor"]


def test_a_cursor_shows_no_row_id_that_a_client_could_not_see(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(3)
    page = expect.body(sale.api.get(f"{sale.path}/units?limit=1"))
    assert sale.ids[1] not in page["next"]
    assert all(character.isalnum() or character in "-_.~" for character in page["next"])


def test_no_list_shows_anything_of_another_tenant(make_sale: Callable[..., Sale], client: Api) -> None:
    sale = make_sale(1)
    sale.hold(quantity=1)
    for path in ("/v1/events", "/v1/holds", f"/v1/holds?event={sale.event.id}", "/v1/holds?customer=ada@example.org"):
        assert expect.body(client.get(path)) == {"data": [], "next": None}


def test_holds_made_at_one_moment_are_walked_without_a_gap(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(1)
    with tenant_transaction(sale.tenant.id):
        Hold.objects.bulk_create(
            Hold(
                tenant_id=sale.tenant.id,
                event=sale.event,
                customer="ada",
                customer_key=b"k" * 32,
                quantity=1,
                items=[],
                total_amount=0,
            )
            for _ in range(120)
        )
    rows = walk(sale.api, "/v1/holds?status=expired", 25)
    assert len({row["id"] for row in rows}) == len(rows) == 120
