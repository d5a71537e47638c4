"""What happened to an event or a hold: what, when, by whom; from the outbox."""

import re
from html import unescape

from reservations import jobs
from reservations.admin.timeline import CHECK_FAILED, LINES_MAX
from reservations.operations.events import pause_event, pause_event_for_invariant, resume_event
from reservations.operations.holds import extend_hold
from tenants.actor import acting_as, current_actor
from tenants.models import User
from tenants.scope import tenant_transaction
from tests.admin.conftest import browser_of, page
from webhooks.models import Message

LINE = re.compile(r"<li [^>]*><time[^>]*>(.*?)</time><span[^>]*>(.*?)</span><span>(.*?)</span></li>")
KEY = re.compile(r"API key .+ \(hf_\w+_…\)")


def lines(browser, name: str, row) -> list[tuple[str, str]]:
    """What and who, line by line."""
    text = browser.get(page(f"reservations_{name}_change", row)).content.decode()
    return [(unescape(what), unescape(who)) for _, what, who in LINE.findall(text)]


def messages_of(tenant) -> list[tuple[str, str]]:
    with tenant_transaction(tenant.id):
        return list(Message.objects.order_by("id").values_list("type", "actor"))


def test_a_hold_tells_who_did_what_the_newest_last(tenant, make_event, make_units, make_member, api):
    event = make_event(tenant)
    make_units(tenant, event, labels=["A-1"])
    hold = api(tenant).post("/v1/holds", {"event": str(event.id), "labels": ["A-1"], "customer": "ada"}).json()
    api(tenant).post(f"/v1/holds/{hold['id']}/extend", {})
    member = make_member(tenant, "support", login=f"grace-{tenant.slug}@example.org")
    browser = browser_of(member.user)
    browser.post(page("reservations_hold_release"), {"hold": hold["id"], "reason": "She <called>"})
    (held, by_key), (extended, _), released = lines(browser, "hold", hold["id"])
    assert (held[:12], extended[:16]) == ("Held: until ", "Extended: until ")
    assert re.search(r" \d\d:\d\d:\d\d CES?T$", extended)
    assert KEY.fullmatch(by_key)
    assert released == ("Released: She <called>", f"grace-{tenant.slug}@example.org (support)")


def test_an_event_tells_its_moves(tenant, make_event, sign_in, make_member):
    event = make_event(tenant, status="draft")
    owner = make_member(tenant, "owner")
    browser = browser_of(owner.user)
    address = page("reservations_event_change", event.id)
    for move in ("publish", "pause", "resume"):
        browser.post(address, {"CHANGE_FORM-action": move, "_selected_action": event.id})
    pause_event(tenant_id=tenant.id, event_id=event.id)
    who = f"{owner.user.get_username()} (owner)"
    assert lines(sign_in(tenant, "viewer"), "event", event.id) == [
        ("Published", who),
        ("Paused", who),
        ("Resumed", who),
        ("Paused", "HoldFast"),
    ]


def test_platform_staff_are_named_as_that(tenant, make_event):
    event = make_event(tenant)
    staff = User.objects.create_superuser(f"root-{tenant.slug}", password="a long password")
    browser = browser_of(staff)
    browser.post(page("tenant"), {"tenant": tenant.slug})
    browser.post(
        page("reservations_event_change", event.id),
        {"CHANGE_FORM-action": "close", "_selected_action": event.id, "sure": "yes"},
    )
    assert lines(browser, "event", event.id)[-1] == ("Closed", f"root-{tenant.slug} (platform staff)")


def test_an_expiry_is_nobodys_call_even_if_a_call_came_upon_it(tenant, furnish, api, shift_clock, sign_in):
    place = furnish(tenant)
    shift_clock(601)
    taken = api(tenant).post("/v1/holds", {"event": str(place.event.id), "labels": ["A-1"], "customer": "alan"})
    assert taken.status_code == 201
    browser = sign_in(tenant)
    assert lines(browser, "hold", place.hold.id)[-1] == ("Expired", "expiry")
    assert KEY.fullmatch(lines(browser, "hold", taken.json()["id"])[0][1])


