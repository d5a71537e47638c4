"""Webhooks in the admin: where things are told, how it goes, and what managers do about it."""

import re
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session

from holdfast.kernel.clock import database_now
from tenants.scope import tenant_transaction
from tests.admin.conftest import make_ping, page, said
from tests.support.hooks import Hooks, receiving_hooks
from tests.webhooks.post import DAYS, FAILED, OK, Post
from webhooks import replay as replays
from webhooks.admin.words import OUTCOMES, REASONS
from webhooks.models import Attempt, Delivery, DisabledReason, Endpoint, Replay
from webhooks.models.attempt import OUTCOMES as ALL_OUTCOMES
from webhooks.operations.endpoints import disable_endpoint

LIST, ADD, CHANGE = (f"webhooks_endpoint_{name}" for name in ("changelist", "add", "change"))
ROTATE, REPLAY, DELETE = (f"webhooks_endpoint_{name}" for name in ("rotate", "replay", "delete"))
DELIVERIES, DELIVERY = "webhooks_delivery_changelist", "webhooks_delivery_change"
NEW = {"url": "https://shop.example.org/hooks", "events": ["hold.*", "order.confirmed"], "description": "Web shop"}
SINCE = {"since": "2020-01-01T00:00", "status": "all"}
SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]{20,}")
SIGNATURE = re.compile(r"v1,[A-Za-z0-9+/=]{20,}")


@pytest.fixture(scope="module")
def hooks() -> Iterator[Hooks]:
    with receiving_hooks() as running:
        yield running


@pytest.fixture
def post(tenant, hooks, shift_clock) -> Post:
    """The tenant of the test has an endpoint that listens."""
    post = Post(tenant.id, hooks)
    post.listen()
    return post


@pytest.fixture
def browser(tenant, sign_in):
    return sign_in(tenant, "manager")


def text_of(browser, name: str, *args: object, **query: object) -> str:
    answer = browser.get(page(name, *args, **query))
    assert answer.status_code == 200
    return answer.content.decode()


def press(browser, name: str, row: object, action: str):
    return browser.post(page(name, row), {"CHANGE_FORM-action": action, "_selected_action": row})


def endpoints_of(tenant) -> list[Endpoint]:
    with tenant_transaction(tenant.id):
        return list(Endpoint.objects.filter(deleted_at=None).order_by("id"))


def errors(answer) -> str:
    form = answer.context["adminform"].form if "adminform" in answer.context else answer.context["form"]
    return str(form.errors)


def as_shown(endpoint: Endpoint) -> dict[str, str]:
    """What the page that is open sends along of what it showed."""
    return {
        "initial-url": endpoint.url,
        "initial-events": ", ".join(endpoint.events),
        "initial-description": endpoint.description,
    }


def kill(post: Post, count: int) -> list[Delivery]:
    """So many dead letters."""
    told = post.tell(count)
    with tenant_transaction(post.tenant):
        Delivery.objects.filter(id__in=[one.id for one in told]).update(
            status="dead", look_at=None, settled_at=database_now(), attempts_made=10
        )
    return told


def statuses(post: Post) -> list[str]:
    return [delivery.status for delivery in post.deliveries()]


def test_a_new_endpoint_shows_its_secret_once(tenant, browser):
    answer = browser.post(page(ADD), NEW)
    (secret,) = set(SECRET.findall(answer.content.decode()))
    (endpoint,) = endpoints_of(tenant)
    assert (endpoint.url, endpoint.events, endpoint.description) == tuple(NEW.values())
    logged = " ".join(f"{entry.object_repr} {entry.change_message}" for entry in LogEntry.objects.all())
    assert secret not in logged
    assert not any(secret in str(session.get_decoded()) for session in Session.objects.all())
    for address in (page(LIST), page(CHANGE, endpoint.id), page("webhooks_endpoint_history", endpoint.id)):
        shown = browser.get(address).content.decode()
        assert "shop.example.org" in shown
        assert not SECRET.search(shown)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"url": "http://shop.example.org/"}, "url"),
        ({"url": "https://10.0.0.1/"}, "url"),
        ({"url": "https://user@example.org/"}, "url"),
        ({"url": ""}, "url"),
        ({"url": "https://example.org/" + "x" * 2048}, "url"),
        ({"events": []}, "events"),
        ({"events": ["everything"]}, "events"),
        ({"description": "x" * 201}, "description"),
        ({"description": "bell\x07"}, "description"),
    ],
)
def test_an_endpoint_that_makes_no_sense_is_refused(change, field, tenant, browser):
    answer = browser.post(page(ADD), NEW | change)
    assert answer.status_code == 200
    assert field in answer.context["adminform"].form.errors
    assert endpoints_of(tenant) == []


