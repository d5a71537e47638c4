"""Refusals about webhooks.

Conflict (holdfast.kernel.errors)
├── EndpointDisabled   409  nothing is sent to it until it is enabled
├── TooManyEndpoints   409  a tenant has so many and no more
└── TooManySecrets     409  so many secrets sign for an endpoint, each to its own end
"""

from holdfast.kernel.errors import Conflict


class EndpointDisabled(Conflict):
    slug, title = "endpoint-disabled", "The endpoint is disabled"

    def __init__(self) -> None:
        super().__init__("Nothing is sent to it: enable it first.")


class TooManyEndpoints(Conflict):
    slug, title = "too-many-endpoints", "There are too many endpoints"

    def __init__(self, limit: int) -> None:
        super().__init__(f"There are {limit} already: delete one first.", limit=limit)


class TooManySecrets(Conflict):
    slug, title = "too-many-secrets", "There are too many secrets that still sign"

    def __init__(self, limit: int) -> None:
        detail = f"{limit} sign, each until its overlap ends: rotate later, or with an overlap of 0 to end them all."
        super().__init__(detail, limit=limit)
