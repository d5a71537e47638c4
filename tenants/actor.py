"""Who is acting: a name for people to read, kept beside each fact. It decides nothing.

Said at the edge (an API call, a page of the admin, a job); where nobody says it, HoldFast acts by itself.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_actor: ContextVar[str] = ContextVar("actor", default="")


def current_actor() -> str:
    """As people read it: "ada@example.org (owner)", "API key Web shop (hf_…)"; empty for HoldFast itself."""
    return _actor.get()


@contextmanager
def acting_as(actor: str) -> Iterator[None]:
    """What the block does is done by this actor."""
    token = _actor.set(actor)
    try:
        yield
    finally:
        _actor.reset(token)


def act_as(actor: str) -> None:
    """The same for the rest of the `acting_as` block that this is called in, once it is known who it is."""
    _actor.set(actor)
