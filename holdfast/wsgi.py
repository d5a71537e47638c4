"""The web process: refuses to serve when a runtime role could look over the wall between tenants."""

import os
from typing import TYPE_CHECKING, Any

from django.core.handlers.wsgi import WSGIRequest
from django.core.wsgi import get_wsgi_application
from django.utils.http import parse_header_parameters

from holdfast.checks import unsafe_roles
from holdfast.embedded.deathsig import die_with_parent
from holdfast.kernel.awaited import AwaitedBody
from holdfast.kernel.permits import WORK

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse


class Request(WSGIRequest):
    """A request whose body only so many threads wait for, and whose text is UTF-8.

    Whatever charset a client claims: Django would read the query by it, and some read no text.
    """

    def __init__(self, environ: dict[str, Any]) -> None:
        environ["wsgi.input"] = AwaitedBody(environ)
        super().__init__(environ)

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "holdfast.settings")
if os.environ.get("HOLDFAST_SUPERVISED") == "1":
    die_with_parent()
_django = get_wsgi_application()
_django.request_class = Request
if faults := unsafe_roles():
    raise SystemExit(f"holdfast: refusing to serve: {'; '.join(faults)}")


def application(environ: dict[str, Any], start_response: "StartResponse") -> "Iterable[bytes]":
    """Django, under one of the permits to work."""
    with WORK.at_work():
        return _django(environ, start_response)
