"""Every way in which a hold is refused, and that a refusal leaves nothing behind."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from reservations.models import Hold, HoldStatus, Unit
from tenants.scope import tenant_transaction
from tests.contract import expect
from tests.contract.sale import Sale
from tests.reservations.state import OthersLock, rows_of, sell
from tests.support.client import Api


def zulu(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


UNTOUCHED = {"holds": 0, "units": {"available": 3}}


def refused_untouched(sale: Sale, answer: Any, *places: str) -> None:
    """A 422 at these places, and no row of the tenant has changed."""
    assert expect.pointers(answer) == list(places)
    assert rows_of(sale.tenant.id) == UNTOUCHED


# --- what can not be asked -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["-5", "0", "1.5", '"2"', "true", "false", "null", "[]", "{}", "1e3", "1.0", "-0"])
def test_a_quantity_is_a_positive_integer(sale: Sale, text: str) -> None:
    sent = f'{{"event":"{sale.event.id}","customer":"ada","quantity":{text}}}'
    refused_untouched(sale, sale.api.post("/v1/holds", sent.encode()), "/quantity")


@pytest.mark.parametrize("text", [str(2**31), str(2**63), str(2**64), str(10**30), "1e308", "-1e308"])
def test_a_quantity_that_is_huge_is_refused(sale: Sale, text: str) -> None:
    sent = f'{{"event":"{sale.event.id}","customer":"ada","quantity":{text}}}'
    refused_untouched(sale, sale.api.post("/v1/holds", sent.encode()), "/quantity")


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e400", "0x10", "1_000", "+1", "01", ".5", "5."])
def test_a_quantity_that_is_no_json_is_malformed(sale: Sale, text: str) -> None:
    sent = f'{{"event":"{sale.event.id}","customer":"ada","quantity":{text}}}'
    expect.problem(sale.api.post("/v1/holds", sent.encode()), 400, "malformed")
    assert rows_of(sale.tenant.id) == UNTOUCHED


@pytest.mark.parametrize("name", ["event", "customer"])
def test_what_a_hold_needs_is_asked_for_by_name(sale: Sale, name: str) -> None:
    body = {"event": str(sale.event.id), "customer": "ada", "quantity": 1}
    del body[name]
    refused_untouched(sale, sale.api.post("/v1/holds", body), f"/{name}")


def test_a_hold_of_nothing_is_refused(sale: Sale) -> None:
    assert expect.pointers(sale.ask())
    assert rows_of(sale.tenant.id) == UNTOUCHED


@pytest.mark.parametrize("ways", [("units", "labels"), ("units", "quantity"), ("labels", "quantity"), None])
def test_two_ways_to_choose_are_refused_and_each_is_named(sale: Sale, ways: tuple[str, ...] | None) -> None:
    choice = {"units": sale.ids[:1], "labels": sale.labels[1:2], "quantity": 1}
    ways = ways or tuple(choice)
    answer = sale.ask(**{way: choice[way] for way in ways})
    refused_untouched(sale, answer, *(f"/{way}" for way in ways))


@pytest.mark.parametrize("way", ["units", "labels"])
def test_a_section_goes_with_a_quantity_alone(make_sale: Callable[..., Sale], way: str) -> None:
    sale = make_sale(3, section="Stalls")
    choice = {"units": sale.ids[:1], "labels": sale.labels[:1]}[way]
    refused_untouched(sale, sale.ask(**{way: choice}, section="Stalls"), "/section")


@pytest.mark.parametrize("way", ["units", "labels"])
@pytest.mark.parametrize("choice", [[], None, {}, "U-1", 1, True])
def test_a_choice_is_a_list_with_something_in_it(sale: Sale, way: str, choice: Any) -> None:
    refused_untouched(sale, sale.ask(**{way: choice}), f"/{way}")


@pytest.mark.parametrize(
    ("way", "wrong"),
    [
        ("units", 1),
        ("units", None),
        ("units", "U-1"),
        ("units", ""),
        ("units", []),
        ("units", "9223372036854775808"),
        ("units", "{}"),
        ("labels", 1),
        ("labels", None),
        ("labels", ""),
        ("labels", "x" * 61),
        ("labels", "a\0"),
        ("labels", ["U-2"]),
    ],
)
def test_each_choice_has_its_form(sale: Sale, way: str, wrong: Any) -> None:
    good = {"units": sale.ids, "labels": sale.labels}[way][0]
    refused_untouched(sale, sale.ask(**{way: [good, wrong]}), f"/{way}/1")


def test_ids_have_one_form_and_no_braces_or_prefix(sale: Sale) -> None:
    bare = sale.ids[0]
    for wrong in (bare.replace("-", ""), f"{{{bare}}}", f"urn:uuid:{bare}", f" {bare}", int(bare.replace("-", ""), 16)):
        refused_untouched(sale, sale.ask(units=[wrong]), "/units/0")
        refused_untouched(sale, sale.ask(event=wrong, quantity=1), "/event")


@pytest.mark.parametrize("way", ["units", "labels"])
def test_a_unit_that_is_asked_for_twice_is_named(sale: Sale, way: str) -> None:
    one, two, _ = {"units": sale.ids, "labels": sale.labels}[way]
    answer = sale.ask(**{way: [one, two, one, two]})
    refused_untouched(sale, answer, f"/{way}/2", f"/{way}/3")


def test_one_id_in_two_spellings_is_asked_for_twice(sale: Sale) -> None:
    refused_untouched(sale, sale.ask(units=[sale.ids[0], sale.ids[0].upper()]), "/units/1")


@pytest.mark.parametrize("name", ["unit", "Quantity", "status", "price", "id", "expires_at", "order", "tenant"])
def test_an_unknown_member_is_refused(sale: Sale, name: str) -> None:
    refused_untouched(sale, sale.ask(quantity=1, **{name: 1}), f"/{name}")


@pytest.mark.parametrize("section", ["", "x" * 41, 5, [], "a\0"])
def test_a_section_is_a_text(sale: Sale, section: Any) -> None:
    refused_untouched(sale, sale.ask(quantity=1, section=section), "/section")


# --- what is not there -----------------------------------------------------------------------------------------------


def test_unknown_units_are_named_and_the_known_ones_stay_free(sale: Sale) -> None:
    answer = sale.ask(units=[str(uuid4()), sale.ids[0], str(uuid4())])
    assert expect.faults(answer) == {"/units/0": "unknown", "/units/2": "unknown"}
    assert rows_of(sale.tenant.id) == UNTOUCHED


def test_unknown_labels_are_named_and_the_known_ones_stay_free(sale: Sale) -> None:
    answer = sale.ask(labels=["nowhere", "U-1", "u-2"])
    assert expect.faults(answer) == {"/labels/0": "unknown", "/labels/2": "unknown"}
    assert rows_of(sale.tenant.id) == UNTOUCHED


def test_an_unknown_section_is_named(sale: Sale) -> None:
    assert expect.faults(sale.ask(quantity=1, section="Balcony")) == {"/section": "unknown"}
    assert rows_of(sale.tenant.id) == UNTOUCHED


def test_an_unknown_event_is_named(sale: Sale) -> None:
    assert expect.faults(sale.ask(event=str(uuid4()), quantity=1)) == {"/event": "unknown"}
    assert rows_of(sale.tenant.id) == UNTOUCHED


def test_a_unit_of_another_event_of_the_same_tenant_is_unknown(sale: Sale, make_sale: Callable[..., Sale]) -> None:
    other = make_sale(["elsewhere"], tenant=sale.tenant)
    assert expect.faults(sale.ask(units=[sale.ids[0], other.ids[0]])) == {"/units/1": "unknown"}
    assert expect.faults(sale.ask(labels=["elsewhere"])) == {"/labels/0": "unknown"}
    assert rows_of(sale.tenant.id) == {"holds": 0, "units": {"available": 4}}


def without(document: dict[str, Any], *texts: str) -> str:
    """The document as text, without its request id and without these ids."""
    shown = str(expect.apart_from(document, "request_id"))
    for text in texts:
        shown = shown.replace(text, "…")
    return shown


def test_another_tenants_event_is_refused_exactly_as_an_unknown_one(sale: Sale, make_sale: Callable[..., Sale]) -> None:
    other, unknown = make_sale(3), str(uuid4())
    theirs = other.ask(event=str(sale.event.id), quantity=1)
    nobodys = other.ask(event=unknown, quantity=1)
    assert expect.faults(theirs) == {"/event": "unknown"}
    assert without(theirs.json(), str(sale.event.id)) == without(nobodys.json(), unknown)
    assert rows_of(sale.tenant.id) == rows_of(other.tenant.id) == UNTOUCHED


@pytest.mark.parametrize("status", ["available", "held", "sold"])
def test_another_tenants_unit_is_refused_exactly_as_an_unknown_one(
    sale: Sale, make_sale: Callable[..., Sale], status: str
) -> None:
    other, unknown = make_sale(3), str(uuid4())
    if status != "available":
        hold = sale.hold(labels=["U-1"])
        if status == "sold":
            sell(sale.tenant.id, hold["id"])
    before = rows_of(sale.tenant.id)
    theirs = other.ask(units=[other.ids[0], sale.ids[0]])
    nobodys = other.ask(units=[other.ids[0], unknown])
    assert expect.faults(theirs) == {"/units/1": "unknown"}
    assert without(theirs.json(), sale.ids[0]) == without(nobodys.json(), unknown)
    assert rows_of(other.tenant.id) == UNTOUCHED
    assert rows_of(sale.tenant.id) == before


# --- what is not free ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["units", "labels"])
def test_each_unit_that_is_not_free_is_told_with_its_status_and_nothing_is_held(
    make_sale: Callable[..., Sale], way: str
) -> None:
    sale = make_sale(5)
    sale.hold(labels=["U-2"])
    sell(sale.tenant.id, sale.hold(labels=["U-3"])["id"])
    expect.body(sale.api.post(f"{sale.path}/units/block", {"labels": ["U-4"]}))
    before = rows_of(sale.tenant.id)
    answer = sale.ask(**{way: {"units": sale.ids, "labels": sale.labels}[way]}, customer="bob")
    document = expect.problem(answer, 409, "units-unavailable", {"unavailable"})
    assert document["unavailable"] == [
        {"unit": sale.ids[1], "label": "U-2", "status": "held"},
        {"unit": sale.ids[2], "label": "U-3", "status": "sold"},
        {"unit": sale.ids[3], "label": "U-4", "status": "blocked"},
    ]
    assert "retry-after" not in answer.headers
    assert rows_of(sale.tenant.id) == before


def test_ones_own_unit_is_not_free_either(sale: Sale) -> None:
    sale.hold(labels=["U-1"])
    document = expect.problem(sale.ask(labels=["U-1", "U-2"]), 409, "units-unavailable", {"unavailable"})
    assert document["unavailable"] == [{"unit": sale.ids[0], "label": "U-1", "status": "held"}]
    assert sale.statuses() == {"U-1": "held", "U-2": "available", "U-3": "available"}


def test_fewer_than_asked_is_sold_out_and_says_how_many_are_left(sale: Sale) -> None:
    sale.hold(labels=["U-1"])
    before = rows_of(sale.tenant.id)
    answer = sale.ask(quantity=3)
    assert expect.problem(answer, 409, "sold-out", {"available"})["available"] == 2
    assert "retry-after" not in answer.headers
    assert rows_of(sale.tenant.id) == before
    sale.hold(quantity=2)
    assert expect.problem(sale.ask(quantity=1), 409, "sold-out", {"available"})["available"] == 0


def test_held_sold_and_blocked_units_are_not_left(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(4)
    sale.hold(labels=["U-1"])
    sell(sale.tenant.id, sale.hold(labels=["U-2"])["id"])
    expect.body(sale.api.post(f"{sale.path}/units/block", {"labels": ["U-3"]}))
    assert expect.problem(sale.ask(quantity=2), 409, "sold-out", {"available"})["available"] == 1
    assert sale.hold(quantity=1)["items"][0]["label"] == "U-4"


def test_an_event_without_units_is_sold_out(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(0)
    assert expect.problem(sale.ask(quantity=1), 409, "sold-out", {"available"})["available"] == 0


def test_a_unit_that_somebody_has_locked_is_contention_which_a_retry_cures(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(1)
    headers = {"Idempotency-Key": "under-a-lock"}
    with OthersLock(sale.tenant.id, sale.units[0].id):
        answer = sale.ask(quantity=1, headers=headers)
    expect.problem(answer, 409, "contention")
    assert int(answer.headers["retry-after"]) >= 1
    assert rows_of(sale.tenant.id) == {"holds": 0, "units": {"available": 1}}
    again = sale.ask(quantity=1, headers=headers)
    expect.body(again, 201)
    assert "idempotency-replayed" not in again.headers


def test_a_wait_for_a_named_unit_ends_as_contention(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(1)
    with OthersLock(sale.tenant.id, sale.units[0].id):
        answer = sale.ask(labels=["U-1"])
    expect.problem(answer, 409, "contention")
    assert int(answer.headers["retry-after"]) >= 1
    assert rows_of(sale.tenant.id) == {"holds": 0, "units": {"available": 1}}


# --- what is not on sale ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["draft", "paused", "closed"])
def test_an_event_that_is_not_on_sale_says_why(make_sale: Callable[..., Sale], status: str) -> None:
    sale = make_sale(3, status=status)
    for choice in ({"quantity": 1}, {"labels": ["U-1"]}, {"units": sale.ids[:1]}):
        document = expect.problem(sale.ask(**choice), 409, "not-on-sale", {"reason"})
        assert document["reason"] == status
    assert rows_of(sale.tenant.id) == UNTOUCHED


def test_an_event_sells_from_its_opening_to_just_before_its_close(
    make_sale: Callable[..., Sale], shift_clock: Callable[[float], None]
) -> None:
    sale = make_sale(3)
    now = expect.moment(sale.hold(labels=["U-1"])["created_at"])
    window = {"sales_open_at": zulu(now + timedelta(hours=1)), "sales_close_at": zulu(now + timedelta(hours=2))}
    expect.body(sale.api.patch(sale.path, window))
    assert expect.problem(sale.ask(labels=["U-2"]), 409, "not-on-sale", {"reason"})["reason"] == "not_open_yet"
    shift_clock(3600)
    sale.hold(labels=["U-2"], ttl_seconds=300)
    shift_clock(3600)
    assert expect.problem(sale.ask(labels=["U-3"]), 409, "not-on-sale", {"reason"})["reason"] == "window_over"
    assert sale.statuses()["U-3"] == "available"


def test_the_status_is_told_before_the_window(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(3, status="paused")
    expect.body(sale.api.patch(sale.path, {"sales_close_at": "2020-01-01T00:00:00Z"}))
    assert expect.problem(sale.ask(quantity=1), 409, "not-on-sale", {"reason"})["reason"] == "paused"


def test_a_hold_outlives_the_end_of_sales(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(3)
    hold = sale.hold(quantity=1)
    expect.body(sale.api.post(f"{sale.path}/close"))
    assert expect.body(sale.api.get(f"/v1/holds/{hold['id']}"))["status"] == "active"


# --- what is over a limit --------------------------------------------------------------------------------------------

LIMIT = {"limit", "in_use", "requested", "rule"}


def over(answer: Any, **members: Any) -> None:
    """A 422 that says exactly this of the limit."""
    document = expect.problem(answer, 422, "limit-exceeded", LIMIT)
    assert {name: document[name] for name in LIMIT} == members


def test_a_hold_has_at_most_as_many_units_as_the_event_allows(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(6, units_per_hold_max=3)
    for choice in ({"quantity": 4}, {"labels": sale.labels[:4]}, {"units": sale.ids[:4]}):
        over(sale.ask(**choice), rule="units_per_hold", limit=3, in_use=0, requested=4)
    assert rows_of(sale.tenant.id) == {"holds": 0, "units": {"available": 6}}
    assert sale.hold(quantity=3)["quantity"] == 3
    assert sale.hold(quantity=3)["quantity"] == 3


def test_a_hundred_units_are_the_most_of_any_hold(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(101, units_per_hold_max=100)
    over(sale.ask(quantity=101), rule="units_per_hold", limit=100, in_use=0, requested=101)
    over(sale.ask(labels=sale.labels), rule="units_per_hold", limit=100, in_use=0, requested=101)
    assert sale.hold(labels=sale.labels[:100])["quantity"] == 100


def test_a_quantity_past_every_limit_is_over_the_limit(sale: Sale) -> None:
    over(sale.ask(quantity=2**31 - 1), rule="units_per_hold", limit=10, in_use=0, requested=2**31 - 1)


def test_a_customer_has_at_most_as_many_units_as_the_event_allows(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(6, units_per_customer_max=3)
    sale.hold(quantity=2)
    before = rows_of(sale.tenant.id)
    for choice in ({"quantity": 2}, {"labels": sale.labels[:2]}, {"units": sale.ids[:2]}):
        over(sale.ask(**choice), rule="units_per_customer", limit=3, in_use=2, requested=2)
    assert rows_of(sale.tenant.id) == before
    sale.hold(quantity=1)
    over(sale.ask(quantity=1), rule="units_per_customer", limit=3, in_use=3, requested=1)
    assert sale.hold(quantity=3, customer="bob")["quantity"] == 3


@pytest.mark.parametrize(
    "spelling",
    [
        "ADA@EXAMPLE.ORG",
        "Ada@Example.Org",
        " ada@example.org\u00a0",
        "ａｄａ＠ｅｘａｍｐｌｅ．ｏｒｇ",
        "ada@example.org\u3000",
    ],
)
def test_another_spelling_of_a_customer_is_the_same_customer(make_sale: Callable[..., Sale], spelling: str) -> None:
    sale = make_sale(3, units_per_customer_max=1)
    sale.hold(quantity=1)
    over(sale.ask(quantity=1, customer=spelling), rule="units_per_customer", limit=1, in_use=1, requested=1)
    assert len(sale.holds()) == 1


@pytest.mark.parametrize("spelling", ["ada @example.org", "ada@example.com", "adá@example.org"])
def test_another_customer_has_a_limit_of_its_own(make_sale: Callable[..., Sale], spelling: str) -> None:
    sale = make_sale(3, units_per_customer_max=1)
    sale.hold(quantity=1)
    assert sale.hold(quantity=1, customer=spelling)["customer"] == spelling


def test_a_limit_is_of_one_event_and_of_one_tenant(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(3, units_per_customer_max=1)
    sale.hold(quantity=1)
    for other in (make_sale(3, tenant=sale.tenant, units_per_customer_max=1), make_sale(3, units_per_customer_max=1)):
        assert other.hold(quantity=1)["quantity"] == 1


def test_what_was_bought_counts_and_what_was_given_back_or_has_run_out_does_not(
    make_sale: Callable[..., Sale], shift_clock: Callable[[float], None]
) -> None:
    sale = make_sale(6, units_per_customer_max=3)
    sell(sale.tenant.id, sale.hold(quantity=2)["id"])
    sale.hold(quantity=1)
    over(sale.ask(quantity=1), rule="units_per_customer", limit=3, in_use=3, requested=1)
    shift_clock(601)
    sale.hold(quantity=1)
    over(sale.ask(quantity=1), rule="units_per_customer", limit=3, in_use=3, requested=1)


def test_a_limit_that_is_lowered_counts_for_the_next_hold(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(6)
    sale.hold(quantity=3)
    expect.body(sale.api.patch(sale.path, {"units_per_customer_max": 2}))
    over(sale.ask(quantity=1), rule="units_per_customer", limit=2, in_use=3, requested=1)
    expect.body(sale.api.patch(sale.path, {"units_per_customer_max": None}))
    sale.hold(quantity=1)


@pytest.mark.parametrize("choose", ["quantity", "labels"])
def test_a_limit_holds_over_parallel_requests(
    make_sale: Callable[..., Sale],
    api: Callable[..., Api],
    run_together: Callable[..., list[Any]],
    choose: str,
) -> None:
    sale = make_sale(10, units_per_customer_max=2)
    spellings = ["ada@example.org", "ADA@example.org", " ada@example.org"]

    def ask(number: int) -> Any:
        choice: Any = {"quantity": 1} if choose == "quantity" else {"labels": [f"U-{number + 1}"]}
        body = {"event": str(sale.event.id), "customer": spellings[number % 3], **choice}
        return api(sale.tenant).post("/v1/holds", body)

    answers = run_together([lambda number=number: ask(number) for number in range(6)])
    granted = [answer for answer in answers if answer.status_code == 201]
    assert len(granted) == 2, [expect.story(answer) for answer in answers]
    for answer in answers:
        if answer not in granted:
            over(answer, rule="units_per_customer", limit=2, in_use=2, requested=1)
    with tenant_transaction(sale.tenant.id):
        assert Hold.objects.filter(status=HoldStatus.ACTIVE).count() == 2
        assert Unit.objects.filter(hold__isnull=False).count() == 2
