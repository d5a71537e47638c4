"""What browsers send."""

from collections.abc import Iterator

from django.core.exceptions import BadRequest
from django.http import HttpRequest, QueryDict


def refuse_unreadable(request: HttpRequest) -> None:
    """Raises BadRequest for NUL, which no text in the database can hold and nobody types."""
    sent = (request.path, *_flat(request.GET), *_flat(request.POST))
    if any("\0" in text for text in sent):
        raise BadRequest("NUL in a request")


def _flat(sent: QueryDict) -> Iterator[str]:
    for name, values in sent.lists():
        yield name
        yield from map(str, values)
