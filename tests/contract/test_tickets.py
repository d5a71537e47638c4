"""Tickets: what an order's list shows, redeeming one, and what is no ticket."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest

from reservations.models import Order, Refund, Ticket, TicketStatus
from reservations.operations.guesses import BAD_TOKENS_MAX
from reservations.operations.tickets import reissue_ticket
from tenants.scope import tenant_transaction
from tests.contract import expect
from tests.contract.sale import Sale
from tests.reservations.state import sell
from tests.support import feed
from tests.support.rows import everything_of, sample, unique

FIELDS = {
    *("id", "order", "event", "unit", "pool", "label", "status", "serial"),
    *("redeemed_at", "gate", "token", "qr_svg_url"),
}
REDEEM = "/v1/tickets/redeem"


@dataclass(frozen=True)
class Door:
    """A confirmed order, and the calls about its tickets."""

    sale: Sale
    order: UUID

    @property
    def path(self) -> str:
        return f"/v1/orders/{self.order}/tickets"

    def tickets(self, query: str = "") -> Any:
        return expect.body(self.sale.api.get(self.path + query))

    def token(self) -> str:
        return str(self.tickets()["data"][0]["token"])

    def redeem(self, token: str, **more: Any) -> Any:
        headers = more.pop("headers", None)
        return self.sale.api.post(REDEEM, {"token": token, **more}, headers=headers)

    def void(self, **fields: Any) -> None:
        """What a refund does to its ticket."""
        refund = sample(Refund, self.sale.tenant.id)
        with tenant_transaction(self.sale.tenant.id):
            Ticket.objects.filter(order_id=self.order).update(status=TicketStatus.VOID, refund=refund, **fields)


@pytest.fixture
def make_door(make_sale: Callable[..., Sale]) -> Callable[..., Door]:
    """`make_door(3)`: an order of three seats, by default of one."""

    def make(units: int = 1, **fields: Any) -> Door:
        sale = make_sale(units, **fields)
        sell(sale.tenant.id, sale.hold(labels=sale.labels)["id"])
        with tenant_transaction(sale.tenant.id):
            return Door(sale, Order.objects.get(event=sale.event).id)

    return make


@pytest.fixture
def door(make_door: Callable[..., Door]) -> Door:
    return make_door()


def test_an_order_lists_its_tickets_one_a_unit(make_door: Callable[..., Door]) -> None:
    door = make_door(3)
    shown = door.tickets()
    assert shown["next"] is None
    assert [set(ticket) for ticket in shown["data"]] == [FIELDS] * 3
    assert {ticket["label"] for ticket in shown["data"]} == set(door.sale.labels)
    assert {ticket["unit"] for ticket in shown["data"]} == set(door.sale.ids)
    assert len({ticket["token"] for ticket in shown["data"]}) == 3
    for ticket in shown["data"]:
        expect.identifier(ticket["id"])
        assert ticket["qr_svg_url"] == f"/v1/tickets/{ticket['id']}/qr.svg"
        assert (ticket["order"], ticket["event"]) == (str(door.order), str(door.sale.event.id))
        fixed = {"pool": None, "status": "valid", "serial": 1, "redeemed_at": None, "gate": None}
        assert {name: ticket[name] for name in fixed} == fixed


def test_the_list_goes_page_by_page_and_no_cache_keeps_it(make_door: Callable[..., Door]) -> None:
    door = make_door(3)
    first = door.tickets("?limit=2")
    second = door.tickets(f"?limit=2&cursor={first['next']}")
    seen = first["data"] + second["data"]
    assert (len(first["data"]), len(second["data"]), second["next"]) == (2, 1, None)
    assert seen == door.tickets()["data"]
    assert door.sale.api.get(door.path).headers["cache-control"] == "private, no-store"


def test_an_order_that_is_not_confirmed_has_none_and_an_unknown_one_is_404(sale: Sale) -> None:
    pending = sample(Order, sale.tenant.id)
    assert expect.body(sale.api.get(f"/v1/orders/{pending.id}/tickets")) == {"data": [], "next": None}
    expect.problem(sale.api.get(f"/v1/orders/{uuid4()}/tickets"), 404, "not-found")


def test_the_first_to_redeem_gets_in_and_the_second_is_told_when_and_where(door: Door) -> None:
    token = door.token()
    before = door.tickets()["data"][0]
    let_in = expect.body(door.redeem(token, gate="North"))
    assert set(let_in) == {"ticket", "redeemed_at", "gate"}
    expect.moment(let_in["redeemed_at"])
    changed = {"status": "redeemed", "redeemed_at": let_in["redeemed_at"], "gate": "North"}
    assert let_in["gate"] == "North"
    assert let_in["ticket"] == before | changed | {"token": None}
    assert door.tickets()["data"][0] == before | changed
    for gate in ({}, {"gate": "South"}, {"gate": None}):
        again = expect.problem(door.redeem(token, **gate), 409, "ticket-redeemed", {"redeemed_at", "gate"})
        assert (again["redeemed_at"], again["gate"]) == (let_in["redeemed_at"], "North")


@pytest.mark.parametrize("gate", [{}, {"gate": None}, {"gate": ""}, {"gate": "  "}])
def test_a_gate_may_be_left_out(door: Door, gate: dict[str, Any]) -> None:
    token = door.token()
    let_in = expect.body(door.redeem(token, **gate))
    assert (let_in["gate"], let_in["ticket"]["gate"]) == (None, None)
    assert expect.problem(door.redeem(token), 409, "ticket-redeemed", {"redeemed_at", "gate"})["gate"] is None


def test_it_is_told_once_without_the_token(door: Door) -> None:
    ticket = door.tickets()["data"][0]
    let_in = expect.body(door.redeem(ticket["token"], gate="North"))
    door.redeem(ticket["token"], gate="South")
    (message,) = feed.read(door.sale.api, f"subject={ticket['id']}")
    assert (message["type"], message["sequence"]) == ("ticket.redeemed", 1)
    assert message["subject"] == {"type": "ticket", "id": ticket["id"]}
    assert message["data"] == expect.apart_from(let_in["ticket"], "token")


@pytest.mark.parametrize("used", [False, True])
def test_a_void_ticket_is_gone_whether_it_was_used_or_not(door: Door, *, used: bool) -> None:
    token = door.token()
    if used:
        expect.body(door.redeem(token, gate="North"))
    door.void()
    for _ in range(2):
        expect.problem(door.redeem(token), 410, "ticket-void")
    shown = door.tickets()["data"][0]
    assert (shown["status"], shown["gate"]) == ("void", "North" if used else None)
    assert len(feed.read(door.sale.api, f"subject={shown['id']}")) == used


def test_forged_foreign_replaced_and_unknown_tokens_get_one_same_answer(
    make_door: Callable[..., Door], make_tenant: Callable[..., Any]
) -> None:
    door, other, deleted = make_door(), make_door(), make_door()
    mine, theirs, gone = door.token(), other.token(), deleted.token()
    with tenant_transaction(deleted.sale.tenant.id):
        Ticket.objects.filter(order_id=deleted.order).delete()
    reissue_ticket(tenant_id=door.sale.tenant.id, ticket_id=UUID(door.tickets()["data"][0]["id"]))
    expect.problem(deleted.redeem(gone), 404, "not-found")
    bad = [mine, theirs, mine.lower(), mine[:-1], mine + "A", "x", "HF1-", "é", unique("token"), "A" * 900, "💥"]
    answers = [expect.problem(door.redeem(text), 404, "not-found") for text in bad]
    assert len({tuple(sorted(expect.apart_from(answer, "request_id").items())) for answer in answers}) == 1
    expect.body(other.redeem(theirs))
    expect.body(door.redeem(door.token()))


def test_a_new_token_replaces_the_old_one_which_is_told(door: Door) -> None:
    (ticket,) = door.tickets()["data"]
    reissue_ticket(tenant_id=door.sale.tenant.id, ticket_id=UUID(ticket["id"]))
    (replaced,) = door.tickets()["data"]
    assert replaced["token"] != ticket["token"]
    assert replaced == ticket | {"serial": 2, "token": replaced["token"]}
    expect.problem(door.redeem(ticket["token"]), 404, "not-found")
    expect.body(door.redeem(replaced["token"]))
    expect.problem(door.redeem(ticket["token"]), 404, "not-found")
    told = feed.read(door.sale.api, f"subject={ticket['id']}")
    assert [message["type"] for message in told] == ["ticket.issued", "ticket.redeemed"]
    assert told[0]["data"]["serial"] == 2


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/token"),
        ({"token": None}, "/token"),
        ({"token": ""}, "/token"),
        ({"token": 1}, "/token"),
        ({"token": ["HF1"]}, "/token"),
        ({"token": "A\nB"}, "/token"),
        ({"token": "A" * 1001}, "/token"),
        ({"token": "A", "gate": 1}, "/gate"),
        ({"token": "A", "gate": "G" * 61}, "/gate"),
        ({"token": "A", "gate": "a\0b"}, "/gate"),
        ({"token": "A", "alg": "none"}, "/alg"),
    ],
)
def test_a_body_that_is_wrong_is_told_where(door: Door, body: dict[str, Any], pointer: str) -> None:
    assert expect.pointers(door.sale.api.post(REDEEM, body)) == [pointer]
    assert door.tickets()["data"][0]["status"] == "valid"


def test_a_retry_under_a_key_is_let_in_again_and_the_next_gate_is_not(door: Door) -> None:
    token, key = door.token(), {"Idempotency-Key": unique("key")}
    first = door.redeem(token, gate="North", headers=key)
    again = door.redeem(token, gate="North", headers=key)
    assert again.headers["idempotency-replayed"] == "true"
    assert expect.body(again) == expect.body(first)
    refused = {"Idempotency-Key": unique("key")}
    answers = [door.redeem(token, headers=refused) for _ in range(2)]
    problems = [expect.problem(answer, 409, "ticket-redeemed", {"redeemed_at", "gate"}) for answer in answers]
    assert expect.apart_from(problems[0], "request_id") == expect.apart_from(problems[1], "request_id")
    assert answers[1].headers["idempotency-replayed"] == "true"
    unknown = {"Idempotency-Key": unique("key")}
    for _ in range(2):
        answer = door.redeem("nothing", headers=unknown)
        expect.problem(answer, 404, "not-found")
        assert "idempotency-replayed" not in answer.headers


def test_no_row_and_no_line_of_a_log_holds_a_token(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    token = door.token()
    caplog.set_level("DEBUG")
    door.redeem(token, headers={"Idempotency-Key": unique("key")})
    door.redeem(token, headers={"Idempotency-Key": unique("key")})
    door.redeem(token[:-1])
    feed.settle()
    rows = everything_of(door.sale.tenant.id)
    assert rows["webhooks_message"]
    assert rows["tenants_idempotencykey"]
    for text in (token, token[11:], token[:-1]):
        assert text not in str(rows)
        assert text not in caplog.text


def test_who_guesses_is_slowed_and_closes_no_gate(make_door: Callable[..., Door], make_key: Any, api: Any) -> None:
    door = make_door(2)
    first, second = (ticket["token"] for ticket in door.tickets()["data"])
    guesser = api(make_key(door.sale.tenant, scopes=["tickets"]))
    answers = [guesser.post(REDEEM, {"token": f"{first[:-5]}{number:05d}"}) for number in range(BAD_TOKENS_MAX + 20)]
    assert [answer.status_code for answer in answers] == [404] * BAD_TOKENS_MAX + [429] * 20
    expect.problem(answers[-1], 429, "too-many-requests")
    assert int(answers[-1].headers["retry-after"]) > 0
    expect.body(guesser.post(REDEEM, {"token": first}))
    expect.problem(guesser.post(REDEEM, {"token": first}), 409, "ticket-redeemed", {"redeemed_at", "gate"})
    expect.problem(door.redeem("another key is not slowed"), 404, "not-found")
    expect.body(door.redeem(second))


def test_the_qr_code_is_an_image_of_the_token_that_no_cache_keeps(door: Door, make_key: Any, api: Any) -> None:
    (ticket,) = door.tickets()["data"]
    answer = door.sale.api.get(ticket["qr_svg_url"])
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["cache-control"] == "private, no-store"
    image = ET.fromstring(answer.content)  # noqa: S314 - of our own making
    assert image.tag == "{http://www.w3.org/2000/svg}svg"
    assert image.get("viewBox")
    assert ticket["token"].encode() not in answer.content
    assert door.sale.api.get(ticket["qr_svg_url"]).content == answer.content
    for scope, status in {"read": 200, "orders": 200, "tickets": 200, "holds": 403, "events": 403}.items():
        key = make_key(door.sale.tenant, scopes=[scope])
        assert api(key).get(ticket["qr_svg_url"]).status_code == status, scope
    expect.problem(api(None).get(ticket["qr_svg_url"]), 401, "unauthenticated")
    expect.problem(door.sale.api.get(f"/v1/tickets/{uuid4()}/qr.svg"), 404, "not-found")
    reissue_ticket(tenant_id=door.sale.tenant.id, ticket_id=UUID(ticket["id"]))
    assert door.sale.api.get(ticket["qr_svg_url"]).content != answer.content
