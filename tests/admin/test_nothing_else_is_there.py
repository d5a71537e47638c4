"""The site holds what it registers and nothing that other packages bring along."""

from django.urls import URLPattern, get_resolver

from holdfast.admin import organizer_site
from reservations.models import Difference, Event, Hold, Order, PaymentAccount, Ticket, Unit
from tenants.models import ApiKey, Membership
from webhooks.models import Delivery, Endpoint


def test_the_registered_models_are_these():
    of_sales = {Event, Unit, Hold, Order, Ticket, PaymentAccount, Difference}
    assert set(organizer_site._registry) == of_sales | {Membership, ApiKey, Endpoint, Delivery}


def test_no_address_leads_to_the_queues():
    todo = list(get_resolver().url_patterns)
    while todo:
        entry = todo.pop()
        if isinstance(entry, URLPattern):
            assert "rq" not in entry.callback.__module__.split("."), entry
            assert "rq" not in str(entry.pattern).replace("request", ""), entry
        else:
            todo += entry.url_patterns


def test_an_owner_who_is_staff_too_finds_no_queue(tenant, make_member, client):
    user = make_member(tenant, "owner").user
    user.is_staff = True
    user.save()
    client.force_login(user)
    for path in ("/django-rq/", "/rq/", "/admin/django_rq/", "/admin/django_rq/queue/", "/admin/rq/"):
        assert client.get(path).status_code == 404, path


def test_a_page_says_what_it_may_load(client, database_name):
    policy = client.get("/admin/login/")["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
