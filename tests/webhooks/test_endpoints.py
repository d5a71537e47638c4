"""Endpoints and what their people do with them."""

import pytest

from holdfast.kernel.errors import Invalid, NotFound
from tenants.scope import tenant_transaction
from tests.webhooks.post import FAILED, HOURS, OK, Post
from tests.webhooks.test_delivering import signature
from webhooks.errors import EndpointDisabled, TooManyEndpoints, TooManySecrets
from webhooks.models import Delivery, Endpoint
from webhooks.operations import endpoints as operations
from webhooks.operations.deliveries import retry_delivery
from webhooks.operations.endpoints import (
    ENDPOINTS_MAX,
    OVERLAP_SECONDS,
    change_endpoint,
    create_endpoint,
    delete_endpoint,
    disable_endpoint,
    enable_endpoint,
    ping_endpoint,
    rotate_secret,
)
from webhooks.queries.deliveries import delivery_json, get_delivery, one_delivery_json
from webhooks.queries.endpoints import endpoint_json, endpoints, get_endpoint
from webhooks.relay import relay
from webhooks.signing_secrets import SIGNING_MAX

URL = "https://hooks.example.org/in"


def named(post) -> dict:
    return {"tenant_id": post.tenant, "endpoint_id": post.id}


def test_a_secret_is_shown_once_and_stored_unreadably(tenant):
    endpoint, secret = create_endpoint(tenant_id=tenant.id, url=URL, events=["hold.*", "hold.*", "ping"])
    assert secret.startswith("whsec_")
    stored = Endpoint.everywhere.get(id=endpoint.id)
    assert stored.events == ["hold.*", "ping"]
    assert secret.encode() not in bytes(stored.secrets)
    assert secret.removeprefix("whsec_").encode() not in bytes(stored.secrets)
    with tenant_transaction(tenant.id):
        shown = endpoint_json(get_endpoint(endpoint.id))
    assert (shown["url"], shown["status"], shown["disabled_reason"]) == (URL, "enabled", None)
    assert secret not in str(shown)


@pytest.mark.parametrize(
    ("fields", "pointers"),
    [
        ({"url": "http://10.0.0.1/"}, ["/url"]),
        ({"url": "https://169.254.169.254/latest"}, ["/url"]),
        ({"events": []}, ["/events"]),
        ({"events": ["hold.*", "*", "hold.forgotten"]}, ["/events/1", "/events/2"]),
        ({"description": "x" * 201}, ["/description"]),
        ({"url": "ftp://a.example.org", "events": ["x"]}, ["/url", "/events/0"]),
    ],
)
def test_what_can_not_be_is_refused_in_making_and_in_changing(post, fields, pointers):
    with pytest.raises(Invalid) as refused:
        create_endpoint(tenant_id=post.tenant, **{"url": URL, "events": ["hold.*"]} | fields)
    assert [error.place for error in refused.value.errors] == pointers
    before = Endpoint.everywhere.filter(id=post.id).values().get()
    with pytest.raises(Invalid):
        change_endpoint(**named(post), **fields)
    assert Endpoint.everywhere.filter(id=post.id).values().get() == before


def test_a_tenant_has_fifty_at_the_most_however_many_ask_at_once(tenant, run_together, monkeypatch):
    assert ENDPOINTS_MAX == 50
    monkeypatch.setattr(operations, "ENDPOINTS_MAX", 3)
    made = run_together([lambda: create_endpoint(tenant_id=tenant.id, url=URL, events=["ping"])] * 6)
    assert sum(isinstance(each, tuple) for each in made) == 3
    assert sum(isinstance(each, TooManyEndpoints) for each in made) == 3


def test_a_change_changes_what_is_named_and_nothing_else(post):
    changed = change_endpoint(**named(post), events=["order.*"])
    assert (changed.url, changed.events) == (post.place.url, ["order.*"])
    post.say()
    relay(post.tenant)
    assert post.deliveries() == []


def test_disabling_and_enabling_twice_are_as_once(post):
    for _ in range(2):
        endpoint = disable_endpoint(**named(post))
        assert (endpoint.status, endpoint.disabled_reason) == ("disabled", "organizer")
    for _ in range(2):
        endpoint = enable_endpoint(**named(post))
        assert (endpoint.status, endpoint.disabled_reason) == ("enabled", None)


def test_a_deleted_one_is_unknown_to_everybody_and_its_secrets_are_gone(post):
    post.tell()
    delete_endpoint(**named(post))
    assert bytes(post.endpoint.secrets) == b""
    for verb in (change_endpoint, disable_endpoint, enable_endpoint, delete_endpoint, rotate_secret, ping_endpoint):
        with pytest.raises(NotFound):
            verb(**named(post))
    with tenant_transaction(post.tenant):
        assert not endpoints().exists()
        with pytest.raises(NotFound):
            get_endpoint(post.id)
    assert post.claim() == []


