"""`up` and `demo` keep everything running, and leave nothing when they end."""

import http.client
import json
import os
import signal
import socket
import subprocess
import time

import pytest

from .conftest import Checkout, Running, free_port, wait_for

pytestmark = pytest.mark.xdist_group("embedded supervisor")

BACKGROUND = ("work holds", "work watch", "run_periodic")


def get(port: int, path: str) -> str:
    """The body of an answer; raises OSError when there is none."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def background_pid(checkout: Checkout, words: str) -> int:
    """The one process that runs this command, once there is one."""
    (pid,) = wait_for(words, lambda: checkout.pids(f"manage.py {words}"))
    return pid


def keep_alive(port: int) -> list[http.client.HTTPConnection]:
    """Open connections: some had an answer, some have not asked yet."""
    connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(20)]
    for number, connection in enumerate(connections):
        connection.connect()
        if number % 2:
            connection.request("GET", "/pid")
            connection.getresponse().read()
            assert connection.sock is not None
    return connections


def end(process: subprocess.Popen[str], signal_number: int = signal.SIGTERM) -> tuple[int, str]:
    """Stop it; its exit code and what it said."""
    process.send_signal(signal_number)
    _, err = process.communicate(timeout=90)
    return process.returncode, err


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stopped_supervisor_leaves_nothing(checkout: Checkout, signal_number: int) -> None:
    port = free_port()
    process = checkout.start_up(port)
    assert get(port, "/pid").isdigit()
    for words in BACKGROUND:
        background_pid(checkout, words)
    connections = keep_alive(port)
    started_at = time.monotonic()

    code, err = end(process, signal_number)

    assert time.monotonic() - started_at < 3, "open connections are not waited for"
    assert code == 0, err
    assert checkout.pids() == [], "at once: it waits for its services"
    assert err.splitlines()[-1] == "holdfast: stopped"
    assert "Killing" not in err
    for connection in connections:
        connection.close()


def test_a_killed_supervisor_leaves_nothing(checkout: Checkout) -> None:
    process = checkout.start_up(free_port())
    assert len(checkout.pids("granian")) == 3, "a master and two workers"
    for words in BACKGROUND:
        background_pid(checkout, words)

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
def test_a_killed_server_comes_back(running: Running, service: str) -> None:
    checkout = running.checkout
    server = checkout.server_pid(service)

    os.kill(server, signal.SIGKILL)

    wait_for("another server", lambda: checkout.server_pid(service) != server)
    assert checkout.run("manage", "query", "select 1")[:2] == (0, "1\n")


def test_a_killed_keeper_comes_back_with_its_server(running: Running) -> None:
    checkout = running.checkout
    (keeper,) = checkout.pids("keeper", "dev postgres")
    server = checkout.server_pid("postgres")

    os.kill(keeper, signal.SIGKILL)

    wait_for("another server", lambda: checkout.server_pid("postgres") != server)
    assert checkout.run("manage", "query", "select 1")[:2] == (0, "1\n")
    assert len(checkout.pids("keeper", "dev postgres")) == 1


def test_a_killed_web_server_comes_back(running: Running) -> None:
    checkout = running.checkout
    before = set(checkout.pids("granian"))

    os.kill(min(before), signal.SIGKILL)

    wait_for("the workers follow their master", lambda: not before & set(checkout.pids("granian")))
    assert wait_for("an answer", lambda: get(running.port, "/pid")).isdigit()


def test_a_killed_web_worker_comes_back(running: Running) -> None:
    before = set(running.checkout.pids("granian"))
    worker = int(get(running.port, "/pid"))

    os.kill(worker, signal.SIGKILL)

    wait_for("another worker", lambda: len(set(running.checkout.pids("granian")) - before) == 1)
    assert wait_for("an answer", lambda: int(get(running.port, "/pid")) != worker)


@pytest.mark.parametrize("words", BACKGROUND)
def test_a_killed_background_process_comes_back(running: Running, words: str) -> None:
    pids = {each: background_pid(running.checkout, each) for each in BACKGROUND}

    os.kill(pids[words], signal.SIGKILL)

    wait_for("another process", lambda: running.checkout.pids(f"manage.py {words}") not in ([], [pids[words]]))
    assert [each for each in BACKGROUND if background_pid(running.checkout, each) != pids[each]] == [words]


def test_a_process_that_is_killed_again_and_again_always_comes_back(running: Running) -> None:
    killed: set[int] = set()

    def others() -> set[int]:
        return set(running.checkout.pids("manage.py work watch")) - killed

    for _ in range(6):
        fresh = wait_for("another process", others)
        killed |= fresh
        for pid in fresh:
            os.kill(pid, signal.SIGKILL)
    assert wait_for("the last process", others)
    assert get(running.port, "/pid").isdigit()


def test_a_web_server_that_cannot_start_is_given_up(checkout: Checkout) -> None:
    process = checkout.start("up", "--port", str(free_port()), STUB_WEB="crash")

    _, err = process.communicate(timeout=90)

    assert process.returncode == 1
    assert "holdfast: web ended with 1: starting it again\n" in err
    assert err.splitlines()[-1].startswith("holdfast: web ended 4 times soon after its start")
    assert checkout.pids() == []


def test_a_command_runs_beside_up_and_leaves_it_alone(running: Running) -> None:
    checkout = running.checkout
    servers = checkout.server_pid("postgres"), checkout.server_pid("valkey")

    assert checkout.run("manage", "query", "select 1")[:2] == (0, "1\n")

    assert (checkout.server_pid("postgres"), checkout.server_pid("valkey")) == servers
    assert get(running.port, "/pid").isdigit()


def test_a_busy_port_is_refused_before_anything_starts(checkout: Checkout) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        code, out, err = checkout.run("up", "--port", str(port))

    assert (code, out) == (2, "")
    assert err == f"holdfast: port {port} is in use: choose another with --port or HOLDFAST_PORT\n"
    assert not checkout.state.exists()


def test_a_second_up_on_the_same_port_is_refused(running: Running) -> None:
    code, _, err = running.checkout.run("up", "--port", str(running.port))

    assert code == 2
    assert f"port {running.port} is in use" in err


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
    said = "".join(lines)
    assert f"http://127.0.0.1:{port}/admin/   ada / secret\n" in said
    assert f"\nURL=http://127.0.0.1:{port}\nKEY=hf_key\nEVENT=evt\n" in said, "to paste as they are"
    assert f"{checkout.state} " in said
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
