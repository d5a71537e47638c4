"""What happened to an order, its payments and its refunds: what and when from their rows, who from the outbox.

Rows tell what each payment and refund came to; the outbox tells who did it, and what a later state has covered.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from reservations.admin.order_shown import amount_shown, asked_shown, captured_shown, in_words, labels_of
from reservations.admin.timeline import BY_ITSELF, LINES_MAX, WORDS, Line, Timeline
from reservations.models import Payment, Refund
from reservations.queries.orders import order_json
from tenants.admin.wall_time import shown_to_the_second
from webhooks.outbox import Said, last_said_of

# of orders, payments, and of tickets as a refund takes them
TYPES = (*(name for name in WORDS if name.startswith(("order.", "payment."))), "ticket.voided")
SAID_MAX = 1_000
# what the rows don't keep
_OUTBOX_ALONE = ("payment.needs_review", "order.partially_refunded", "order.refunded")
_NOBODY = ""


@dataclass(frozen=True, slots=True)
class _Happened:
    at: datetime
    what: str
    who: str


def order_timeline(order: Any) -> Timeline:
    """Of an order that was read by `get_order`, in its event's zone. One statement more."""
    told = _Told(order)
    happened = sorted([*told.by_rows(), *told.by_outbox()], key=lambda one: one.at)
    zone = ZoneInfo(order.event.timezone)
    lines = [Line(shown_to_the_second(one.at, zone), one.what, one.who) for one in happened[-LINES_MAX:]]
    return Timeline(lines, is_cut=len(happened) > LINES_MAX)


class _Told:
    """An order, and what the outbox was told of it."""

    def __init__(self, order: Any) -> None:
        self.order = order
        self.payments: dict[str, Payment] = {str(payment.id): payment for payment in order.payments.all()}
        self.refunds: dict[str, Refund] = {str(refund.id): refund for refund in order.refunds.all()}
        self.tickets = {str(ticket.unit_id): ticket for ticket in order.tickets.all()}
        subjects = [order.id, *map(UUID, self.payments), *(ticket.id for ticket in self.tickets.values())]
        self.said = last_said_of(subjects, TYPES, count_max=SAID_MAX)

    def by_rows(self) -> Iterator[_Happened]:
        for entry in order_json(self.order)["timeline"]:
            kind, _, state = entry["what"].partition("_")
            at = datetime.fromisoformat(entry["at"])
            if kind == "order":
                yield _Happened(at, *self._of_order(state, entry))
            elif kind == "payment" and state != "needs_review":
                payment = self.payments[entry["payment"]]
                yield _Happened(
                    at, _payment_words(payment, state), _NOBODY if state == "created" else _provider(payment)
                )
            elif kind == "refund":
                yield _Happened(at, *self._of_refund(self.refunds[entry["refund"]], state))

    def by_outbox(self) -> Iterator[_Happened]:
        for fact in self.said:
            if fact.type in _OUTBOX_ALONE:
                yield _Happened(fact.occurred_at, self._words(fact), fact.actor or BY_ITSELF)

    def _words(self, fact: Said) -> str:
        payment = self.payments.get(str(fact.subject_id))
        word = WORDS[fact.type]
        return f"{word}: {asked_shown(payment)} asked, {captured_shown(payment)} taken" if payment else word

    def _of_order(self, state: str, entry: Mapping[str, Any]) -> tuple[str, str]:
        if state == "created":
            return "Ordered", _NOBODY
        fact = next((fact for fact in self.said if fact.type == f"order.{state}"), None)
        who = (fact and fact.actor) or BY_ITSELF
        word = WORDS[f"order.{state}"]
        if "retaken_hold" in entry:
            return f"{word}: its hold had ended, and the same units were still free", who
        return (f"{word}: {in_words(entry['reason'])}" if entry.get("reason") else word), who

    def _of_refund(self, refund: Refund, state: str) -> tuple[str, str]:
        amount = amount_shown(refund.amount, refund.currency)
        match state:
            case "created" if refund.is_compensation:
                return f"{amount} can't be kept and goes back", self._who_gave_back(refund)
            case "created":
                labels = {unit: ticket.label for unit, ticket in self.tickets.items()}
                parts = [f"{', '.join(labels_of(refund, labels))} for {amount}", refund.reason]
                return f"Refund: {', '.join(part for part in parts if part)}", self._who_asked(refund)
            case "failed":
                return f"The refund of {amount} was refused, and undone", _provider(refund.payment)
        return f"{amount} is back", _provider(refund.payment)

    def _who_asked(self, refund: Refund) -> str:
        """Who made its tickets void, in the same transaction and after the refund's row."""
        mine = {self.tickets[item["unit"]].id for item in refund.items if item["unit"] in self.tickets}
        return self._who(refund, lambda fact: fact.type == "ticket.voided" and fact.subject_id in mine)

    def _who_gave_back(self, refund: Refund) -> str:
        """A person, where one decided it: then the order failed in the same transaction and after the refund's row."""
        return self._who(refund, lambda fact: fact.type == "order.failed")

    def _who(self, refund: Refund, is_it: Any) -> str:
        later = (fact for fact in self.said if fact.occurred_at >= refund.created_at and is_it(fact))
        fact = next(later, None)
        return (fact and fact.actor) or BY_ITSELF


def _payment_words(payment: Payment, state: str) -> str:
    match state:
        case "created":
            return f"Payment of {asked_shown(payment)}"
        case "succeeded":
            return f"Paid: {captured_shown(payment)}"
    return f"Declined: {payment.decline_code or 'no reason given'}"


def _provider(payment: Payment | None) -> str:
    return str(payment.account) if payment else BY_ITSELF
