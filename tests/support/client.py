"""A small client of the API, over Django's test client or over a socket."""

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.test import Client
from django.test.client import ClientHandler

JSON = "application/json"
NOTHING = object()  # no body at all; None is JSON's null
# loaded once, as in a web process: the middlewares look through all static files when they start
HANDLER = ClientHandler(enforce_csrf_checks=False)


class Api:
    """Calls with a bearer key (none for None); bodies go out as JSON. A fault of ours is seen as 500, not raised."""

    def __init__(self, key: str | None) -> None:
        self.key = key
        self.client = Client(raise_request_exception=False)
        self.client.handler = HANDLER

    def get(self, path: str, **kwargs: Any) -> Any:
        return self.send("GET", path, **kwargs)

    def post(self, path: str, body: Any = NOTHING, **kwargs: Any) -> Any:
        return self.send("POST", path, body, **kwargs)

    def patch(self, path: str, body: Any = NOTHING, **kwargs: Any) -> Any:
        return self.send("PATCH", path, body, **kwargs)

    def delete(self, path: str, body: Any = NOTHING, **kwargs: Any) -> Any:
        return self.send("DELETE", path, body, **kwargs)

    def send(
        self, method: str, path: str, body: Any = NOTHING, headers: dict[str, str] | None = None, media_type: str = JSON
    ) -> Any:
        """Bytes go out as they are, anything else as JSON."""
        sent = encoded(body)
        return self.client.generic(
            method, path, sent, content_type=media_type, headers={**authorization(self.key), **(headers or {})}
        )


@dataclass(frozen=True)
class Answer:
    """What came over a socket."""

    status_code: int
    headers: dict[str, str]
    content: bytes

    def json(self) -> Any:
        return json.loads(self.content)


class SocketApi(Api):
    """The same calls to a running server, each on a connection of its own."""

    TIMEOUT_SECONDS = 60

    def __init__(self, url: str, key: str | None) -> None:
        self.place = urlsplit(url)
        self.key = key

    def send(
        self, method: str, path: str, body: Any = NOTHING, headers: dict[str, str] | None = None, media_type: str = JSON
    ) -> Answer:
        sent = encoded(body)
        connection = http.client.HTTPConnection(str(self.place.hostname), self.place.port, timeout=self.TIMEOUT_SECONDS)
        try:
            content = {"Content-Type": media_type} if sent else {}
            connection.request(method, path, sent, {**content, **authorization(self.key), **(headers or {})})
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()


def encoded(body: Any) -> bytes:
    if body is NOTHING:
        return b""
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def authorization(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Authorization": f"Bearer {key}"}
