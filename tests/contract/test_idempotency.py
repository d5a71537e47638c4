"""`Idempotency-Key`: the same request again gets the first answer again, and takes effect once."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract import expect
from tests.contract.sale import EVENT, Sale
from tests.reservations.state import release, rows_of, sell
from tests.support.client import Api

KEY = {"Idempotency-Key": "cart-42"}


def replays(first: Any, again: Any) -> None:
    """The second answer is the first one, and says so; the first did not."""
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.status_code == first.status_code
    assert again.headers["content-type"] == first.headers["content-type"]
    mine, theirs = first.json(), again.json()
    if first.status_code >= 400:
        assert theirs["request_id"] == again.headers["x-request-id"]
        mine, theirs = (expect.apart_from(document, "request_id") for document in (mine, theirs))
    assert theirs == mine


def test_a_retry_gets_the_first_hold_again(sale: Sale) -> None:
    first = sale.ask(quantity=2, metadata={"cart": 42}, headers=KEY)
    expect.body(first, 201)
    for _ in range(3):
        replays(first, sale.ask(quantity=2, metadata={"cart": 42}, headers=KEY))
    assert rows_of(sale.tenant.id) == {"holds": 1, "units": {"available": 1, "held": 2}}


def test_without_a_key_the_same_request_is_another_hold(sale: Sale) -> None:
    first, second = sale.ask(quantity=1), sale.ask(quantity=1)
    assert first.json()["id"] != second.json()["id"]
    assert not any("idempotency-replayed" in answer.headers for answer in (first, second))


def test_two_keys_are_two_holds(sale: Sale) -> None:
    first = sale.ask(quantity=1, headers=KEY)
    second = sale.ask(quantity=1, headers={"Idempotency-Key": "Cart-42"})
    assert expect.body(first, 201)["id"] != expect.body(second, 201)["id"]
    assert "idempotency-replayed" not in second.headers


def test_sold_out_is_an_answer_that_is_given_again(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(1)
    hold = sale.hold(quantity=1, customer="bob")
    first = sale.ask(quantity=1, headers=KEY)
    expect.problem(first, 409, "sold-out", {"available"})
    replays(first, sale.ask(quantity=1, headers=KEY))
    release(sale.tenant.id, hold["id"])
    replays(first, sale.ask(quantity=1, headers=KEY))
    assert sale.statuses() == {"U-1": "available"}
    expect.body(sale.ask(quantity=1, headers={"Idempotency-Key": "another"}), 201)


def test_units_unavailable_is_an_answer_that_is_given_again(sale: Sale) -> None:
    hold = sale.hold(labels=["U-1"], customer="bob")
    first = sale.ask(labels=["U-1", "U-2"], headers=KEY)
    expect.problem(first, 409, "units-unavailable", {"unavailable"})
    sell(sale.tenant.id, hold["id"])
    replays(first, sale.ask(labels=["U-1", "U-2"], headers=KEY))


def test_not_on_sale_is_an_answer_that_is_given_again(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(1, status="draft")
    first = sale.ask(quantity=1, headers=KEY)
    expect.problem(first, 409, "not-on-sale", {"reason"})
    expect.body(sale.api.post(f"{sale.path}/publish"))
    replays(first, sale.ask(quantity=1, headers=KEY))
    assert sale.statuses() == {"U-1": "available"}


def test_the_first_answer_is_given_again_even_after_the_hold_has_ended(
    sale: Sale, shift_clock: Callable[[float], None]
) -> None:
    first = sale.ask(quantity=1, headers=KEY)
    shift_clock(601)
    sale.hold(quantity=3, customer="bob")
    replays(first, sale.ask(quantity=1, headers=KEY))
    assert rows_of(sale.tenant.id) == {"holds": 2, "units": {"held": 3}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"quantity": 0},
        {"quantity": 1, "ttl_seconds": 4},
        {"quantity": 1, "section": "nowhere"},
        {"labels": ["nowhere"]},
        {"quantity": 11},
        {"quantity": 3},
    ],
)
def test_a_422_leaves_the_key_free_for_another_body(make_sale: Callable[..., Sale], wrong: dict[str, Any]) -> None:
    sale = make_sale(4, units_per_customer_max=2)
    assert sale.ask(**wrong, headers=KEY).status_code == 422
    answer = sale.ask(quantity=1, headers=KEY)
    expect.body(answer, 201)
    assert "idempotency-replayed" not in answer.headers


def test_a_limit_that_was_hit_is_asked_again_under_the_same_key(
    make_sale: Callable[..., Sale], shift_clock: Callable[[float], None]
) -> None:
    sale = make_sale(2, units_per_customer_max=1)
    sale.hold(quantity=1)
    expect.problem(sale.ask(quantity=1, headers=KEY), 422, "limit-exceeded", {"limit", "in_use", "requested", "rule"})
    shift_clock(601)
    answer = sale.ask(quantity=1, headers=KEY)
    expect.body(answer, 201)
    assert "idempotency-replayed" not in answer.headers


def test_a_body_that_can_not_be_read_leaves_the_key_free(sale: Sale) -> None:
    expect.problem(sale.api.post("/v1/holds", b"{", headers=KEY), 400, "malformed")
    expect.problem(
        sale.api.post("/v1/holds", b"{}", headers=KEY, media_type="text/plain"), 415, "unsupported-media-type"
    )
    expect.problem(sale.api.post("/v1/holds", b" " * (2**20 + 1), headers=KEY), 413, "body-too-large")
    expect.body(sale.ask(quantity=1, headers=KEY), 201)


@pytest.mark.parametrize(
    "other",
    [
        {"quantity": 2},
        {"quantity": 1, "customer": "Ada@example.org"},
        {"quantity": 1, "metadata": {}},
        {"quantity": 1, "ttl_seconds": 600},
        {"labels": ["U-1"]},
    ],
)
def test_another_body_under_the_same_key_is_refused(sale: Sale, other: dict[str, Any]) -> None:
    first = sale.ask(quantity=1, headers=KEY)
    answer = sale.ask(**other, headers=KEY)
    expect.problem(answer, 422, "idempotency-key-reused")
    assert "idempotency-replayed" not in answer.headers
    assert rows_of(sale.tenant.id)["holds"] == 1
    # and the key still stands for the first
    replays(first, sale.ask(quantity=1, headers=KEY))


def test_another_body_after_a_stored_refusal_is_refused(make_sale: Callable[..., Sale]) -> None:
    sale = make_sale(1)
    expect.problem(sale.ask(quantity=2, headers=KEY), 409, "sold-out", {"available"})
    expect.problem(sale.ask(quantity=1, headers=KEY), 422, "idempotency-key-reused")
    assert sale.statuses() == {"U-1": "available"}


def test_another_query_under_the_same_key_is_refused(sale: Sale) -> None:
    body = {"event": str(sale.event.id), "customer": "ada", "quantity": 1}
    expect.body(sale.api.post("/v1/holds", body, headers=KEY), 201)
    expect.problem(sale.api.post("/v1/holds?a=1", body, headers=KEY), 422, "idempotency-key-reused")
    assert rows_of(sale.tenant.id)["holds"] == 1


def test_another_call_under_the_key_of_a_hold_is_refused(sale: Sale) -> None:
    expect.body(sale.ask(quantity=1, headers=KEY), 201)
    for path, body in (
        ("/v1/events", EVENT),
        (f"{sale.path}/pause", {}),
        (f"{sale.path}/units", {"units": [{"label": "new"}]}),
        (f"{sale.path}/units/block", {"labels": ["U-3"]}),
    ):
        expect.problem(sale.api.post(path, body, headers=KEY), 422, "idempotency-key-reused")
    assert "new" not in sale.statuses()


REPEATABLE = {
    "create an event": ("/v1/events", EVENT, 201),
    "publish": ("{event}/publish", {}, 200),
    "create units": ("{event}/units", {"units": [{"label": "new"}]}, 201),
    "block": ("{event}/units/block", {"labels": ["U-1"]}, 200),
}


@pytest.mark.parametrize("call", sorted(REPEATABLE))
def test_every_post_takes_a_key_and_answers_a_retry_with_the_first_answer(
    make_sale: Callable[..., Sale], call: str
) -> None:
    sale = make_sale(1, status="draft")
    path, body, status = REPEATABLE[call]
    path = path.format(event=sale.path)
    first = sale.api.post(path, body, headers=KEY)
    expect.body(first, status)
    replays(first, sale.api.post(path, body, headers=KEY))


WRONG_KEYS = ["", " ", "with space", "tab\there", "é", "x" * 256, "\x7f", "\x01"]


@pytest.mark.parametrize("key", WRONG_KEYS)
def test_a_key_that_is_not_visible_ascii_is_refused(sale: Sale, key: str) -> None:
    expect.problem(sale.ask(quantity=1, headers={"Idempotency-Key": key}), 400, "idempotency-key-invalid")
    assert rows_of(sale.tenant.id) == {"holds": 0, "units": {"available": 3}}


def test_every_post_refuses_a_key_that_is_not_visible_ascii(client: Api) -> None:
    for key in WRONG_KEYS:
        answer = client.post("/v1/events", EVENT, headers={"Idempotency-Key": key})
        expect.problem(answer, 400, "idempotency-key-invalid")
    assert expect.body(client.get("/v1/events"))["data"] == []


@pytest.mark.parametrize("key", ["!", "~", "x" * 255, '"quoted"', "a,b", "%00", "../../x"])
def test_every_visible_ascii_character_makes_a_key(sale: Sale, key: str) -> None:
    headers = {"Idempotency-Key": key}
    replays(sale.ask(quantity=1, headers=headers), sale.ask(quantity=1, headers=headers))


def test_the_same_key_of_two_tenants_is_two_keys(make_sale: Callable[..., Sale]) -> None:
    first, second = make_sale(1), make_sale(1)
    mine = first.ask(quantity=1, headers=KEY)
    theirs = second.ask(quantity=1, headers=KEY)
    assert expect.body(theirs, 201)["id"] != expect.body(mine, 201)["id"]
    assert theirs.json()["event"] == str(second.event.id)
    assert "idempotency-replayed" not in theirs.headers


def test_the_same_key_of_two_api_keys_of_a_tenant_is_two_keys(
    sale: Sale, make_key: Callable[..., str], api: Callable[..., Api]
) -> None:
    other = api(make_key(sale.tenant, ["holds"]))
    body = {"event": str(sale.event.id), "customer": "ada@example.org", "quantity": 1}
    mine, theirs = sale.api.post("/v1/holds", body, headers=KEY), other.post("/v1/holds", body, headers=KEY)
    assert expect.body(mine, 201)["id"] != expect.body(theirs, 201)["id"]
    assert "idempotency-replayed" not in theirs.headers
    # another body is no reuse either: the other key never was used for this
    replays(theirs, other.post("/v1/holds", body, headers=KEY))
    replays(mine, sale.api.post("/v1/holds", body, headers=KEY))


def test_a_refusal_of_the_key_or_its_scope_stores_nothing(
    sale: Sale, make_key: Callable[..., str], api: Callable[..., Api]
) -> None:
    body = {"event": str(sale.event.id), "customer": "ada", "quantity": 1}
    expect.problem(api(None).post("/v1/holds", body, headers=KEY), 401, "unauthenticated")
    expect.problem(api(make_key(sale.tenant, ["read"])).post("/v1/holds", body, headers=KEY), 403, "forbidden")
    expect.body(sale.api.post("/v1/holds", body, headers=KEY), 201)


@pytest.mark.parametrize("units", [3, 1])
@pytest.mark.parametrize("choose", ["quantity", "labels"])
def test_twenty_retries_at_once_make_one_hold_and_all_get_it(
    make_sale: Callable[..., Sale],
    api: Callable[..., Api],
    run_together: Callable[..., list[Any]],
    units: int,
    choose: str,
) -> None:
    sale = make_sale(units)
    choice: dict[str, Any] = {"quantity": 1} if choose == "quantity" else {"labels": ["U-1"]}
    body = {"event": str(sale.event.id), "customer": "ada", **choice}
    answers = run_together([lambda: api(sale.tenant).post("/v1/holds", body, headers=KEY)] * 20)
    assert [answer.status_code for answer in answers] == [201] * 20, [expect.story(answer) for answer in answers]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum("idempotency-replayed" in answer.headers for answer in answers) == 19
    assert rows_of(sale.tenant.id)["holds"] == 1
    assert list(sale.statuses().values()).count("held") == 1


def test_of_two_bodies_at_once_under_one_key_one_wins_and_the_other_is_refused(
    sale: Sale, api: Callable[..., Api], run_together: Callable[..., list[Any]]
) -> None:
    bodies = [{"event": str(sale.event.id), "customer": name, "quantity": 1} for name in "abcd"]
    answers = run_together([lambda body=body: api(sale.tenant).post("/v1/holds", body, headers=KEY) for body in bodies])
    granted = [answer for answer in answers if answer.status_code == 201]
    assert len(granted) == 1, [expect.story(answer) for answer in answers]
    for answer in answers:
        if answer is not granted[0]:
            expect.problem(answer, 422, "idempotency-key-reused")
    assert rows_of(sale.tenant.id)["holds"] == 1