def test_an_endpoint_is_changed_and_what_was_left_alone_stays(post, tenant, browser):
    before = post.endpoint
    form = {**NEW, "url": before.url, "events": ["ticket.*"], **as_shown(before)}
    assert browser.post(page(CHANGE, post.id), form).status_code == 302
    after = post.endpoint
    assert (after.url, after.events, after.description) == (before.url, ["ticket.*"], "Web shop")
    assert bytes(after.secrets) == bytes(before.secrets)


def test_a_form_that_is_sent_as_it_was_shown_changes_nothing(post, browser):
    before = post.endpoint
    form = {"url": before.url, "events": before.events, "description": before.description, **as_shown(before)}
    assert browser.post(page(CHANGE, post.id), form).status_code == 302
    assert post.endpoint.events == before.events


def test_what_another_changed_meanwhile_is_not_overwritten(post, browser):
    opened = as_shown(post.endpoint)
    first = {"url": post.endpoint.url, "events": ["ticket.*"], "description": "", **opened}
    assert browser.post(page(CHANGE, post.id), first).status_code == 302
    answer = browser.post(page(CHANGE, post.id), first | {"events": ["event.*"]})
    assert "Somebody changed this meanwhile, from “hold.*” to “ticket.*”" in errors(answer)
    assert post.endpoint.events == ["ticket.*"]


def test_a_rotated_secret_is_shown_once_and_the_one_before_signs_until_the_overlap_ends(post, browser, shift_clock):
    assert "The secret of now signs, too" in text_of(browser, ROTATE, post.id)
    answer = browser.post(page(ROTATE, post.id), {"overlap": "3600"})
    (secret,) = set(SECRET.findall(answer.content.decode()))
    assert secret != post.secrets[post.id]
    assert "for an hour" in answer.content.decode()
    for later, signatures in ((0, 2), (3700, 1)):
        shift_clock(later)
        post.tell()
        post.carry()
        assert len(SIGNATURE.findall(post.place.received[-1].headers["webhook-signature"])) == signatures
    assert "Secret rotated." in text_of(browser, "webhooks_endpoint_history", post.id)


@pytest.mark.parametrize("overlap", ["", "-1", "7", "x"])
def test_an_overlap_that_is_not_offered_rotates_nothing(overlap, post, browser):
    before = bytes(post.endpoint.secrets)
    answer = browser.post(page(ROTATE, post.id), {"overlap": overlap})
    assert "overlap" in errors(answer)
    assert not SECRET.search(answer.content.decode())
    assert bytes(post.endpoint.secrets) == before


def test_a_ping_leads_to_the_page_that_says_what_came_of_it(post, browser):
    answer = press(browser, CHANGE, post.id, "ping")
    (delivery,) = post.deliveries()
    assert answer["Location"] == page(DELIVERY, delivery.id)
    post.place.answers(500, b"<script>alert(1)</script> out of paper")
    post.carry()
    shown = text_of(browser, DELIVERY, delivery.id)
    assert "It answered something else than 2xx." in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt; out of paper" in shown
    assert "<script>alert(1)" not in shown
    assert re.search(r"\d+ ms", shown)
    assert not SECRET.search(shown)
    assert not SIGNATURE.search(shown)


