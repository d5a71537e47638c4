"""Sending to addresses that strangers chose, without becoming their tool against our own network.

`check_url` when an address is saved, `send` at every attempt. The order of things inside is the defence:

    urls        a strict grammar: what other programs might read in another way is refused
    resolve     the name is looked up once, in bounded time
    addresses   every address it has must be public
    connection  we connect to that very address, look who is at the other end, and check the name's certificate
    exchange    one request and its answer, within a deadline and a count of bytes; redirects are answers

No proxy and no netrc comes into it. All modules but this one are pure of Django.
"""

from collections.abc import Mapping

from django.conf import settings

from webhooks.egress.outcome import Answer, Outcome
from webhooks.egress.policy import Policy
from webhooks.egress.resolve import on_behalf_of
from webhooks.egress.sender import Sender
from webhooks.egress.urls import UrlRefused, parse

__all__ = ["Answer", "Outcome", "Policy", "Sender", "UrlRefused", "check_url", "current_policy", "on_behalf_of", "send"]


def current_policy() -> Policy:
    """What the settings allow."""
    return Policy(settings.WEBHOOK_PORTS, loopback_allowed=settings.WEBHOOK_LOOPBACK_ALLOWED)


def check_url(url: str) -> None:
    """Raises UrlRefused, whose text is for whoever wrote the URL. Looks nothing up: each attempt does."""
    parse(url, current_policy())


def send(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """POST the body; takes 15 s at the most. Raises nothing for what the world outside does.

    Not for use in a transaction: the caller sees to that.
    """
    return Sender(current_policy()).send(url, body, headers)
