"""`up` and `demo` keep everything running, and leave nothing when they end."""

import http.client
import json
import os
import signal
import socket
import subprocess
import time

import pytest

from .conftest import Checkout, free_port, wait_for

pytestmark = pytest.mark.xdist_group("embedded supervisor")


def get(port: int, path: str) -> str:
    """The body of an answer; raises OSError when there is none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def end(process: subprocess.Popen[str], signal_number: int = signal.SIGTERM) -> tuple[int, str]:
    """Stop it; its exit code and what it said."""
    process.send_signal(signal_number)
    _, err = process.communicate(timeout=15)
    return process.returncode, err


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stopped_supervisor_leaves_nothing(checkout: Checkout, signal_number: int) -> None:
    port = free_port()
    process = checkout.start_up(port)
    assert get(port, "/pid").isdigit()

    code, err = end(process, signal_number)

    assert code == 0, err
    assert checkout.pids() == [], "at once: it waits for its services"


def test_a_killed_supervisor_leaves_nothing(checkout: Checkout) -> None:
    process = checkout.start_up(free_port())
    assert len(checkout.pids("granian")) == 3, "a master and two workers"

    process.kill()

    process.communicate()
    checkout.gone()


def test_a_second_ctrl_c_does_not_wait(checkout: Checkout) -> None:
    process = checkout.start_up(free_port())
    master = min(checkout.pids("granian"))
    os.kill(master, signal.SIGSTOP)
    started_at = time.monotonic()

    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    code, _ = end(process, signal.SIGINT)

    assert code == 0
    assert time.monotonic() - started_at < 5
    checkout.gone()


@pytest.mark.parametrize("service", ["postgres", "valkey"])
def test_a_killed_server_comes_back(checkout: Checkout, service: str) -> None:
    process = checkout.start_up(free_port())
    server = checkout.server_pid(service)

    os.kill(server, signal.SIGKILL)

    wait_for("another server", lambda: checkout.server_pid(service) != server)
    assert checkout.run("manage", "query", "select 1")[:2] == (0, "1\n")
    assert end(process)[0] == 0


def test_a_killed_keeper_comes_back_with_its_server(checkout: Checkout) -> None:
    process = checkout.start_up(free_port())
    (keeper,) = checkout.pids("keeper", "dev postgres")
    server = checkout.server_pid("postgres")

    os.kill(keeper, signal.SIGKILL)

    wait_for("another server", lambda: checkout.server_pid("postgres") != server)
    assert checkout.run("manage", "query", "select 1")[:2] == (0, "1\n")
    assert len(checkout.pids("keeper", "dev postgres")) == 1
    assert end(process)[0] == 0
    assert checkout.pids() == []


def test_a_killed_web_server_comes_back(checkout: Checkout) -> None:
    port = free_port()
    process = checkout.start_up(port)
    before = set(checkout.pids("granian"))

    os.kill(min(before), signal.SIGKILL)

    wait_for("the workers follow their master", lambda: not before & set(checkout.pids("granian")))
    assert wait_for("an answer", lambda: get(port, "/pid")).isdigit()
    code, err = end(process)
    assert code == 0
    assert "web ended with -9: starting it again" in err


def test_a_killed_web_worker_comes_back(checkout: Checkout) -> None:
    port = free_port()
    process = checkout.start_up(port, "--workers", "1")
    worker = int(get(port, "/pid"))

    os.kill(worker, signal.SIGKILL)

    assert wait_for("another worker", lambda: int(get(port, "/pid")) != worker)
    assert end(process)[0] == 0


def test_a_web_server_that_cannot_start_is_given_up(checkout: Checkout) -> None:
    process = checkout.start("up", "--port", str(free_port()), STUB_WEB="crash")

    _, err = process.communicate(timeout=40)

    assert process.returncode == 1
    assert err.splitlines()[-1].startswith("holdfast: web ended 4 times soon after its start")
    assert checkout.pids() == []


def test_a_command_runs_beside_up_and_leaves_it_alone(checkout: Checkout) -> None:
    port = free_port()
    process = checkout.start_up(port)
    servers = checkout.server_pid("postgres"), checkout.server_pid("valkey")

    assert checkout.run("manage", "query", "select 1")[:2] == (0, "1\n")

    assert (checkout.server_pid("postgres"), checkout.server_pid("valkey")) == servers
    assert get(port, "/pid").isdigit()
    assert end(process)[0] == 0


def test_a_busy_port_is_refused_before_anything_starts(checkout: Checkout) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        code, out, err = checkout.run("up", "--port", str(port))

    assert (code, out) == (2, "")
    assert err == f"holdfast: port {port} is in use: choose another with --port or HOLDFAST_PORT\n"
    assert not checkout.state.exists()


def test_a_second_up_on_the_same_port_is_refused(checkout: Checkout) -> None:
    port = free_port()
    process = checkout.start_up(port)

    code, _, err = checkout.run("up", "--port", str(port))

    assert code == 2
    assert f"port {port} is in use" in err
    assert end(process)[0] == 0


def test_the_demo_shows_how_to_make_a_hold(checkout: Checkout) -> None:
    port = free_port()
    process = checkout.start("demo", "--port", str(port))
    lines = [process.stdout.readline()]
    while "Stop with" not in lines[-1]:
        lines.append(process.stdout.readline())
        assert lines[-1], process.communicate()

    command = "".join(lines[lines.index('Hold one unit of "Gala":\n') + 2 : -2])
    answer = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)  # noqa: S602 - as pasted
    assert answer.stdout == 'Bearer hf_key {"event": "evt", "quantity": 1, "customer": "ada@example.org"}'
    assert f"http://127.0.0.1:{port}/admin/   ada / secret\n" in "".join(lines)
    assert end(process)[0] == 0
    assert checkout.pids() == []


def test_the_checked_demo_prints_its_hold_and_stops(checkout: Checkout) -> None:
    code, out, err = checkout.run("demo", "--check")

    assert code == 0, err
    assert json.loads(out.removeprefix("Bearer hf_key "))["event"] == "evt"
    assert checkout.pids() == []


def test_the_checked_demo_fails_without_a_hold(checkout: Checkout) -> None:
    code, out, err = checkout.run("demo", "--check", STUB_HOLDS="409 Conflict")

    assert (code, out) == (1, "")
    assert "/v1/holds answered 409" in err.splitlines()[-1]
    assert checkout.pids() == []
