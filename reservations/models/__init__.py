"""What is sold, who has a claim on it, and who has paid. One model a file: states, fields, constraints."""

from reservations.models.difference import Difference, DifferenceKind
from reservations.models.event import Event, EventKind, EventStatus, PausedReason
from reservations.models.hold import Hold, HoldStatus
from reservations.models.order import FailureReason, Order, OrderStatus
from reservations.models.payment import Payment, PaymentStatus
from reservations.models.payment_account import PaymentAccount, PaymentAccountStatus, Provider
from reservations.models.provider_callback import ProviderCallback
from reservations.models.refund import Refund, RefundStatus
from reservations.models.ticket import Ticket, TicketStatus
from reservations.models.unit import Unit, UnitStatus

__all__ = [
    "Difference",
    "DifferenceKind",
    "Event",
    "EventKind",
    "EventStatus",
    "FailureReason",
    "Hold",
    "HoldStatus",
    "Order",
    "OrderStatus",
    "PausedReason",
    "Payment",
    "PaymentAccount",
    "PaymentAccountStatus",
    "PaymentStatus",
    "Provider",
    "ProviderCallback",
    "Refund",
    "RefundStatus",
    "Ticket",
    "TicketStatus",
    "Unit",
    "UnitStatus",
]
