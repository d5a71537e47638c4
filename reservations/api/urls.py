from django.urls import path

from reservations.api import callbacks, events, holds, orders, payment_accounts, tickets, units

urlpatterns = [
    path("events", events.Events.as_view()),
    path("events/<uuid:event_id>", events.OneEvent.as_view()),
    path("events/<uuid:event_id>/publish", events.PublishEvent.as_view()),
    path("events/<uuid:event_id>/pause", events.PauseEvent.as_view()),
    path("events/<uuid:event_id>/resume", events.ResumeEvent.as_view()),
    path("events/<uuid:event_id>/close", events.CloseEvent.as_view()),
    path("events/<uuid:event_id>/availability", events.EventAvailability.as_view()),
    path("events/<uuid:event_id>/units", units.Units.as_view()),
    path("events/<uuid:event_id>/units/block", units.BlockUnits.as_view()),
    path("events/<uuid:event_id>/units/unblock", units.UnblockUnits.as_view()),
    path("holds", holds.Holds.as_view()),
    path("holds/<uuid:hold_id>", holds.OneHold.as_view()),
    path("holds/<uuid:hold_id>/extend", holds.ExtendHold.as_view()),
    path("holds/<uuid:hold_id>/release", holds.ReleaseHold.as_view()),
    path("payment-accounts", payment_accounts.PaymentAccounts.as_view()),
    path("orders", orders.Orders.as_view()),
    path("orders/<uuid:order_id>", orders.OneOrder.as_view()),
    path("orders/<uuid:order_id>/refund", orders.RefundOrder.as_view()),
    path("orders/<uuid:order_id>/cancel", orders.CancelOrder.as_view()),
    path("payments/callbacks/<str:provider>/<uuid:account_id>", callbacks.PaymentCallbacks.as_view()),
    path("orders/<uuid:order_id>/tickets", tickets.TicketsOfOrder.as_view()),
    path("tickets/redeem", tickets.RedeemTicket.as_view()),
    path("tickets/<uuid:ticket_id>/qr.svg", tickets.TicketQr.as_view()),
]
