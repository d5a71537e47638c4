"""Times in requests: any offset, but one; days that have an hour twice; years that are out of range."""

from typing import Any

import pytest

from tests.contract import expect
from tests.contract.sale import EVENT
from tests.support.client import Api


def create(client: Api, value: Any) -> Any:
    return client.post("/v1/events", EVENT | {"starts_at": value})


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("2026-11-29T20:00:00Z", "2026-11-29T20:00:00Z"),
        ("2026-11-29t20:00:00z", "2026-11-29T20:00:00Z"),
        ("2026-11-29T21:00:00+01:00", "2026-11-29T20:00:00Z"),
        ("2026-11-30T05:45:00+09:45", "2026-11-29T20:00:00Z"),
        ("2026-11-29T08:00:00-12:00", "2026-11-29T20:00:00Z"),
        ("2026-11-29T20:00:00-00:00", "2026-11-29T20:00:00Z"),
        ("2026-11-29T20:00:00.5Z", "2026-11-29T20:00:00.500000Z"),
        ("2026-11-29T20:00:00.123456789Z", "2026-11-29T20:00:00.123456Z"),
        # 25 October 2026 has 02:30 twice in Berlin, an hour apart
        ("2026-10-25T02:30:00+02:00", "2026-10-25T00:30:00Z"),
        ("2026-10-25T02:30:00+01:00", "2026-10-25T01:30:00Z"),
        # 29 March 2026 has no 02:30 there; with an offset the instant is plain
        ("2026-03-29T02:30:00+01:00", "2026-03-29T01:30:00Z"),
        ("2028-02-29T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("2000-01-01T00:00:00Z", "2000-01-01T00:00:00Z"),
        ("2199-12-31T23:59:59Z", "2199-12-31T23:59:59Z"),
    ],
)
def test_an_instant_is_kept_whatever_offset_it_was_given_with(client: Api, given: str, shown: str) -> None:
    event = expect.body(create(client, given), 201)
    assert expect.moment(event["starts_at"]) == expect.moment(shown)
    assert expect.body(client.get(f"/v1/events/{event['id']}"))["starts_at"] == event["starts_at"]


def test_both_half_past_twos_of_a_night_that_has_it_twice_are_kept_apart(client: Api) -> None:
    times = {"starts_at": "2026-10-25T02:30:00+02:00", "ends_at": "2026-10-25T02:30:00+01:00"}
    event = expect.body(client.post("/v1/events", EVENT | times), 201)
    assert (expect.moment(event["ends_at"]) - expect.moment(event["starts_at"])).total_seconds() == 3600


def test_a_time_that_was_shown_may_be_sent_back_as_it_is(client: Api) -> None:
    event = expect.body(create(client, "2026-11-29T20:00:00.123456+05:30"), 201)
    path = f"/v1/events/{event['id']}"
    assert expect.body(client.patch(path, {"starts_at": event["starts_at"]})) == event


@pytest.mark.parametrize(
    "given",
    [
        "2026-11-29T20:00:00",
        "2026-11-29 20:00:00Z",
        "2026-11-29",
        "20:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-11-29T25:00:00Z",
        "2026-11-29T20:60:00Z",
        "2026-11-29T20:00:00+25:00",
        "2026-11-29T20:00:00+0100",
        "2026-11-29T20:00Z",
        "2026-W48-7T20:00:00Z",
        "٢٠٢٦-11-29T20:00:00Z",
        "2026-11-29T20:00:00Z\n",
        "P9999999999D",
        "now",
        "",
        0,
        1795982400,
        1e30,
        True,
        [],
        {},
    ],
)
def test_what_is_no_time_with_an_offset_is_refused(client: Api, given: Any) -> None:
    assert expect.faults(create(client, given)) == {"/starts_at": "invalid"}
    assert expect.body(client.get("/v1/events"))["data"] == []


@pytest.mark.parametrize(
    "given",
    [
        "9999-12-31T23:59:59-14:00",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00Z",
        "1999-12-31T23:59:59Z",
        "2000-01-01T00:00:00+00:01",
        "2200-01-01T00:00:00Z",
    ],
)
def test_a_time_out_of_range_is_refused_and_no_fault_of_ours(client: Api, given: str) -> None:
    assert expect.faults(create(client, given)) == {"/starts_at": "out_of_range"}
    assert expect.body(client.get("/v1/events"))["data"] == []


def test_the_year_zero_is_refused(client: Api) -> None:
    assert expect.pointers(create(client, "0000-01-01T00:00:00Z")) == ["/starts_at"]


@pytest.mark.parametrize("name", ["starts_at", "ends_at"])
def test_times_of_units_follow_the_same_rules(client: Api, name: str) -> None:
    event = expect.body(client.post("/v1/events", EVENT), 201)
    path = f"/v1/events/{event['id']}/units"
    for wrong in ("2026-11-29T20:00:00", "9999-12-31T23:59:59-14:00", 5):
        answer = client.post(path, {"units": [{"label": "A-1", name: wrong}]})
        assert expect.pointers(answer) == [f"/units/0/{name}"]
    made = client.post(path, {"units": [{"label": "A-1", name: "2026-10-25T02:30:00+01:00"}]})
    assert expect.body(made, 201) == {"created": 1}
    (unit,) = expect.body(client.get(path))["data"]
    assert unit[name] == "2026-10-25T01:30:00Z"


def test_a_unit_must_end_after_it_starts(client: Api) -> None:
    event = expect.body(client.post("/v1/events", EVENT), 201)
    path = f"/v1/events/{event['id']}/units"
    unit = {"label": "A-1", "starts_at": "2026-10-25T02:30:00+02:00", "ends_at": "2026-10-25T02:30:00+02:00"}
    assert expect.pointers(client.post(path, {"units": [unit]})) == ["/units/0/ends_at"]
    unit["ends_at"] = "2026-10-25T02:30:00+01:00"
    assert expect.body(client.post(path, {"units": [unit]}), 201) == {"created": 1}