def test_an_endpoint_is_disabled_and_enabled(post, browser):
    press(browser, CHANGE, post.id, "disable")
    assert post.endpoint.disabled_reason == DisabledReason.ORGANIZER
    assert "A person disabled it." in text_of(browser, LIST)
    assert "enable it first" in said(press(browser, CHANGE, post.id, "ping"))
    assert post.deliveries() == []
    form = {"action": "enable", "_selected_action": [post.id]}
    assert "is enabled" in said(browser.post(page(LIST), form))
    assert post.endpoint.disabled_reason is None


def test_only_the_buttons_that_do_something_are_there(post, browser):
    def buttons() -> set[str]:
        return {name for name, _ in browser.get(page(CHANGE, post.id)).context["object_actions"]}

    assert buttons() == {"ping", "disable"}
    post.tell()
    post.answer(FAILED)
    assert buttons() == {"ping", "disable", "enable"}
    press(browser, CHANGE, post.id, "disable")
    assert buttons() == {"enable"}


def test_the_list_says_how_an_endpoint_does(post, browser, shift_clock):
    post.tell()
    post.answer(OK)
    row = cells(browser)
    assert (row["state"], row["failures"], row["waiting"], row["dead"]) == ("enabled", "0", "0", "0")
    assert row["last_success"].endswith("UTC")
    kill(post, 2)
    post.tell(5)
    while post.answer(FAILED):
        pass
    row = cells(browser)
    assert (row["state"], row["failures"], row["waiting"], row["dead"]) == ("resting", "5", "5", "2")
    assert row["resting_until"].endswith("UTC")
    shift_clock(3600)
    row = cells(browser)
    assert (row["state"], row["resting_until"]) == ("failing", "")
    shift_clock(6 * DAYS)
    for _ in range(5):
        post.answer(FAILED)
        shift_clock(1 * DAYS)
    row = cells(browser)
    assert (row["state"], row["why_disabled"]) == ("disabled", "Nothing could be delivered to it for five days.")


def cells(browser) -> dict[str, str]:
    """The one row of the list of endpoints, by column."""
    columns = re.findall(r"field-(\w+)[^>]*>(.*?)</t[dh]>", text_of(browser, LIST), re.DOTALL)
    return {name: " ".join(re.sub(r"<[^>]+>", "", cell).split()) for name, cell in columns}


def test_a_deleted_endpoint_is_gone_with_its_deliveries(post, tenant, browser):
    (dead,) = kill(post, 1)
    assert str(post.id) in text_of(browser, DELETE, post.id)
    assert browser.post(page(DELETE, post.id), {"post": "yes"}).status_code == 302
    assert endpoints_of(tenant) == []
    assert str(dead.id) not in text_of(browser, DELIVERIES)
    for name, row in ((CHANGE, post.id), (ROTATE, post.id), (REPLAY, post.id), (DELIVERY, dead.id)):
        assert browser.get(page(name, row)).status_code == 302


def test_deliveries_are_found_by_endpoint_status_type_and_id(post, tenant, browser):
    pending, dead = *post.tell(), *kill(post, 1)
    ping = make_ping(tenant)

    def found(**query: object) -> set[object]:
        answer = browser.get(page(DELIVERIES, **query))
        assert answer.status_code == 200
        return {delivery.id for delivery in answer.context["cl"].result_list}

    assert found() == {pending.id, dead.id, ping.id}
    assert found(endpoint=post.id) == {pending.id, dead.id}
    assert found(status__exact="dead") == {dead.id}
    assert found(type="ping") == {ping.id}
    assert found(endpoint=post.id, status__exact="pending") == {pending.id}
    assert found(q=dead.id) == found(q=dead.message_id) == {dead.id}
    assert found(q="nonsense") == found(q=uuid4()) == found(endpoint="nonsense") == set()


def test_dead_letters_are_a_list_of_their_own_with_a_count(post, tenant, sign_in, browser):
    kill(post, 3)
    (entry,) = [item for item in sidebar(browser) if item["title"] == "Dead letters"]
    assert entry["badge"] == 3
    answer = browser.get(entry["link"])
    assert (answer.context["title"], answer.context["cl"].result_count) == ("Dead letters", 3)
    assert "Dead letters" not in text_of(sign_in(tenant, "viewer"), "reservations_event_changelist")


