"""Every endpoint under /v1/, as the resolver knows it: what is added there is walked by the tests by itself."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from tenants.api.views import TenantView

METHODS = ("get", "post", "put", "patch", "delete")
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True)
class Endpoint:
    """One method of one path; `path` has its parameters in braces."""

    method: str
    path: str
    view: type[Any] | None

    @property
    def parameters(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.path)

    @property
    def segment(self) -> str:
        """The first word after /v1/: whose endpoint it is."""
        return self.path.split("/")[2]

    @property
    def takes_bodies(self) -> bool:
        return self.method in ("POST", "PUT", "PATCH")

    def at(self, **ids: object) -> str:
        return self.path.format(**ids)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def endpoints() -> list[Endpoint]:
    """All of them."""
    found = [endpoint for endpoint in _walk(get_resolver().url_patterns, "/") if endpoint.path.startswith("/v1/")]
    return sorted(found, key=lambda endpoint: (endpoint.path, endpoint.method))


def tenant_endpoints() -> list[Endpoint]:
    """Those that ask for a key."""
    return [endpoint for endpoint in endpoints() if endpoint.view and issubclass(endpoint.view, TenantView)]


def _walk(patterns: list[Any], prefix: str) -> Iterator[Endpoint]:
    for pattern in patterns:
        path = prefix + _PARAMETER.sub(r"{\1}", str(pattern.pattern))
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, path)
        elif isinstance(pattern, URLPattern):
            view = getattr(pattern.callback, "cls", None) or getattr(pattern.callback, "view_class", None)
            methods = [name for name in METHODS if view is None or hasattr(view, name)]
            yield from (Endpoint(name.upper(), path, view) for name in methods)
