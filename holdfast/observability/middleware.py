"""What frames every request and answer, and Django's browser middlewares, which step aside on API paths."""

import re
from collections.abc import Callable
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.common import CommonMiddleware
from django.middleware.csp import ContentSecurityPolicyMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.security import SecurityMiddleware
from django.template.loader import render_to_string
from whitenoise.middleware import WhiteNoiseMiddleware

from holdfast.kernel.awaited import known
from holdfast.kernel.errors import Malformed, Unavailable
from holdfast.kernel.http import body_length
from holdfast.kernel.ids import new_id

_SANE_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}", re.ASCII)
_BODILESS = (204, 304)
# asked by machines that know an address and no name
PROBES = ("/healthz", "/readyz", "/metrics")
_MACHINE_PATHS = ("/v1/", *PROBES)


def is_api_path(path: str) -> bool:
    """Whether machines are answered there (JSON, no session) rather than people."""
    return path == "/v1" or path.startswith(_MACHINE_PATHS)


class RequestIds:
    """Names each request: the client's id where it is sane, else a new one; on the response and on each log line."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        request_id = given if _SANE_REQUEST_ID.fullmatch(given) else str(new_id())
        request.request_id = request_id  # type: ignore[attr-defined]
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        response = self.get_response(request)
        response["X-Request-Id"] = request_id
        if not response.streaming and response.status_code not in _BODILESS and "Content-Length" not in response:
            # else the server would have to send it in chunks
            response["Content-Length"] = str(len(response.content))
        return response


class _ForBrowsers:
    """Put before one of Django's middlewares: it is passed by on API paths."""

    get_response: Any

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_api_path(request.path_info):
            return self.get_response(request)  # type: ignore[no-any-return]
        return super().__call__(request)  # type: ignore[misc, no-any-return]


class BrowserSecurity(_ForBrowsers, SecurityMiddleware):
    pass


class BrowserStaticFiles(_ForBrowsers, WhiteNoiseMiddleware):  # type: ignore[misc]
    pass


class BrowserSessions(_ForBrowsers, SessionMiddleware):
    def process_request(self, request: HttpRequest) -> None:
        # no session has such a key, and PostgreSQL can't even look for it
        if "\0" in request.COOKIES.get(settings.SESSION_COOKIE_NAME, ""):
            del request.COOKIES[settings.SESSION_COOKIE_NAME]
        super().process_request(request)


class BrowserCommon(_ForBrowsers, CommonMiddleware):
    pass


class BrowserCsrf(_ForBrowsers, CsrfViewMiddleware):
    pass


class BrowserAuthentication(_ForBrowsers, AuthenticationMiddleware):
    pass


class BrowserBodies:
    """Reads a form before anything looks into it; put after authentication, for whoever is logged in is known.

    The first to look is Django's check against forgery, where a refusal would be answered as a fault of ours.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method == "POST" and body_length(request.META) and not is_api_path(request.path_info):
            if request.user.is_authenticated:
                known(request)
            try:
                request.body  # noqa: B018 - Django keeps it
            except Malformed as refusal:
                raise BadRequest(refusal.detail) from refusal
            except Unavailable as refusal:
                headers = {"Retry-After": str(refusal.retry_after_seconds)}
                return HttpResponse(render_to_string("503.html"), status=refusal.status, headers=headers)
        return self.get_response(request)


class BrowserMessages(_ForBrowsers, MessageMiddleware):
    pass


class BrowserClickjacking(_ForBrowsers, XFrameOptionsMiddleware):
    pass


class BrowserContentPolicy(_ForBrowsers, ContentSecurityPolicyMiddleware):
    pass
