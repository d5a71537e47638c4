"""A sale that is paid for at the mock provider's real server: what tests do at it, and the judge of what came of it."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings

from holdfast.kernel.clock import Now
from holdfast.kernel.ids import new_id
from reservations.checkout import mock_signature, recovery
from reservations.checkout.lease import LEASE_SECONDS
from reservations.checkout.mock import MockProvider
from reservations.checkout.provider import RefundOrder, RefundOutcome
from reservations.invariants.checker import breaches
from reservations.models import (
    Event,
    Order,
    OrderStatus,
    Payment,
    PaymentAccount,
    ProviderCallback,
    Refund,
    Ticket,
    Unit,
    UnitStatus,
)
from reservations.models.order import LIVE_ORDER
from tenants.scope import tenant_transaction
from tests.support import database, paying
from tests.support.acts import buy, release
from tests.support.client import Api
from tests.support.psp import Psp
from webhooks.models import Message

PRICE = 2500
# what a worker takes up
LOOKED_AT: Sequence[Any] = (Payment, Refund, ProviderCallback)
# for all looks of one that tells nothing
LOOKS = (2, 5, 15, 61, 300, 900, 3600)


@dataclass
class Sale:
    """An event of seats at PRICE each. Whatever is asked answers in a word; see `tests.support.paying`."""

    tenant: UUID
    event: Event
    units: Sequence[Unit]
    psp: Psp
    key: str

    def hold(self, *labels: str, customer: str = "ada") -> str:
        """The id of a new hold: of all units, where none is named."""
        wanted = list(labels) or [unit.label for unit in self.units]
        return str(UUID(buy(self.tenant, str(self.event.id), customer, labels=wanted)))

    def pay(self, hold: str, method: str | None = "tok_ok", key: str = "") -> str:
        return paying.pay(self.tenant, hold, key or f"pay-{new_id()}", method)

    def refund(self, order: str, units: Sequence[str] | None = None, key: str = "", *, restock: bool = True) -> str:
        return paying.refund(self.tenant, order, key or f"refund-{new_id()}", units, restock=restock)

    def cancel(self, order: str) -> str:
        return paying.cancel(self.tenant, order)

    def release(self, hold: str) -> str:
        return release(self.tenant, hold)

    def sell(self, *labels: str, customer: str = "ada") -> str:
        """The id of a confirmed order."""
        hold = self.hold(*labels, customer=customer)
        assert self.pay(hold) == "201"
        return str(self.order(hold).id)

    def recover(self, seconds: float = LEASE_SECONDS + 1) -> int:
        """So much later a worker looks at what is due; how much of that was of this sale."""
        database.advance_clock(seconds)
        with tenant_transaction(self.tenant):
            due = sum(model.objects.filter(look_at__lte=Now()).count() for model in LOOKED_AT)
        recovery.work_due()
        return due

    def recover_fully(self) -> None:
        """Look again and again, until there is nothing left to look at."""
        for seconds in LOOKS:
            if self.is_settled():
                break
            self.recover(seconds)
        assert self.is_settled()

    def account(self) -> PaymentAccount:
        with tenant_transaction(self.tenant):
            return PaymentAccount.objects.get()

    def tell(self, reference: str, event_id: str = "") -> int:
        """A callback comes about that, signed as the provider signs; the status it is answered with."""
        account = self.account()
        body = orjson.dumps({"id": event_id or f"mev_{new_id()}", "type": "charge.succeeded", "reference": reference})
        signature = mock_signature.sign(body, mock_signature.callback_secrets(str(account.id))[0], int(time.time()))
        path = f"/v1/payments/callbacks/mock/{account.id}"
        return int(Api(None).post(path, body, headers={mock_signature.HEADER: signature}).status_code)

    def there(self) -> MockProvider:
        """The account as the organizer uses it, past HoldFast."""
        return MockProvider(self.psp.url, str(self.account().id))

    def refund_there(self, charge: str, amount: int) -> None:
        """The organizer gives money back at the provider."""
        order = RefundOrder(f"there-{new_id()}", charge, amount, "EUR", f"{settings.PUBLIC_URL}/nobody")
        assert self.there().refund(order).outcome == RefundOutcome.SUCCEEDED

    def tickets(self) -> list[Ticket]:
        with tenant_transaction(self.tenant):
            return list(Ticket.objects.order_by("id"))

    def callbacks(self) -> Sequence[ProviderCallback]:
        with tenant_transaction(self.tenant):
            return list(ProviderCallback.objects.order_by("id"))

    def is_settled(self) -> bool:
        with tenant_transaction(self.tenant):
            return not any(model.objects.filter(look_at__isnull=False).exists() for model in LOOKED_AT)

    def order(self, hold: str) -> Order:
        with tenant_transaction(self.tenant):
            return Order.objects.get(hold_id=hold)

    def orders(self) -> Sequence[Order]:
        with tenant_transaction(self.tenant):
            return list(Order.objects.order_by("id"))

    def payments(self, hold: str) -> Sequence[Payment]:
        with tenant_transaction(self.tenant):
            return list(Payment.objects.filter(order__hold_id=hold).order_by("id"))

    def statuses(self) -> dict[str, str]:
        """Of each unit, by its label."""
        with tenant_transaction(self.tenant):
            return dict(Unit.objects.filter(event=self.event).order_by("label").values_list("label", "status"))

    def story(self, hold: str) -> tuple[str, str | None, list[str], list[str]]:
        """Order, reason, payments, refunds."""
        order = self.order(hold)
        with tenant_transaction(self.tenant):
            payments = Payment.objects.filter(order=order).order_by("id").values_list("status", flat=True)
            refunds = Refund.objects.filter(order=order).order_by("id").values_list("status", flat=True)
            return order.status, order.reason, list(payments), list(refunds)

    def charges(self, hold: str) -> list[dict[str, Any]]:
        """What the provider's books have of this hold's payments."""
        return [charge for payment in self.payments(hold) for charge in self.psp.charges(payment.provider_key)]

    def kept(self, order: Order) -> int:
        """What the provider took for this order and did not give back."""
        charges = [charge for charge in self.charges(str(order.hold_id)) if charge["status"] == "succeeded"]
        return sum(charge["amount"] - charge["refunded"] for charge in charges)

    def judge(self, *, extra: int = 0) -> None:
        """Money, tickets, units, messages and promises agree, now that nobody is at work on anything any more; `extra`
        is what a person let the provider take beyond the price."""
        assert self.is_settled()
        orders = self.orders()
        with tenant_transaction(self.tenant):
            tickets = list(Ticket.objects.all())
            sold = dict(Unit.objects.filter(status=UnitStatus.SOLD).values_list("id", "order_id"))
        for order in orders:
            mine = [ticket for ticket in tickets if ticket.order_id == order.id and not ticket.returned]
            is_live = order.status in LIVE_ORDER
            assert self.kept(order) == (sum(ticket.price_amount for ticket in mine) + extra * is_live), order.status
            assert is_live == bool(mine), order.status
            assert not any(ticket.refund_id for ticket in mine)
            assert order.status != OrderStatus.PENDING or self.kept(order) == 0
        assert sold == {ticket.unit_id: ticket.order_id for ticket in tickets if not ticket.returned}
        self._judge_messages(orders, tickets)
        assert not any(breaches(self.tenant).values()), breaches(self.tenant)

    def _judge_messages(self, orders: Sequence[Order], tickets: Sequence[Ticket]) -> None:
        """Each was told once, in the order in which it happened."""
        for order in orders:
            told = self.told(order.id)
            first = [f"order.{order.status if order.confirmed_at is None else 'confirmed'}"]
            assert told[:1] == (first if order.status != OrderStatus.PENDING else []), told
            assert set(told[1:]) <= {"order.partially_refunded", "order.refunded"}, told
            assert told.count("order.refunded") == (order.status == OrderStatus.REFUNDED), told
        for ticket in tickets:
            assert Counter(self.told(ticket.id))["ticket.issued"] == 1

    def told(self, subject: UUID | str) -> list[str]:
        """What was said of it, without gaps."""
        with tenant_transaction(self.tenant):
            said = list(Message.objects.filter(subject_id=subject).order_by("sequence").values_list("type", "sequence"))
        assert [sequence for _, sequence in said] == list(range(1, len(said) + 1))
        return [kind for kind, _ in said]
