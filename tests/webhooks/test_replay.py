"""The past told once more: what is chosen, how fast, and what a crash leaves."""

from datetime import timedelta

import pytest
from django.db import connection

from holdfast.kernel.clock import database_now
from holdfast.kernel.errors import Invalid, NotFound
from tenants.scope import tenant_transaction
from tests.webhooks.post import FAILED, OK
from webhooks import replay as replays
from webhooks.errors import EndpointDisabled
from webhooks.models import Delivery, Replay
from webhooks.operations.endpoints import delete_endpoint, disable_endpoint, enable_endpoint, ping_endpoint
from webhooks.operations.replays import Selection, begin_replay
from webhooks.queries.replays import get_replay, replay_json
from webhooks.relay import relay

LONG_AGO = timedelta(days=3650)


def begin(post, **selection) -> Replay:
    selection = {"since": database_now() - LONG_AGO} | selection
    return begin_replay(tenant_id=post.tenant, endpoint_id=post.id, selection=Selection(**selection))


def shown(post, replay: Replay) -> dict:
    with tenant_transaction(post.tenant):
        return replay_json(get_replay(replay.id))


def carry_on(post, replay: Replay) -> bool:
    return replays.carry_on(post.tenant, replay.id) is not None


def state(replay: Replay) -> tuple:
    replay.refresh_from_db(using="maintenance")
    return replay.state, replay.queued


def deliver_all(post) -> None:
    while post.answer(OK):
        pass


def test_what_happened_while_it_was_disabled_is_told_and_keeps_its_id(post, shift_clock):
    post.tell()
    post.carry()
    disable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    missed = post.say(2)
    enable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    assert post.claim() == []
    shift_clock(400)
    replay = begin(post)
    assert replay.matched == 3
    assert carry_on(post, replay)
    assert state(replay) == ("done", 3)
    assert post.carry() == 3
    assert sorted(post.place.ids[1:]) == sorted([post.place.ids[0], *map(str, missed)])
    again = [hook for hook in post.place.received if hook.id == post.place.ids[0]]
    assert again[0].body == again[1].body
    assert int(again[1].headers["webhook-timestamp"]) - int(again[0].headers["webhook-timestamp"]) >= 400
    assert shown(post, replay) | {"delivered": 3, "pending": 0, "dead": 0} == shown(post, replay)


def test_what_is_on_its_way_already_is_not_sent_twice(post):
    post.tell(2)
    replay = begin(post)
    assert replay.matched == 2
    carry_on(post, replay)
    assert [(each.status, each.replay_id) for each in post.deliveries()] == [("pending", None)] * 2
    assert (post.carry(), post.carry()) == (2, 0)


def test_dead_letters_alone_are_told_if_that_is_asked_for(post):
    delivered, dead = post.tell(2)
    post.answer(OK, count=1)
    with tenant_transaction(post.tenant):
        Delivery.objects.filter(id=dead.id).update(status="dead", look_at=None, settled_at=database_now())
    post.say()  # told to nobody yet
    replay = begin(post, status="dead")
    assert replay.matched == 1
    carry_on(post, replay)
    assert post.answer(OK) == 1
    assert [each.status for each in post.deliveries()] == ["delivered", "delivered"]
    assert begin(post, status="dead").matched == 0
    assert delivered.id != dead.id


def test_the_time_and_the_types_choose(post, shift_clock):
    post.say(message_type="hold.created")
    shift_clock(100)
    since = database_now()
    (wanted,) = post.say(message_type="hold.created")
    post.say(message_type="hold.released")
    post.say(message_type="order.confirmed")
    shift_clock(100)
    until = database_now()
    post.say(message_type="hold.created")
    assert begin(post).matched == 4  # of what it asks for
    assert begin(post, types=["order.*"]).matched == 1  # of what is asked for now
    assert begin(post, since=since).matched == 3
    assert begin(post, until=until).matched == 3
    relay(post.tenant)
    deliver_all(post)
    replay = begin(post, since=since, until=until, types=["hold.created"])
    carry_on(post, replay)
    assert [claimed.headers["webhook-id"] for claimed in post.claim()] == [str(wanted)]


def test_pings_are_never_replayed(post):
    ping_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    assert begin(post, types=["ping"]).matched == 0


