"""`/v1/events/{id}/availability`: figures by section, an entity tag, about a second of cache."""

import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.contract import expect
from tests.contract.sale import Sale
from tests.reservations.state import sell
from tests.support.client import Api

CACHE_SECONDS_AT_MOST = 3.0


def ask(sale: Sale, **headers: str) -> Any:
    return sale.api.get(f"{sale.path}/availability", headers=headers)


def later(sale: Sale, etag: str) -> Any:
    """The answer once it is another than the one of this tag; fails where that takes longer than the cache may."""
    deadline = time.monotonic() + CACHE_SECONDS_AT_MOST
    while time.monotonic() < deadline:
        answer = ask(sale)
        if answer.headers["etag"] != etag:
            return answer
        time.sleep(0.05)
    raise AssertionError(f"still {expect.story(answer)}")


def count(section: str | None, total: int, **figures: int) -> dict[str, Any]:
    return {"section": section, "total": total, "available": 0, "held": 0, "sold": 0, "blocked": 0} | figures


def test_an_event_without_units_has_no_sections(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(0, status="draft")
    shown = expect.body(ask(sale))
    expect.moment(shown["as_of"])
    assert expect.apart_from(shown, "as_of") == {
        "event": str(sale.event.id),
        "status": "draft",
        "sections": [],
        "pools": [],
        "max_age_seconds": 1,
    }


def test_each_section_counts_its_units_by_status(make_sale: Callable[..., Sale], make_units: Any) -> None:
    sale = make_sale(5, section="Stalls")
    make_units(sale.tenant, sale.event, labels=["B-1"], section="Balcony")
    make_units(sale.tenant, sale.event, labels=["loose"])
    sale.hold(labels=["U-1", "U-2"])
    sell(sale.tenant.id, sale.hold(labels=["U-3"])["id"])
    expect.body(sale.api.post(f"{sale.path}/units/block", {"labels": ["U-4"]}))
    shown = expect.body(ask(sale))
    assert sorted(shown["sections"], key=lambda row: row["section"] or "") == [
        count(None, 1, available=1),
        count("Balcony", 1, available=1),
        count("Stalls", 5, available=1, held=2, sold=1, blocked=1),
    ]


def test_units_on_hold_are_not_shown_as_available_and_come_back_when_their_time_is_over(
    make_sale: Callable[..., Sale], shift_clock: Callable[[float], None]
) -> None:
    sale = make_sale(2)
    sale.hold(quantity=2)
    first = ask(sale)
    assert expect.body(first)["sections"] == [count(None, 2, held=2)]
    shift_clock(601)
    assert expect.body(later(sale, first.headers["etag"]))["sections"] == [count(None, 2, available=2)]


def test_the_answer_is_dated_by_the_database(sale: Sale, shift_clock: Callable[[float], None]) -> None:
    shift_clock(86_400)
    held = sale.hold(quantity=1)
    assert expect.moment(expect.body(ask(sale))["as_of"]) >= expect.moment(held["created_at"])


def test_the_tag_of_an_answer_is_good_for_a_304(sale: Sale) -> None:
    first = ask(sale)
    expect.body(first)
    etag = first.headers["etag"]
    assert etag.startswith('"')
    assert etag.endswith('"')
    for given in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        answer = ask(sale, **{"If-None-Match": given})
        assert answer.status_code == 304, expect.story(answer)
        assert answer.content == b""
        assert answer.headers["etag"] == etag
        assert answer.headers["x-request-id"]
    for given in ('"other"', etag.strip('"'), "", "W/", "é"):
        assert expect.body(ask(sale, **{"If-None-Match": given})) == expect.body(first)


def test_a_304_claims_no_length_that_the_body_would_not_have(sale: Sale) -> None:
    whole = ask(sale)
    answer = ask(sale, **{"If-None-Match": whole.headers["etag"]})
    assert answer.headers.get("content-length") in (None, whole.headers["content-length"])


def test_the_tag_is_of_the_figures_and_not_of_the_time(sale: Sale) -> None:
    first = expect.body(ask(sale))
    etag = ask(sale).headers["etag"]
    deadline = time.monotonic() + CACHE_SECONDS_AT_MOST
    while (now := ask(sale)).json()["as_of"] == first["as_of"]:
        assert time.monotonic() < deadline, "kept for longer than about a second"
        time.sleep(0.05)
    assert now.headers["etag"] == etag
    assert expect.apart_from(now.json(), "as_of") == expect.apart_from(first, "as_of")
    assert ask(sale, **{"If-None-Match": etag}).status_code == 304


def test_the_tag_changes_with_a_figure_and_with_the_status(sale: Sale) -> None:
    first = ask(sale)
    sale.hold(quantity=1)
    second = later(sale, first.headers["etag"])
    assert expect.body(second)["sections"] == [count(None, 3, available=2, held=1)]
    assert ask(sale, **{"If-None-Match": first.headers["etag"]}).status_code == 200
    expect.body(sale.api.post(f"{sale.path}/pause"))
    third = later(sale, second.headers["etag"])
    assert expect.body(third)["status"] == "paused"
    assert expect.body(third)["sections"] == expect.body(second)["sections"]
    assert third.headers["etag"] not in (first.headers["etag"], second.headers["etag"])


def test_a_kept_answer_is_not_given_to_another_tenant(sale: Sale, client: Api) -> None:
    expect.body(ask(sale))
    theirs = expect.problem(client.get(f"{sale.path}/availability"), 404, "not-found")
    unknown = expect.problem(client.get(f"/v1/events/{uuid4()}/availability"), 404, "not-found")
    assert expect.apart_from(theirs, "request_id") == expect.apart_from(unknown, "request_id")
    expect.body(ask(sale))


def test_an_unknown_event_is_not_kept_as_unknown(sale: Sale, client: Api) -> None:
    expect.problem(client.get(f"{sale.path}/availability"), 404, "not-found")
    assert expect.body(ask(sale))["event"] == str(sale.event.id)


@pytest.mark.parametrize("header", ['"' + "x" * 8000 + '"', ",,,,", "\x7f"])
def test_a_strange_tag_is_answered_in_full(sale: Sale, header: str) -> None:
    expect.body(ask(sale, **{"If-None-Match": header}))
