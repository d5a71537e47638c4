"""What receivers are told in docs/webhooks.md is so, and the example runs."""

import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import pytest

from tests.support.web import CHECKOUT
from webhooks.catalogue import described
from webhooks.egress import Answer, Outcome, Policy, Sender
from webhooks.models.attempt import OUTCOMES
from webhooks.retry import SCHEDULE_SECONDS
from webhooks.signing import new_secret, sign, signed_headers

TEXT = (Path(CHECKOUT) / "docs/webhooks.md").read_text()
ID = "0192f6c1-7a3e-7c5d-9f0a-3b2c1d4e5f60"
UNITS = {"s": 1, "min": 60, "h": 3600}


def table(heading: str) -> dict[str, str]:
    """The rows of the table that begins so, by what is in their first column."""
    rows = TEXT.split(f"| {heading} |", 1)[1].split("\n\n", 1)[0]
    return dict(re.findall(r"^\| `([\w.]+)` \| (.+) \|$", rows, re.MULTILINE))


def test_every_type_is_told_of_as_the_catalogue_has_it():
    assert table("type") == {name: one.description.removesuffix(".") for name, one in described().items()}


def test_every_outcome_is_told_of():
    assert tuple(table("outcome")) == OUTCOMES


def test_the_schedule_is_the_one_that_is_kept():
    told = re.search(r"at once, and then after ([^,]+(?:, [^,]+)*?) and (\d+ h), each a fifth", TEXT)
    waits = [*told[1].split(", "), told[2]]
    assert [int(number) * UNITS[unit] for number, unit in map(str.split, waits)] == list(SCHEDULE_SECONDS[1:])


def test_the_signature_for_trying_is_right():
    secret, message_id, at, body, signature = re.findall(
        r"^\| [\w ]+ \| `(.+)` \|$", TEXT.split("For trying:")[1], re.MULTILINE
    )[:5]
    assert sign(message_id, int(at), body.encode(), [secret]) == signature


@dataclass
class Example:
    """The example of a receiver, running."""

    url: str
    secret: str
    printed: Iterator[str]

    def tell(self, message: dict, *, secret: str = "", at: float | None = None) -> Answer:
        body = orjson.dumps(message)
        signed = signed_headers(message["id"], int(at or time.time()), body, [secret or self.secret])
        return self.send(body, signed)

    def send(self, body: bytes, headers: dict[str, str]) -> Answer:
        return Sender(Policy({443}, loopback_allowed=True)).send(self.url, body, headers)

    def status_of(self, body: bytes, headers: dict[str, str]) -> int:
        """By a client that sends any header."""
        client = HTTPConnection(urlsplit(self.url).netloc, timeout=10)
        client.request("POST", "/", body, headers)
        with closing(client):
            return client.getresponse().status


@pytest.fixture
def example(tmp_path) -> Iterator[Example]:
    secret = new_secret()
    command = [sys.executable, "-I", "docs/examples/receiver.py", "0", str(tmp_path / "inbox.db")]
    with subprocess.Popen(
        command, cwd=CHECKOUT, env={"WEBHOOK_SECRET": secret}, stdout=subprocess.PIPE, text=True
    ) as running:
        printed = iter(running.stdout.readline, "")
        yield Example(next(printed).strip(), secret, printed)
        running.terminate()


def message(sequence: int = 1, number: int = 0, **data: object) -> dict:
    """About one hold."""
    return {
        "id": f"{ID[:-1]}{number}",
        "type": "hold.created",
        "sequence": sequence,
        "subject": {"type": "hold", "id": ID},
        "data": {"name": "🎪\u2028", **data},
    }


def test_the_example_takes_each_message_once(example):
    for _ in range(2):
        assert (example.tell(message()).outcome, example.tell(message()).status_code) == (Outcome.DELIVERED, 204)
    lines = [next(example.printed) for _ in range(4)]
    assert [line.split()[2:] for line in lines] == [[], ["(again)"], ["(again)"], ["(again)"]]


def test_the_example_refuses_what_is_not_signed_by_its_secret_now(example):
    assert example.tell(message(), secret=new_secret()).status_code == 401
    assert example.tell(message(), at=time.time() - 301).status_code == 401
    assert example.tell(message(), at=time.time() + 301).status_code == 401
    assert next_line_is_of_the_message(example)


@pytest.mark.parametrize(
    "header",
    [
        {"webhook-signature": ""},
        {"webhook-signature": "nonsense"},
        {"webhook-signature": "v1,é"},
        {"webhook-timestamp": ""},
        {"webhook-timestamp": "²"},
        {"webhook-timestamp": "9" * 5000},
        {"webhook-id": "other"},
        {"webhook-id": "é"},
    ],
    ids=ascii,
)
def test_the_example_refuses_headers_that_are_none(example, header):
    body = orjson.dumps(message())
    headers = signed_headers(message()["id"], int(time.time()), body, [example.secret])
    assert example.status_of(body, headers | header) == 401
    assert next_line_is_of_the_message(example)


def next_line_is_of_the_message(example: Example) -> bool:
    """Nothing was printed of what came before."""
    return example.tell(message()).status_code == 204 and next(example.printed).split() == ["hold.created", ID]


def test_the_example_takes_either_signature_of_a_rotation(example):
    body, at = orjson.dumps(message()), int(time.time())
    signature = sign(message()["id"], at, body, [new_secret(), example.secret])
    headers = {"webhook-id": message()["id"], "webhook-timestamp": str(at), "webhook-signature": signature}
    assert example.send(body, headers).status_code == 204


def test_the_example_lets_no_old_news_undo_newer(example, tmp_path):
    for number, sequence in enumerate((2, 3, 1)):
        assert example.tell(message(sequence, number, step=sequence)).status_code == 204
    with sqlite3.connect(tmp_path / "inbox.db") as inbox:
        ((sequence, data),) = inbox.execute("SELECT sequence, data FROM subjects")
        ((count,),) = inbox.execute("SELECT count(*) FROM messages")
    inbox.close()
    assert (sequence, orjson.loads(data)["step"], count) == (3, 3, 3)
