"""The page at the door: who opens it, what it answers to a code, and what it counts."""

import re
from html import unescape

import pytest

from reservations.models import Refund, Ticket
from reservations.operations.guesses import BAD_TOKENS_MAX
from reservations.operations.tickets import reissue_ticket
from reservations.queries.tickets import token_maker
from tenants.scope import tenant_transaction
from tests.admin.conftest import page
from tests.support.rows import everything_of, sample

ROLES = {"owner": True, "manager": True, "support": True, "scanner": True, "viewer": False}
VERDICT = re.compile(
    r'<div id="verdict" role="status"(?: class="(\w+)")?>\s*(?:<strong>(.*?)</strong><span>(.*?)</span>)?'
)
COUNT = re.compile(r'<p id="count"><strong>(\d+)</strong> of (\d+) are in</p>')
CHECK_IN = "check_in"


def shown(response) -> tuple[str, str, str]:
    """The colour, the headline and the reason on the page."""
    assert response.status_code == 200, response
    found = VERDICT.search(response.content.decode())
    assert found
    return tuple(unescape(part or "") for part in found.groups())


def count(response) -> tuple[int, int]:
    admitted, total = COUNT.search(response.content.decode()).groups()
    return int(admitted), int(total)


class Gate:
    """A browser at the page, with an event and a gate chosen."""

    def __init__(self, browser, event, name: str = "North") -> None:
        self.browser, self.event, self.name = browser, event, name
        answer = browser.post(page(CHECK_IN), {"event": event.id, "gate": name})
        assert (answer.status_code, answer["Location"]) == (302, page(CHECK_IN))

    def scan(self, token: str):
        return self.browser.post(page(CHECK_IN), {"event": self.event.id, "gate": self.name, "token": token})


def status_of(tenant, ticket) -> tuple[str, str]:
    with tenant_transaction(tenant.id):
        ticket.refresh_from_db()
    return ticket.status, ticket.gate


@pytest.mark.parametrize("role", ROLES)
def test_who_may_redeem_opens_it_and_nobody_else(role, tenant, make_event, make_tickets, sign_in):
    event = make_event(tenant)
    (ticket,) = make_tickets(tenant, event, ["A-1"])
    browser = sign_in(tenant, role)
    assert browser.get(page(CHECK_IN)).status_code == (200 if ROLES[role] else 403)
    form = {"event": event.id, "gate": "North", "token": token_maker()(ticket)}
    assert browser.post(page(CHECK_IN), form).status_code == (200 if ROLES[role] else 403)
    assert status_of(tenant, ticket) == (("redeemed", "North") if ROLES[role] else ("valid", ""))


def test_a_scanner_is_led_there_and_finds_nothing_else(tenant, make_event, sign_in):
    make_event(tenant)
    browser = sign_in(tenant, "scanner")
    assert browser.get(page("index"))["Location"] == page(CHECK_IN)
    text = browser.get(page(CHECK_IN)).content.decode()
    links = set(re.findall(r'href="(/admin/[^"]*)"', text))
    assert page(CHECK_IN) in links
    for name in ("event", "hold", "ticket"):
        address = page(f"reservations_{name}_changelist")
        assert address not in links
        assert browser.get(address).status_code == 403


def test_event_and_gate_are_chosen_first_and_kept(tenant, make_event, make_tickets, sign_in):
    draft, event = make_event(tenant, status="draft", name="A draft"), make_event(tenant, name="A <show>")
    make_tickets(tenant, event, ["A-1", "A-2"])
    browser = sign_in(tenant, "scanner")
    before = browser.get(page(CHECK_IN)).content.decode()
    assert 'id="scan-form"' not in before
    assert "A &lt;show&gt;" in before
    assert "A draft" not in before
    for wrong in ({"event": draft.id}, {"event": "nonsense"}, {}, {"event": event.id, "gate": "G" * 61}):
        answer = browser.post(page(CHECK_IN), wrong)
        assert answer.status_code == 200
        assert answer.context["form"].errors
    Gate(browser, event, "North")
    after = browser.get(page(CHECK_IN))
    assert "A &lt;show&gt; · North" in after.content.decode()
    assert 'name="gate" value="North"' in after.content.decode()
    assert count(after) == (0, 2)
    assert shown(after) == ("", "", "")


def test_green_once_and_then_red_with_the_first_time_and_gate(tenant, make_event, make_tickets, sign_in):
    event = make_event(tenant)
    first, second = make_tickets(tenant, event, ["A-1", "A-2"])
    north, south = Gate(sign_in(tenant, "scanner"), event), Gate(sign_in(tenant, "support"), event, "South <side>")
    good = south.scan(token_maker()(first))
    assert shown(good) == ("good", "Let in", "A-1")
    assert count(good) == (1, 2)
    for gate in (north, south):
        again = gate.scan(token_maker()(first))
        colour, headline, reason = shown(again)
        assert (colour, headline) == ("bad", "Used before")
        assert re.fullmatch(r"First let in at South <side>, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d CES?T\.", reason)
        assert count(again) == (1, 2)
    assert status_of(tenant, first) == ("redeemed", "South <side>")
    assert status_of(tenant, second) == ("valid", "")