def sidebar(browser) -> list[dict]:
    groups = browser.get(page("reservations_event_changelist")).context["sidebar_navigation"]
    return [item for group in groups for item in group["items"]]


def test_dead_letters_are_retried_some_at_a_time(post, browser):
    dead = kill(post, 3)
    form = {"action": "retry", "_selected_action": [one.id for one in dead[:2]]}
    assert "2 deliveries are tried now." in said(browser.post(page(DELIVERIES), form))
    assert statuses(post) == ["pending", "pending", "dead"]
    assert post.carry() == 2
    assert "It is tried now." in said(press(browser, DELIVERY, dead[2].id, "retry"))
    assert post.carry() == 1
    assert statuses(post) == ["delivered"] * 3


def test_a_retry_that_is_refused_keeps_no_other_from_being_made(post, tenant, browser):
    dead = kill(post, 1)
    ping = make_ping(tenant)
    disable_endpoint(tenant_id=tenant.id, endpoint_id=ping.endpoint_id)
    form = {"action": "retry", "_selected_action": [dead[0].id, ping.id]}
    answer = said(browser.post(page(DELIVERIES), form))
    assert "It is tried now." in answer
    assert "Not retried." in answer
    assert "enable it first" in answer
    assert statuses(post) == ["pending"]


def test_more_than_a_hundred_are_left_to_a_replay(post, browser):
    dead = kill(post, 101)
    form = {"action": "retry", "_selected_action": [one.id for one in dead], "select_across": "1"}
    assert "Retry at most 100 at a time" in said(browser.post(page(DELIVERIES), form))
    assert set(statuses(post)) == {"dead"}


def test_a_replay_is_counted_first_then_begun_and_its_progress_shown(post, tenant, browser):
    kill(post, 2)
    post.tell()
    post.answer(OK)
    counted = browser.post(page(REPLAY, post.id), SINCE | {"_count": ""})
    assert "That is 3 messages." in counted.content.decode()
    assert replays_of(tenant) == []
    answer = browser.post(page(REPLAY, post.id), SINCE | {"status": "dead", "_begin": ""})
    assert answer["Location"] == page(CHANGE, post.id)
    assert "2 messages to tell once more" in said(answer)
    (begun,) = replays_of(tenant)
    assert (begun.matched, begun.status, begun.types) == (2, "dead", sorted(begun.types))
    assert "0 of 2" in text_of(browser, CHANGE, post.id)
    replays.carry_on(tenant.id, begun.id)
    post.answer(OK, count=1)
    shown = text_of(browser, CHANGE, post.id)
    assert "2 of 2" in shown
    (row,) = browser.get(page(CHANGE, post.id)).context["replays"]
    assert (row["state"], row["pending"], row["delivered"], row["dead"]) == ("done", 1, 1, 0)


def replays_of(tenant) -> list[Replay]:
    with tenant_transaction(tenant.id):
        return list(Replay.objects.order_by("id"))


def test_a_replay_takes_types_and_an_end(post, tenant, browser):
    post.tell()
    form = SINCE | {"until": "2021-01-01T00:00", "types": ["order.*"], "_begin": ""}
    assert "0 messages" in said(browser.post(page(REPLAY, post.id), form))
    (begun,) = replays_of(tenant)
    assert (begun.until.isoformat(), begun.types[0]) == ("2021-01-01T00:00:00+00:00", "order.cancelled")


@pytest.mark.parametrize("button", ["_begin", "_count"])
@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"since": ""}, "since"),
        ({"since": "yesterday"}, "since"),
        ({"since": "9999-12-31T23:59"}, "since"),
        ({"until": "2019-01-01T00:00"}, "until"),
        ({"types": ["everything"]}, "types"),
        ({"status": "delivered"}, "status"),
    ],
)
def test_a_replay_that_makes_no_sense_is_refused(change, field, button, post, tenant, browser):
    answer = browser.post(page(REPLAY, post.id), SINCE | change | {button: ""})
    assert answer.status_code == 200
    assert field in answer.context["form"].errors
    assert replays_of(tenant) == []