def test_another_tenants_endpoint_is_unknown(post, make_tenant):
    other = make_tenant()
    for verb in (change_endpoint, disable_endpoint, enable_endpoint, delete_endpoint, rotate_secret, ping_endpoint):
        with pytest.raises(NotFound):
            verb(tenant_id=other.id, endpoint_id=post.id)
    assert post.endpoint.status == "enabled"


# --- secrets


def signatures(post) -> list[str]:
    post.tell()
    assert post.carry() == 1
    return post.place.received[-1].headers["webhook-signature"].split(" ")


def test_while_a_rotation_overlaps_both_secrets_sign_and_after_it_the_new_one_alone(post, shift_clock):
    old = post.secrets[post.id]
    _, new = rotate_secret(**named(post))
    hook = lambda: post.place.received[-1]  # noqa: E731 - the latest
    assert signatures(post) == [signature(new, hook()), signature(old, hook())]
    shift_clock(OVERLAP_SECONDS - 60)
    assert signatures(post) == [signature(new, hook()), signature(old, hook())]
    shift_clock(61)
    assert signatures(post) == [signature(new, hook())]


def test_rotated_twice_each_earlier_secret_signs_until_its_own_end(post, shift_clock):
    first = post.secrets[post.id]
    _, second = rotate_secret(**named(post), overlap_seconds=2 * HOURS)
    shift_clock(HOURS)
    _, third = rotate_secret(**named(post), overlap_seconds=2 * HOURS)
    assert signatures(post) == [signature(each, post.place.received[-1]) for each in (third, second, first)]
    shift_clock(HOURS + 1)
    assert signatures(post) == [signature(each, post.place.received[-1]) for each in (third, second)]


def test_a_secret_signs_until_its_overlap_ends_however_often_it_is_rotated(post):
    known = [post.secrets[post.id], *(rotate_secret(**named(post))[1] for _ in range(SIGNING_MAX - 1))]
    assert signatures(post) == [signature(each, post.place.received[-1]) for each in reversed(known)]


def test_a_rotation_for_which_one_would_stop_too_early_is_refused(make_tenant, api, hooks, shift_clock):
    tenant = make_tenant()
    post = Post(tenant.id, hooks)
    post.listen()
    for _ in range(SIGNING_MAX - 1):
        rotate_secret(**named(post))
    before = bytes(post.endpoint.secrets)
    answer = api(tenant).post(f"/v1/webhooks/endpoints/{post.id}/rotate-secret", {})
    assert answer.status_code == 409
    assert (answer.json()["type"], answer.json()["limit"]) == ("/problems/too-many-secrets", SIGNING_MAX)
    assert bytes(post.endpoint.secrets) == before
    shift_clock(OVERLAP_SECONDS + 1)
    rotate_secret(**named(post))
    assert len(signatures(post)) == 2


def test_a_secret_that_others_have_seen_is_rotated_however_many_sign(post):
    for _ in range(SIGNING_MAX - 1):
        rotate_secret(**named(post))
    with pytest.raises(TooManySecrets):
        rotate_secret(**named(post))
    _, last = rotate_secret(**named(post), overlap_seconds=0)
    assert signatures(post) == [signature(last, post.place.received[-1])]


def test_without_an_overlap_no_earlier_secret_signs_any_more(post):
    rotate_secret(**named(post))
    _, last = rotate_secret(**named(post), overlap_seconds=0)
    assert signatures(post) == [signature(last, post.place.received[-1])]


def test_deliveries_that_wait_are_signed_by_the_secrets_of_their_attempt(post):
    post.tell()
    _, new = rotate_secret(**named(post), overlap_seconds=0)
    post.carry()
    assert post.place.received[-1].headers["webhook-signature"] == signature(new, post.place.received[-1])


@pytest.mark.parametrize("seconds", [-1, 7 * 24 * 3600 + 1])
def test_an_overlap_has_its_limits(post, seconds):
    with pytest.raises(Invalid) as refused:
        rotate_secret(**named(post), overlap_seconds=seconds)
    assert refused.value.errors[0].place == "/overlap_seconds"


# --- ping and retry