def test_what_is_said_after_it_began_is_not_its_business(post, shift_clock):
    shift_clock(1)
    post.say()
    shift_clock(1)
    replay = begin(post, until=database_now() + timedelta(days=1))
    shift_clock(1)
    post.say()
    carry_on(post, replay)
    assert (state(replay), len(post.deliveries())) == (("done", 1), 1)


def test_a_hundred_are_handed_over_at_a_time_with_a_pause(post, shift_clock):
    post.say(250)
    relay(post.tenant)
    replay = begin(post)
    seen = []
    for _ in range(3):
        assert carry_on(post, replay)
        seen.append(state(replay))
        assert not carry_on(post, replay)
        shift_clock(replays.PAUSE_SECONDS + 0.1)
    assert seen == [("running", 100), ("running", 200), ("done", 250)]
    assert not carry_on(post, replay)


def test_it_waits_while_so_many_of_it_are_on_their_way(post, shift_clock, monkeypatch):
    monkeypatch.setattr(replays, "BATCH_MAX", 4)
    monkeypatch.setattr(replays, "PENDING_MAX", 8)
    disable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    post.say(20)
    enable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    replay = begin(post)
    for _ in range(5):
        carry_on(post, replay)
        shift_clock(3)
    assert state(replay) == ("running", 8)
    post.answer(OK)
    carry_on(post, replay)
    assert state(replay) == ("running", 12)


def test_a_crash_in_the_middle_repeats_nothing_and_skips_nothing(post, shift_clock, monkeypatch):
    monkeypatch.setattr(replays, "BATCH_MAX", 4)
    messages = post.tell(10)
    while post.answer(OK):
        pass
    replay = begin(post)
    carry_on(post, replay)
    shift_clock(3)
    for step in ("_hand_over", "_pause"):
        with monkeypatch.context() as patch:
            patch.setattr(replays, step, _dies)
            with pytest.raises(ZeroDivisionError):
                carry_on(post, replay)
        assert state(replay) == ("running", 4)
    while state(replay)[0] == "running":
        carry_on(post, replay)
        shift_clock(3)
    assert state(replay) == ("done", 10)
    assert [each.replay_id for each in post.deliveries()] == [replay.id] * len(messages)
    for _ in range(3):
        post.answer(OK)
    assert [each.attempts_made for each in post.deliveries()] == [2] * 10


def _dies(*_: object) -> None:
    raise ZeroDivisionError


def test_two_who_carry_on_at_once_hand_over_each_batch_once(post, run_together):
    post.tell(150)
    replay = begin(post)
    run_together([lambda: carry_on(post, replay)] * 4)
    assert state(replay) == ("running", 100)


@pytest.mark.parametrize("end", [disable_endpoint, delete_endpoint])
def test_it_stops_when_its_endpoint_is_disabled_or_deleted(post, end):
    post.say(2)
    replay = begin(post)
    end(tenant_id=post.tenant, endpoint_id=post.id)
    assert not carry_on(post, replay)
    assert state(replay) == ("stopped", 0)
    assert post.deliveries() == []


@pytest.fixture
def all_are_due(monkeypatch):
    """Those that other tests left are due, too."""
    monkeypatch.setattr(replays, "DUE_MAX", 100_000)
    monkeypatch.setattr(replays, "WORK_SECONDS_MAX", 100)


def test_all_that_are_due_are_carried_on_and_their_endpoints_named(make_post, all_are_due):
    posts = [make_post() for _ in range(3)]
    begun = [(post.say(), begin(post)) for post in posts]
    found = replays.work_replays()
    assert {(post.tenant, post.id) for post in posts} <= set(found)
    assert [state(replay) for _, replay in begun] == [("done", 1)] * 3


def test_ten_thousand_are_the_most(post, monkeypatch):
    assert Replay.MATCHED_MAX == 10_000
    monkeypatch.setattr(Replay, "MATCHED_MAX", 3)
    post.say(3)
    assert begin(post).matched == 3
    post.say()
    with pytest.raises(Invalid) as refused:
        begin(post)
    assert refused.value.errors[0].place == "/since"


