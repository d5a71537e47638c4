"""Which pages the organizers' admin has, in the order of its sidebar."""

from holdfast.admin_site import OrganizerSite
from reservations.admin.differences import DifferenceAdmin
from reservations.admin.events import EventAdmin
from reservations.admin.holds import HoldAdmin
from reservations.admin.orders import OrderAdmin
from reservations.admin.payment_accounts import PaymentAccountAdmin
from reservations.admin.tickets import TicketAdmin
from reservations.admin.units import UnitAdmin
from reservations.models import Difference, Event, Hold, Order, PaymentAccount, Ticket, Unit
from tenants.admin.api_keys import ApiKeyAdmin
from tenants.admin.members import MemberAdmin
from tenants.models import ApiKey, Membership
from webhooks.admin.deliveries import DeliveryAdmin
from webhooks.admin.endpoints import EndpointAdmin
from webhooks.models import Delivery, Endpoint

organizer_site = OrganizerSite()
organizer_site.register(Event, EventAdmin)
organizer_site.register(Unit, UnitAdmin)
organizer_site.register(Hold, HoldAdmin)
organizer_site.register(Order, OrderAdmin)
organizer_site.register(Ticket, TicketAdmin)
organizer_site.register(Difference, DifferenceAdmin)
organizer_site.register(PaymentAccount, PaymentAccountAdmin)
organizer_site.register(Endpoint, EndpointAdmin)
organizer_site.register(Delivery, DeliveryAdmin)
organizer_site.register(Membership, MemberAdmin)
organizer_site.register(ApiKey, ApiKeyAdmin)
