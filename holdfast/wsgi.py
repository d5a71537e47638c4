"""The web process: refuses to serve when a runtime role could look over the wall between tenants."""

import os
from typing import Any

from django.core.handlers.wsgi import WSGIRequest
from django.core.wsgi import get_wsgi_application
from django.utils.http import parse_header_parameters

from holdfast.checks import unsafe_roles
from holdfast.embedded.deathsig import die_with_parent


class Request(WSGIRequest):
    """Text is UTF-8, whatever charset a client claims: Django would read the query by it, and some read no text."""

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "holdfast.settings")
if os.environ.get("HOLDFAST_SUPERVISED") == "1":
    die_with_parent()
application = get_wsgi_application()
application.request_class = Request
if faults := unsafe_roles():
    raise SystemExit(f"holdfast: refusing to serve: {'; '.join(faults)}")