def test_a_ping_goes_to_this_endpoint_alone_though_it_asks_for_none(post):
    other = post.listen(["ping", "endpoint.*"])
    delivery_id = ping_endpoint(**named(post))
    assert post.waiting() == 0
    relay(post.tenant)
    assert (post.carry(), post.carry(endpoint_id=other.id)) == (1, 0)
    message = post.place.received[0].message
    assert (message["type"], message["sequence"]) == ("ping", 1)
    assert message["subject"] == {"type": "endpoint", "id": str(post.id)}
    assert message["data"]["url"] == post.place.url
    with tenant_transaction(post.tenant):
        shown = one_delivery_json(get_delivery(delivery_id))
    assert (shown["type"], shown["status"], shown["attempts_made"]) == ("ping", "delivered", 1)
    ping_endpoint(**named(post))
    post.carry()
    assert post.place.received[1].message["sequence"] == 2


def test_a_delivery_is_shown_with_its_attempts(post):
    (delivery,) = post.tell()
    post.place.answers(503, b"busy")
    post.carry()
    with tenant_transaction(post.tenant):
        shown = one_delivery_json(get_delivery(delivery.id))
    (attempt,) = shown.pop("attempts")
    assert attempt.pop("duration_ms") >= 0
    assert attempt.pop("at").endswith("Z")
    assert attempt == {"outcome": "rejected", "status_code": 503, "response": "busy"}
    assert set(shown) == {
        *("id", "endpoint", "message", "type", "status", "attempts_made", "next_attempt_at", "created_at"),
    }
    assert (shown["status"], shown["endpoint"]) == ("pending", str(post.id))
    disable_endpoint(**named(post))
    with tenant_transaction(post.tenant):
        assert delivery_json(get_delivery(delivery.id))["next_attempt_at"] is None


def test_a_dead_letter_is_retried_with_its_id_and_a_whole_schedule(post, shift_clock):
    (delivery,) = post.tell()
    post.place.answers(500)
    for _ in range(10):
        post.carry()
        shift_clock(30 * HOURS)
    delivery.refresh_from_db(using="maintenance")
    assert delivery.status == "dead"
    enable_endpoint(**named(post))
    retry_delivery(tenant_id=post.tenant, delivery_id=delivery.id)
    assert post.carry() == 1
    delivery.refresh_from_db(using="maintenance")
    assert (delivery.status, delivery.attempts_made) == ("pending", 11)
    post.place.answers(200)
    shift_clock(HOURS)
    post.carry()
    assert set(post.place.ids) == {str(delivery.message_id)}
    assert len(post.attempts(delivery)) == 12


def test_what_people_retry_is_on_top_of_the_schedule(post, shift_clock):
    (delivery,) = post.tell()
    retry_delivery(tenant_id=post.tenant, delivery_id=delivery.id)
    for _ in range(12):
        post.answer(FAILED)
        enable_endpoint(**named(post))
        retry_delivery(tenant_id=post.tenant, delivery_id=delivery.id)
    post.answer(FAILED)
    delivery.refresh_from_db(using="maintenance")
    assert (delivery.status, delivery.attempts_made, delivery.attempts_before) == ("pending", 13, 12)
    for _ in range(9):
        shift_clock(30 * HOURS)
        assert post.answer(FAILED) == 1
        enable_endpoint(**named(post))
    delivery.refresh_from_db(using="maintenance")
    assert (delivery.status, delivery.attempts_made) == ("dead", 22)


def test_a_delivered_one_is_sent_once_more_and_one_that_waits_at_once(post):
    (delivered,) = post.tell()
    post.carry()
    (waiting,) = post.tell()
    post.place.answers(500)
    post.carry()
    post.place.answers(200)
    for delivery in (delivered, waiting):
        retry_delivery(tenant_id=post.tenant, delivery_id=delivery.id)
    assert post.carry() == 2
    assert sorted(post.place.ids) == sorted([str(delivered.message_id), str(waiting.message_id)] * 2)


def test_one_that_is_being_sent_is_left_alone(post):
    (delivery,) = post.tell()
    (claimed,) = post.claim()
    before = Delivery.everywhere.filter(id=delivery.id).values().get()
    retry_delivery(tenant_id=post.tenant, delivery_id=delivery.id)
    assert Delivery.everywhere.filter(id=delivery.id).values().get() == before
    assert post.claim() == []
    assert claimed.fence == before["fence"]


def test_nothing_is_sent_to_a_disabled_endpoint_by_hand(post):
    (delivery,) = post.tell()
    post.answer(OK)
    disable_endpoint(**named(post))
    for verb in (
        lambda: ping_endpoint(**named(post)),
        lambda: retry_delivery(tenant_id=post.tenant, delivery_id=delivery.id),
    ):
        with pytest.raises(EndpointDisabled):
            verb()
    assert len(post.deliveries()) == 1


def test_another_tenants_delivery_is_unknown(post, make_tenant):
    (delivery,) = post.tell()
    with pytest.raises(NotFound):
        retry_delivery(tenant_id=make_tenant().id, delivery_id=delivery.id)