def test_nothing_is_replayed_to_a_disabled_endpoint(post, tenant, browser):
    disable_endpoint(tenant_id=tenant.id, endpoint_id=post.id)
    assert "enable it first" in errors(browser.post(page(REPLAY, post.id), SINCE))
    assert replays_of(tenant) == []


def test_a_page_says_when_a_delivery_is_tried_next(post, tenant, browser, shift_clock):
    (delivery,) = post.tell()

    def next_attempt() -> str:
        shown = text_of(browser, DELIVERIES, q=delivery.id)
        return " ".join(re.search(r"field-next_attempt[^>]*>(.*?)</td>", shown, re.DOTALL)[1].split())

    assert next_attempt() == "as soon as a worker of webhooks is free"
    post.claim()
    assert next_attempt() == "it is being sent"
    shift_clock(61)
    assert next_attempt() == "as soon as a worker of webhooks is free"
    post.answer(FAILED)
    assert next_attempt().endswith("UTC")
    disable_endpoint(tenant_id=tenant.id, endpoint_id=post.id)
    assert next_attempt() == "when its endpoint is enabled"


def test_the_latest_of_many_attempts_are_shown(post, browser):
    (delivery,) = post.tell()
    with tenant_transaction(post.tenant):
        Attempt.objects.bulk_create(
            Attempt(
                tenant_id=post.tenant,
                delivery=delivery,
                at=database_now(),
                duration_ms=1,
                outcome="rejected",
                status_code=500,
                response=f"answer {number}.",
            )
            for number in range(60)
        )
    shown = text_of(browser, DELIVERY, delivery.id)
    assert "The latest 50." in shown
    assert "answer 59." in shown
    assert "answer 9." not in shown


def test_there_are_words_for_whatever_may_become_of_an_attempt_or_an_endpoint():
    assert set(OUTCOMES) == set(ALL_OUTCOMES)
    assert set(REASONS) == set(DisabledReason.values)


def test_pages_cost_as_many_statements_with_many_rows_as_with_few(post, tenant, browser, queries):
    few = kill(post, 1)[0]
    browser.post(page(REPLAY, post.id), SINCE)
    addresses = [page(LIST), page(CHANGE, post.id), page(DELIVERIES), page(DELIVERY, few.id), page(REPLAY, post.id)]
    addresses += [page(DELIVERIES, status__exact="dead"), page(ROTATE, post.id)]

    def costs() -> list[int]:
        return [cost(browser, queries, address) for address in addresses]

    costs()
    before = costs()
    for _ in range(6):
        make_ping(tenant)
        browser.post(page(REPLAY, post.id), SINCE)
    kill(post, 30)
    post.answer(OK)
    assert costs() == before
    assert max(before) <= 25


def cost(browser, queries: Callable, address: str) -> int:
    with queries() as seen, queries("maintenance") as across:
        assert browser.get(address).status_code == 200
    return int(seen.count + across.count)


@pytest.mark.parametrize("role", ["support", "viewer", "scanner"])
def test_who_may_not_manage_does_nothing_to_webhooks(role, post, tenant, sign_in):
    (dead,) = kill(post, 1)
    before = post.endpoint.status, bytes(post.endpoint.secrets)
    browser = sign_in(tenant, role)
    for address, form in (
        (page(ADD), NEW),
        (page(CHANGE, post.id), NEW),
        (page(CHANGE, post.id), {"CHANGE_FORM-action": "disable", "_selected_action": post.id}),
        (page(LIST), {"action": "disable", "_selected_action": [post.id]}),
        (page(ROTATE, post.id), {"overlap": "0"}),
        (page(REPLAY, post.id), SINCE),
        (page(DELETE, post.id), {"post": "yes"}),
        (page(DELIVERY, dead.id), {"CHANGE_FORM-action": "retry", "_selected_action": dead.id}),
        (page(DELIVERIES), {"action": "retry", "_selected_action": [dead.id]}),
    ):
        assert browser.post(address, form).status_code == 403, address
    assert (post.endpoint.status, bytes(post.endpoint.secrets)) == before
    assert len(endpoints_of(tenant)) == 1
    assert (replays_of(tenant), statuses(post)) == ([], ["dead"])