def test_a_job_that_expires_says_so(tenant, furnish, shift_clock):
    place = furnish(tenant)
    shift_clock(601)
    assert jobs.expire_holds(str(tenant.id), [str(place.hold.id)]) == 1
    assert messages_of(tenant)[-1] == ("hold.expired", "expiry")


def test_a_pause_by_a_check_tells_why(tenant, make_event, sign_in, monkeypatch):
    event = make_event(tenant)
    monkeypatch.setattr(jobs, "watch", lambda: pause_event_for_invariant(tenant_id=tenant.id, event_id=event.id))
    jobs.watch_invariants()
    last = lines(sign_in(tenant), "event", event.id)[-1]
    assert last == (f"Paused: {CHECK_FAILED}", "watch over the invariants")


def test_it_shows_the_latest_and_says_that_there_were_more(tenant, make_event, sign_in):
    event = make_event(tenant)
    browser = sign_in(tenant)
    for move in [pause_event, resume_event] * (LINES_MAX // 2):
        move(tenant_id=tenant.id, event_id=event.id)
    shown = lines(browser, "event", event.id)
    assert (len(shown), shown[0][0], shown[-1][0]) == (LINES_MAX, "Paused", "Resumed")
    text = browser.get(page("reservations_event_change", event.id)).content.decode()
    assert f"The latest {LINES_MAX}." in text


def test_a_long_timeline_costs_as_many_statements_as_a_short_one(tenant, furnish, sign_in, queries):
    place = furnish(tenant)
    browser = sign_in(tenant)
    addresses = [page("reservations_event_change", place.event.id), page("reservations_hold_change", place.hold.id)]

    def costs() -> list[int]:
        found = []
        for address in addresses:
            browser.get(address)
            with queries() as seen:
                browser.get(address)
            found.append(seen.count)
        return found

    before = costs()
    for _ in range(2):
        extend_hold(tenant_id=tenant.id, hold_id=place.hold.id)
        pause_event(tenant_id=tenant.id, event_id=place.event.id)
        resume_event(tenant_id=tenant.id, event_id=place.event.id)
    assert costs() == before


def test_another_tenants_facts_are_not_there(make_tenant, furnish, sign_in):
    mine, other = make_tenant(), make_tenant()
    place, theirs = furnish(mine), furnish(other)
    with acting_as("their-secret@example.org (owner)"):
        pause_event(tenant_id=other.id, event_id=theirs.event.id)
    browser = sign_in(mine)
    for name, row in (("event", place.event.id), ("hold", place.hold.id)):
        text = browser.get(page(f"reservations_{name}_change", row)).content.decode()
        assert 'id="timeline"' in text
        assert "their-secret" not in text


def test_the_api_never_names_the_actor(tenant, furnish, api):
    with acting_as("somebody@example.org (owner)"):
        place = furnish(tenant)
    assert ("hold.created", "somebody@example.org (owner)") in messages_of(tenant)
    with tenant_transaction(tenant.id):
        message = Message.objects.get(type="hold.created")
    for path in ("webhooks/messages", f"webhooks/messages/{message.id}", f"holds/{place.hold.id}"):
        answer = api(tenant).get(f"/v1/{path}")
        assert answer.status_code == 200
        assert "actor" not in answer.text
        assert "somebody@" not in answer.text


def test_what_one_call_says_of_itself_ends_with_it(tenant, api):
    assert api(tenant).get("/v1/events").status_code == 200
    assert api(None).get("/v1/events").status_code == 401
    assert current_actor() == ""


def test_a_name_that_is_too_long_costs_no_fact(tenant, make_event):
    with acting_as("x" * 500):
        make_event(tenant)
    assert messages_of(tenant) == [("event.published", "x" * 200)]
