"""What a sale comes to, as it fits in the head: holds, orders, units and money. No database and no provider."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from tests.checkout.sale import PRICE

LABELS = ("A-1", "A-2", "A-3", "A-4")
TERM, PER_CUSTOMER = 600, 3
PAYING_AT_LEAST, PAYING_AT_MOST, SENDS = 120, 900, 3


@dataclass
class ModelOrder:
    """`payments` are their statuses, the last one of the payment that counts; `is_charged` is what the provider knows
    of an unknown one, `unpaid_because` why the last one did not take place."""

    first_try: float
    status: str = "pending"
    reason: str | None = None
    payments: list[str] = field(default_factory=list)
    is_charged: bool = False
    unpaid_because: str = "declined"
    sends: int = 0
    returned: set[str] = field(default_factory=set)
    kept: int = 0
    told: list[str] = field(default_factory=list)

    @property
    def is_paying(self) -> bool:
        return "unknown" in self.payments

    @property
    def is_live(self) -> bool:
        return self.status in ("confirmed", "partially_refunded")

    def has_ended(self, status: str, reason: str | None = None) -> None:
        self.status, self.reason = status, reason
        self.told.append(status)


@dataclass
class ModelHold:
    """Its end is in seconds of the model's clock. `is_retaken` says that the order has its units by another hold."""

    id: UUID
    customer: str
    labels: frozenset[str]
    end: float
    status: str = "active"
    order: ModelOrder | None = None
    is_retaken: bool = False

    @property
    def is_paying(self) -> bool:
        return self.order is not None and self.order.is_paying

    @property
    def sold(self) -> frozenset[str]:
        """What its order has and did not give back."""
        return self.labels - self.order.returned if self.order and self.order.is_live else frozenset()

    def has_ended(self, status: str) -> None:
        """An order that nobody is paying ends with it."""
        self.status = status
        if self.order and self.order.status == "pending" and not self.order.is_paying and status != "converted":
            self.order.has_ended("failed", self.order.unpaid_because)


class Model:
    """One event, and what each call would come to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.holds: dict[UUID, ModelHold] = {}
        self.blocked: set[str] = set()

    def is_in_time(self, hold: ModelHold) -> bool:
        return hold.status == "active" and hold.end > self.now

    def lapsed(self) -> list[ModelHold]:
        return [hold for hold in self.holds.values() if hold.status == "active" and hold.end <= self.now]

    def taken(self) -> set[str]:
        """Held by a hold that is in time, or sold."""
        held = {label for hold in self.holds.values() if self.is_in_time(hold) for label in hold.labels}
        return held | {label for hold in self.holds.values() for label in hold.sold}

    def are_free(self, labels: Iterable[str]) -> bool:
        return not set(labels) & (self.taken() | self.blocked)

    def in_use(self, customer: str) -> int:
        mine = [hold for hold in self.holds.values() if hold.customer == customer]
        return sum(len(hold.labels) if self.is_in_time(hold) else len(hold.sold) for hold in mine)

    def paying(self) -> list[ModelHold]:
        return [hold for hold in self.holds.values() if hold.is_paying]

    def why_not_pay(self, hold: ModelHold) -> str | None:
        """The refusal, None where a charge is made."""
        if hold.is_paying:
            return "checkout-in-progress"
        if hold.is_retaken:
            return "hold-converted"
        if hold.status == "active":
            return None if hold.end > self.now else "hold-expired"
        return f"hold-{hold.status}"

    def pays(self, hold: ModelHold, method: str) -> str:
        """A charge is made; what the buyer hears."""
        hold.order = order = hold.order or ModelOrder(self.now)
        hold.end = max(hold.end, min(self.now + PAYING_AT_LEAST, order.first_try + PAYING_AT_MOST))
        match method:
            case "tok_declined":
                order.payments.append("declined")
                order.unpaid_because = "declined"
                return "payment-declined"
            case "tok_ok":
                order.payments.append("unknown")
                self.settles(hold)
                return "201"
        order.payments.append("unknown")
        order.is_charged, order.sends = method == "tok_reset_after_charge", 1
        return "202"

    def looks(self, hold: ModelHold) -> None:
        """Somebody looks what became of an unknown charge."""
        order = hold.order
        assert order is not None
        if order.is_charged:
            self.settles(hold)
        elif order.sends < SENDS:
            order.sends += 1
        else:
            order.payments[-1] = "declined"
            order.unpaid_because = "provider_unavailable"
            if not self.is_in_time(hold):
                order.has_ended("failed", order.unpaid_because)

    def settles(self, hold: ModelHold) -> None:
        """The provider has the money: the order has its units, or the buyer his money."""
        order = hold.order
        assert order is not None
        if self.is_in_time(hold):
            hold.status = "converted"
        elif self.in_use(hold.customer) + len(hold.labels) <= PER_CUSTOMER and self.are_free(hold.labels):
            hold.status, hold.is_retaken = "expired", True
        else:
            order.payments[-1] = "refunded"
            order.has_ended("failed", "expired_while_paying")
            return
        order.payments[-1] = "succeeded"
        order.kept = len(hold.labels) * PRICE
        order.has_ended("confirmed")

    def refunds(self, hold: ModelHold, labels: frozenset[str] | None, *, restock: bool) -> str:
        """What the organizer hears who gives these back, or all that is left."""
        order = hold.order
        assert order is not None
        if not order.is_live and not order.returned:
            return "nothing-to-refund"
        if labels is not None and labels - hold.sold:
            return "invalid"
        wanted = hold.sold if labels is None else labels
        if not wanted:
            return "nothing-to-refund"
        order.returned |= wanted
        order.kept -= len(wanted) * PRICE
        if not restock:
            self.blocked |= wanted
        is_all = order.returned == hold.labels
        if is_all:
            order.payments[-1] = "refunded"
        order.has_ended("refunded" if is_all else "partially_refunded")
        return "200"

    def cancels(self, hold: ModelHold) -> str:
        order = hold.order
        assert order is not None
        if order.status != "pending" or order.is_paying or not self.is_in_time(hold):
            return "invalid-transition"
        hold.status = "released"
        order.has_ended("cancelled")
        return "cancelled"

    def releases(self, hold: ModelHold) -> str:
        if hold.is_paying:
            return "checkout-in-progress"
        if hold.status == "released":
            return "released"
        if not self.is_in_time(hold):
            return "hold-converted" if hold.status == "converted" else "hold-expired"
        hold.has_ended("released")
        return "released"
