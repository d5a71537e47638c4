"""Buyers who go on whatever happens, and remember every hold that was promised to them."""

import http.client
import json
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

ANSWER_WITHIN_SECONDS = 15.0
TRY_AGAIN_SECONDS = 0.05


@dataclass
class Crowd:
    """Threads that hold, extend and release at random until told to stop.

    `promised` are the holds that were answered with 201, `released` those whose release was answered with 200;
    `unanswered` counts calls that got no answer or a 5xx, as happens while something is being killed.
    """

    port: int
    key: str
    event: str
    labels: Sequence[str]
    ttl_seconds: tuple[int, int]
    promised: set[str] = field(default_factory=set)
    released: set[str] = field(default_factory=set)
    unanswered: int = 0

    def run(self, buyers: int, until: threading.Event) -> list[threading.Thread]:
        """Start so many buyers; they end when `until` is set."""
        threads = [threading.Thread(target=self._buy, args=(seed, until), daemon=True) for seed in range(buyers)]
        for thread in threads:
            thread.start()
        return threads

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """One call on a connection of its own. Raises OSError, HTTPException."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_WITHIN_SECONDS)
        try:
            headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def _buy(self, seed: int, until: threading.Event) -> None:
        chance = random.Random(seed)  # noqa: S311 - a load, not a secret
        while not until.is_set():
            try:
                self._hold_and_go_on(chance)
            except (OSError, http.client.HTTPException, ValueError):
                self.unanswered += 1
                time.sleep(TRY_AGAIN_SECONDS)

    def _hold_and_go_on(self, chance: random.Random) -> None:
        chosen: dict[str, Any] = chance.choice(
            [{"quantity": chance.randint(1, 3)}, {"labels": chance.sample(self.labels, 2)}]
        )
        body = {
            "event": self.event,
            "customer": f"buyer-{chance.randrange(1000)}@example.org",
            "ttl_seconds": chance.randint(*self.ttl_seconds),
            **chosen,
        }
        status, answer = self.call("POST", "/v1/holds", body)
        self.unanswered += status >= http.HTTPStatus.INTERNAL_SERVER_ERROR
        if status != http.HTTPStatus.CREATED:
            return
        self.promised.add(answer["id"])
        (next_move,) = chance.choices(["/extend", "/release", None], weights=[2, 3, 5])
        if next_move is None:
            return
        status, _ = self.call("POST", f"/v1/holds/{answer['id']}{next_move}")
        if status == http.HTTPStatus.OK and next_move == "/release":
            self.released.add(answer["id"])
