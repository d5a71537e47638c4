"""What a payment amounts to as the answer to the call that began it: told when it ends, and told again to a replay."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from holdfast.kernel.errors import Refusal
from reservations.errors import HoldConverted, HoldExpired, HoldReleased, PaymentDeclined
from reservations.models import HoldStatus, Order, OrderStatus, Payment, PaymentStatus, RefundStatus
from reservations.models.order import LIVE_ORDER
from reservations.queries.orders import get_order, order_json

CONFIRMED, PENDING = 201, 202


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and a body without tokens; with the refusal that it is, where it is one. `replayed` says that it was
    told before, `resource_id` what else will be told of it later."""

    status: int
    body: Mapping[str, Any]
    refusal: Refusal | None = None
    replayed: bool = False
    resource_id: UUID | None = None

    @classmethod
    def refused(cls, refusal: Refusal) -> "Answer":
        return cls(refusal.status, refusal.document(), refusal)


def answer_of(payment: Payment, order: Any) -> Answer:
    """What has become of it: 201 confirmed, 202 still pending, 402 declined, 410 or 409 when its money goes back.
    `order` is its order, as `get_order` reads it."""
    match payment.status:
        case PaymentStatus.DECLINED:
            return Answer.refused(PaymentDeclined(order.id, payment.decline_code))
        case PaymentStatus.REFUNDING | PaymentStatus.REFUNDED if payment.decline_code and not _was_kept(payment):
            # the money came after that was told, and changes nothing for who asks again
            return Answer.refused(PaymentDeclined(order.id, payment.decline_code))
        case PaymentStatus.REFUNDING | PaymentStatus.REFUNDED if not _was_kept(payment):
            return Answer.refused(_why_it_went_back(order))
        case PaymentStatus.SUCCEEDED | PaymentStatus.REFUNDING | PaymentStatus.REFUNDED:
            return Answer(CONFIRMED, order_json(order))
    return Answer(PENDING, order_json(order))


def found_answer(payment_id: UUID) -> Answer:
    """What has become of a payment by now."""
    payment = Payment.objects.get(id=payment_id)
    return answer_of(payment, get_order(payment.order_id))


def confirmed_answer(order: Any) -> Answer:
    """Of an order, as `get_order` reads it, that asked for no payment."""
    return Answer(CONFIRMED, order_json(order))


def _was_kept(payment: Payment) -> bool:
    """Whether the order was confirmed by it, whatever was refunded later."""
    return not payment.refunds.filter(is_compensation=True).exclude(status=RefundStatus.FAILED).exists()


def _why_it_went_back(order: Order) -> Refusal:
    if order.status in (*LIVE_ORDER, OrderStatus.REFUNDED):
        return HoldConverted(order.id)
    if order.hold.status == HoldStatus.RELEASED:
        return HoldReleased(order=str(order.id))
    return HoldExpired(order=str(order.id))
