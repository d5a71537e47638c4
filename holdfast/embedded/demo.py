"""The demo: data to look at, where to look, and one hold."""

import http
import http.client
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from holdfast.embedded.deathsig import tied_to_this_process
from holdfast.embedded.errors import Refusal
from holdfast.embedded.services import Services
from holdfast.embedded.state import CHECKOUT
from holdfast.embedded.web import Address

ANSWER_WITHIN_SECONDS = 30.0


@dataclass(frozen=True)
class DemoData:
    """What `manage.py demo_data --json` says it made."""

    api_key: str
    login: str
    password: str
    event: str
    event_name: str

    @property
    def hold_request(self) -> str:
        """The body of a request for one unit of the demo event."""
        return json.dumps({"event": self.event, "quantity": 1, "customer": "ada@example.org"})


def make_demo_data(services: Services) -> DemoData:
    """Run `manage.py demo_data`, which makes the data once and says the same afterwards."""
    ended = subprocess.run(
        [sys.executable, "manage.py", "demo_data", "--json"],
        cwd=CHECKOUT,
        env=services.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        preexec_fn=tied_to_this_process(),  # this process has one thread
    )
    if ended.returncode != 0:
        raise Refusal("the demo data could not be made: the reason is above")
    made: dict[str, Any] = json.loads(ended.stdout)
    return DemoData(**{name: made[name] for name in DemoData.__dataclass_fields__})


def introduction(address: Address, data: DemoData, services: Services) -> str:
    """What to open, how to log in, and lines to paste."""
    return f"""\
HoldFast is ready at {address.url}

  Admin      {address.url}/admin/   {data.login} / {data.password}
  API docs   {address.url}/v1/docs
{_place(services)}
For your shell, as README.md's tour uses them:

URL={address.url}
KEY={data.api_key}
EVENT={data.event}

Hold one unit of "{data.event_name}":

  curl -X POST {address.url}/v1/holds -H 'Authorization: Bearer {data.api_key}' \\
    -H 'Content-Type: application/json' -d '{data.hold_request}'

Stop with Ctrl-C.
"""


def first_steps(address: Address, services: Services) -> str:
    """What to open, and what must be made before it shows anything."""
    return f"""\
HoldFast is ready at {address.url} (Ctrl-C stops it)

  Admin      {address.url}/admin/   `./hold manage createsuperuser` makes a first platform login
  API docs   {address.url}/v1/docs   `./hold manage create_tenant SLUG` makes a tenant and its API key
{_place(services)}"""


def _place(services: Services) -> str:
    """Where the data is, if it is ours."""
    return f"  Data       {services.state.root}   (stop, and remove it to begin anew)\n" if services.state else ""


def make_hold(address: Address, data: DemoData) -> str:
    """Make one hold over HTTP; the answer's body. Raises Refusal when there is no hold."""
    headers = {"Authorization": f"Bearer {data.api_key}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(address.local_host, address.port, timeout=ANSWER_WITHIN_SECONDS)
    try:
        connection.request("POST", "/v1/holds", body=data.hold_request, headers=headers)
        answer = connection.getresponse()
        body = answer.read().decode()
    except (OSError, http.client.HTTPException) as error:
        raise Refusal(f"POST {address.url}/v1/holds failed: {error}") from error
    finally:
        connection.close()
    if answer.status != http.HTTPStatus.CREATED:
        raise Refusal(f"POST {address.url}/v1/holds answered {answer.status}: {body.strip()}")
    return body