def test_a_refunded_ticket_is_red_used_or_not_and_counts_no_more(tenant, make_event, make_tickets, sign_in):
    event = make_event(tenant)
    used, unused, _ = make_tickets(tenant, event, ["A-1", "A-2", "A-3"])
    gate = Gate(sign_in(tenant, "scanner"), event)
    gate.scan(token_maker()(used))
    refund = sample(Refund, tenant.id)
    with tenant_transaction(tenant.id):
        Ticket.objects.filter(id__in=[used.id, unused.id]).update(status="void", refund=refund)
    for ticket in (used, unused):
        answer = gate.scan(token_maker()(ticket))
        assert shown(answer)[:2] == ("bad", "Refunded")
        assert count(answer) == (0, 1)


def test_a_ticket_of_another_event_is_red_and_not_used_up(tenant, make_event, make_tickets, sign_in):
    here, elsewhere = make_event(tenant), make_event(tenant)
    (ticket,) = make_tickets(tenant, elsewhere, ["A-1"])
    browser = sign_in(tenant, "scanner")
    assert shown(Gate(browser, here).scan(token_maker()(ticket)))[:2] == ("bad", "Another event")
    assert status_of(tenant, ticket) == ("valid", "")
    assert shown(Gate(browser, elsewhere).scan(token_maker()(ticket)))[0] == "good"


def test_what_is_no_ticket_here_is_red_with_one_same_reason(make_tenant, make_event, make_tickets, sign_in):
    mine, other = make_tenant(), make_tenant()
    event = make_event(mine)
    (own,) = make_tickets(mine, event, ["A-1"])
    (theirs,) = make_tickets(other, make_event(other), ["A-1"])
    replaced = token_maker()(own)
    reissue_ticket(tenant_id=mine.id, ticket_id=own.id)
    gate = Gate(sign_in(mine, "scanner"), event)
    before = everything_of(other.id)
    seen = {shown(gate.scan(text)) for text in (replaced, token_maker()(theirs), replaced.lower(), "x", "<b>", "É")}
    assert {(colour, headline) for colour, headline, _ in seen} == {("bad", "Not a ticket")}
    assert len(seen) == 1
    assert everything_of(other.id) == before
    assert status_of(mine, own) == ("valid", "")


def test_an_event_that_is_not_ones_own_lets_nobody_in(make_tenant, make_event, make_tickets, sign_in):
    mine, other = make_tenant(), make_tenant()
    theirs = make_event(other)
    (ticket,) = make_tickets(other, theirs, ["A-1"])
    browser = sign_in(mine, "scanner")
    form = {"event": theirs.id, "gate": "", "token": token_maker()(ticket)}
    answer = browser.post(page(CHECK_IN), form)
    assert shown(answer)[:2] == ("bad", "Not read")
    assert 'id="scan-form"' not in answer.content.decode()
    assert status_of(other, ticket) == ("valid", "")


@pytest.mark.parametrize("token", ["", " ", "\t\n"])
def test_no_code_at_all_is_red_and_said_to_be_none(token, tenant, make_event, sign_in):
    answer = Gate(sign_in(tenant, "scanner"), make_event(tenant)).scan(token)
    assert shown(answer) == ("bad", "No code", "Scan the code of a ticket, or type it.")


@pytest.mark.parametrize("token", ["A" * 1001, "A\x01B"])
def test_what_can_not_be_a_code_is_red(token, tenant, make_event, sign_in):
    answer = Gate(sign_in(tenant, "scanner"), make_event(tenant)).scan(token)
    assert shown(answer)[:2] == ("bad", "Not read")


def test_the_page_shows_no_code_and_its_address_has_none(tenant, make_event, make_tickets, sign_in):
    event = make_event(tenant)
    (ticket,) = make_tickets(tenant, event, ["A-1"])
    token = token_maker()(ticket)
    gate = Gate(sign_in(tenant, "scanner"), event)
    for _ in range(2):
        answer = gate.scan(token)
        assert token not in answer.content.decode()
        assert answer.wsgi_request.get_full_path() == page(CHECK_IN)


def test_who_tries_many_codes_is_told_and_good_ones_still_open(tenant, make_event, make_tickets, sign_in):
    event = make_event(tenant)
    (ticket,) = make_tickets(tenant, event, ["A-1"])
    gate = Gate(sign_in(tenant, "scanner"), event)
    for number in range(BAD_TOKENS_MAX):
        gate.scan(f"guess {number}")
    assert "many of these" in shown(gate.scan("one more guess"))[2]
    assert shown(gate.scan(token_maker()(ticket)))[0] == "good"


def test_a_form_of_another_tenant_lets_nobody_in(tenant, make_event, make_tickets, sign_in):
    event = make_event(tenant)
    (ticket,) = make_tickets(tenant, event, ["A-1"])
    form = {"event": event.id, "gate": "", "token": token_maker()(ticket), "_tenant": "another"}
    assert sign_in(tenant, "scanner").post(page(CHECK_IN), form).status_code == 302
    assert status_of(tenant, ticket) == ("valid", "")


def test_it_is_told_who_let_whom_in(tenant, make_event, make_tickets, make_member, sign_in):
    event = make_event(tenant)
    (ticket,) = make_tickets(tenant, event, ["A-1"])
    Gate(sign_in(tenant, "scanner"), event).scan(token_maker()(ticket))
    text = unescape(sign_in(tenant, "viewer").get(page("reservations_ticket_change", ticket.id)).content.decode())
    assert re.search(r"Let in: North</span><span>scanner-\w+@example.org \(scanner\)", text)
