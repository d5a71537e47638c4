"""A sale that is paid for, at the mock provider's real server, and the calls that tests of orders make on it."""

from dataclasses import dataclass
from typing import Any

from reservations.checkout import recovery
from tests.contract import expect
from tests.contract.sale import Sale
from tests.support import database, feed
from tests.support.psp import Psp
from tests.support.rows import unique

ORDER = {
    *("id", "hold", "event", "status", "reason", "customer", "buyer", "total", "items"),
    *("payments", "refunds", "tickets", "timeline", "created_at"),
}
PAYMENT = {"id", "status", "amount", "captured", "provider", "provider_reference", "decline_code", "created_at"}
REFUND = {"id", "status", "amount", "items", "reason", "restock", "created_at"}
PAY, IN_PROGRESS = "/v1/orders", {"order"}


def key(text: str = "") -> dict[str, str]:
    """The header of an idempotency key, of a new one unless it is named."""
    return {"Idempotency-Key": text or unique("key")}


@dataclass(frozen=True)
class Till:
    """Units that cost something, and who pays for them. `name` is an idempotency key, by default a new one."""

    sale: Sale
    psp: Psp

    def pay(self, hold: Any, method: str | None = "tok_ok", name: str = "", **more: Any) -> Any:
        """POST /v1/orders; no payment for None."""
        body = {"hold": hold["id"], **more}
        if method is not None:
            body["payment"] = {"method": method}
        return self.sale.api.post(PAY, body, headers=key(name))

    def sold(self, *labels: str, **more: Any) -> Any:
        """The confirmed order of these units, by default of all."""
        return expect.body(self.pay(self.sale.hold(labels=list(labels) or self.sale.labels), **more), 201)

    def declined(self, hold: Any) -> str:
        """The id of an order that could not be paid."""
        refused = expect.problem(self.pay(hold, "tok_declined"), 402, "payment-declined", {"decline_code", "order"})
        return str(refused["order"])

    def unknown(self, hold: Any, method: str = "tok_reset_after_charge", name: str = "") -> Any:
        """A pending order: the provider took the money, and nobody heard of it."""
        return expect.body(self.pay(hold, method, name), 202)

    def order(self, order: Any) -> Any:
        """As its GET shows it; takes an order or its id."""
        return expect.body(self.sale.api.get(f"/v1/orders/{identity(order)}"))

    def hold(self, hold: Any) -> Any:
        return expect.body(self.sale.api.get(f"/v1/holds/{hold['id']}"))

    def refund(self, order: Any, name: str = "", **body: Any) -> Any:
        return self.sale.api.post(f"/v1/orders/{identity(order)}/refund", body, headers=key(name))

    def refunded(self, order: Any, **body: Any) -> Any:
        return expect.body(self.refund(order, **body))

    def cancel(self, order: Any) -> Any:
        return self.sale.api.post(f"/v1/orders/{identity(order)}/cancel")

    def later(self, seconds: float = 61) -> None:
        """So much later a worker looks at what is due."""
        database.advance_clock(seconds)
        recovery.work_due()

    def charges(self, order: Any) -> list[Any]:
        """What the provider took for this order, by its own books."""
        mine = [f"hf-{payment['id']}" for payment in self.order(order)["payments"]]
        return [charge for name in mine for charge in self.psp.charges(name) if charge["status"] == "succeeded"]

    def kept(self, order: Any) -> int:
        """What it took and did not give back."""
        return sum(charge["amount"] - charge["refunded"] for charge in self.charges(order))

    def told(self, subject: Any) -> list[str]:
        """The types of all messages about it."""
        return feed.types(feed.read(self.sale.api, f"subject={identity(subject)}"))


def identity(thing: Any) -> str:
    return str(thing["id"] if isinstance(thing, dict) else thing)
