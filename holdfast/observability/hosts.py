"""Which host names are served."""

from collections.abc import Callable

import structlog
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from holdfast.kernel.problems import generic_document, problem_response
from holdfast.observability.middleware import PROBES, is_api_path

logger = structlog.get_logger(__name__)
FOREIGN_HOST = "HoldFast is not served under this host name: HOLDFAST_ALLOWED_HOSTS has those that are."
LOGGED_CHARACTERS_MAX = 255


class AllowedHosts:
    """Refuses a host that is not ours, on every path but the probes."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info not in PROBES:
            try:
                request.get_host()
            except DisallowedHost:
                return self._refused(request)
        return self.get_response(request)

    def _refused(self, request: HttpRequest) -> HttpResponse:
        logger.warning("foreign_host", host=request.META.get("HTTP_HOST", "")[:LOGGED_CHARACTERS_MAX])
        if is_api_path(request.path_info):
            return problem_response(request, generic_document(400, FOREIGN_HOST))
        return render(request, "foreign_host.html", {"text": FOREIGN_HOST}, status=400)
