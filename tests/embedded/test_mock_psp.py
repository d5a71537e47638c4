"""What every program is told of the mock payment provider, and of its own address; and who has no mock."""

import json
import os
import signal
import socket

import pytest

from .conftest import Checkout, free_port, wait_for

pytestmark = pytest.mark.xdist_group("embedded supervisor")

GIVEN = {"DATABASE_URL": "postgresql://given@/x", "REDIS_URL": "redis://given"}
PRODUCTION = {
    "HOLDFAST_ENV": "production",
    "HOLDFAST_SECRET_KEY": "k" * 40,
    "HOLDFAST_ALLOWED_HOSTS": "tickets.example.org",
}


def environment(checkout: Checkout, **variables: str) -> dict[str, str]:
    code, out, err = checkout.run("manage", "environment", **GIVEN, **variables)
    assert code == 0, err
    told: dict[str, str] = json.loads(out)
    return told


def test_a_command_is_told_of_the_file_and_of_the_address_it_would_serve_at(checkout: Checkout) -> None:
    told = environment(checkout, HOLDFAST_PORT="8123")
    assert told["HOLDFAST_MOCK_PSP_FILE"] == f"{checkout.state}/dev/mock-psp/books.sqlite3"
    assert told["HOLDFAST_PUBLIC_URL"] == "http://127.0.0.1:8123"
    assert "HOLDFAST_MOCK_PSP_URL" not in told, "none has run here"


def test_what_is_given_is_kept(checkout: Checkout) -> None:
    given = {"HOLDFAST_PUBLIC_URL": "https://tickets.example.org", "HOLDFAST_MOCK_PSP_URL": "http://127.0.0.1:1"}
    told = environment(checkout, **given)
    assert given.items() <= told.items()
    assert "HOLDFAST_MOCK_PSP_FILE" not in told, "it is not ours"
    assert environment(checkout, HOLDFAST_MOCK_PSP_FILE="/books")["HOLDFAST_MOCK_PSP_FILE"] == "/books"


def test_production_has_none_and_refuses_one(checkout: Checkout) -> None:
    checkout.state.mkdir()  # the small application writes there, and nothing else of production's does
    assert not [name for name in environment(checkout, **PRODUCTION) if "MOCK" in name]
    for variable in ("HOLDFAST_MOCK_PSP_URL", "HOLDFAST_MOCK_PSP_FILE"):
        code, out, err = checkout.run("manage", "environment", **PRODUCTION, **{variable: "x"})
        assert (code, out) == (2, "")
        assert err.startswith(f"holdfast: {variable} ")
        assert err.count("\n") == 1


def mock_port(checkout: Checkout) -> int:
    return int((checkout.state / "dev" / "mock-psp" / "port").read_text())


def test_the_port_stays_the_same_and_is_given_up_to_whoever_has_it(checkout: Checkout) -> None:
    process = checkout.start_up(free_port(), **GIVEN)
    first = mock_port(checkout)
    assert checkout.pids("mock_psp", "--port", str(first))
    assert environment(checkout)["HOLDFAST_MOCK_PSP_URL"] == f"http://127.0.0.1:{first}"
    stop(process)

    process = checkout.start_up(free_port(), **GIVEN)
    assert mock_port(checkout) == first
    stop(process)

    with socket.create_server(("127.0.0.1", first)):
        process = checkout.start_up(free_port(), **GIVEN)
        assert mock_port(checkout) != first
        stop(process)
    (checkout.state / "dev" / "mock-psp" / "port").write_text("99999999 or so")
    process = checkout.start_up(free_port(), **GIVEN)
    assert checkout.pids("mock_psp", "--port", str(mock_port(checkout)))
    stop(process)
    assert checkout.pids() == []


def test_nothing_is_started_where_another_is_named_or_in_production(checkout: Checkout) -> None:
    for variables in ({"HOLDFAST_MOCK_PSP_URL": "http://127.0.0.1:1"}, PRODUCTION):
        process = checkout.start_up(free_port(), **GIVEN, **variables)
        wait_for("the others", lambda: checkout.pids("manage.py run_periodic"))
        assert checkout.pids("mock_psp") == []
        stop(process)


def stop(process) -> None:
    os.kill(process.pid, signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