@pytest.mark.parametrize(
    ("selection", "pointer"),
    [
        ({"until": "since"}, "/until"),
        ({"types": []}, "/types"),
        ({"types": ["hold.*", "hold.never"]}, "/types/1"),
        ({"status": "delivered"}, "/status"),
    ],
)
def test_what_can_not_be_chosen_is_refused(post, selection, pointer):
    now = database_now()
    if selection.get("until"):
        selection = {"until": now}
    with pytest.raises(Invalid) as refused:
        begin(post, **{"since": now} | selection)
    assert refused.value.errors[0].place == pointer


def test_an_endpoint_that_is_disabled_or_unknown_is_told_nothing(post, make_tenant):
    selection = Selection(since=database_now())
    with pytest.raises(NotFound):
        begin_replay(tenant_id=make_tenant().id, endpoint_id=post.id, selection=selection)
    disable_endpoint(tenant_id=post.tenant, endpoint_id=post.id)
    with pytest.raises(EndpointDisabled):
        begin(post)


def test_another_tenants_replay_is_unknown(post, make_tenant):
    replay = begin(post)
    with pytest.raises(NotFound), tenant_transaction(make_tenant().id):
        get_replay(replay.id)


def test_what_fails_again_goes_by_a_whole_schedule(post):
    (delivery,) = post.tell()
    post.answer(OK)
    carry_on(post, begin(post))
    post.answer(FAILED)
    delivery.refresh_from_db(using="maintenance")
    assert (delivery.status, delivery.attempts_made, delivery.attempts_before) == ("pending", 2, 1)
    assert (delivery.look_at - database_now()).total_seconds() < 10


def test_replays_of_one_endpoint_run_one_after_the_other(post, shift_clock, all_are_due, monkeypatch):
    monkeypatch.setattr(replays, "PAUSE_SECONDS", 60)  # longer than a slow machine takes for what follows
    post.say(150)
    first, second = begin(post), begin(post)
    replays.work_replays()
    replays.work_replays()
    assert (state(first), state(second)) == (("running", 100), ("running", 0))
    for _ in range(2):
        shift_clock(replays.PAUSE_SECONDS + 0.1)
        replays.work_replays()
    assert (state(first), state(second)) == (("done", 150), ("running", 100))


def test_one_that_was_put_off_lets_the_next_of_its_endpoint_go_first(post, monkeypatch, all_are_due):
    post.say()
    first, second = begin(post), begin(post)
    with monkeypatch.context() as patch:
        patch.setattr(replays, "_hand_over", _dies)
        replays.work_replays()
    replays.work_replays()
    assert (state(first), state(second)) == (("running", 0), ("done", 1))


def test_tenants_take_turns_however_many_replays_one_has(make_post, monkeypatch):
    many, other = make_post(), make_post()
    for endpoint in [many.listen() for _ in range(5)]:
        begin_replay(tenant_id=many.tenant, endpoint_id=endpoint.id, selection=Selection(since=database_now()))
    other.say()
    replay = begin(other)
    due = Replay.everywhere.filter(look_at__lte=database_now())
    monkeypatch.setattr(replays, "DUE_MAX", due.values("tenant").distinct().count())
    replays.work_replays()
    assert state(replay) == ("done", 1)
    assert due.filter(tenant=many.tenant).count() == 4


def test_what_takes_long_is_left_to_the_next_round(make_post, monkeypatch, all_are_due):
    begun = [begin(make_post()) for _ in range(3)]
    monkeypatch.setattr(replays, "WORK_SECONDS_MAX", 0)
    replays.work_replays()
    assert [state(replay)[0] for replay in begun].count("done") <= 1


def test_the_search_goes_on_where_it_ended_by_an_index(post):
    now = database_now()
    replay = Replay(
        tenant_id=post.tenant,
        endpoint_id=post.id,
        since=now - LONG_AGO,
        until=now,
        types=["hold.created"],
        cursor_at=now - timedelta(days=1),
        cursor_id=post.id,
    )
    with tenant_transaction(post.tenant), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
        cursor.execute("SET LOCAL enable_sort = off")  # of an index that has the order there is no need of it
        plan = replays._next(replay).explain()
    (entered,) = [line for line in plan.splitlines() if "Index Cond" in line]
    assert "message_by_time" in plan
    assert f"occurred_at >= '{replay.cursor_at:%Y-%m-%d %H:%M:%S}" in entered
