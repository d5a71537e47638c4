"""Which servers a command needs, and the environment that tells Django where they are."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from holdfast.embedded import postgres, valkey
from holdfast.embedded.console import say
from holdfast.embedded.lease import Lease
from holdfast.embedded.settings import Settings
from holdfast.embedded.state import Place, State, open_state

Profile = Literal["dev", "test"]
DJANGO_SETTINGS = "holdfast.settings"
# What libpq reads where an address is silent: another server's port, a service file, a wish for a standby.
LIBPQ_PREFIX = "PG"


@dataclass
class Services:
    """What a command runs on: embedded servers, given ones, or one of each."""

    environment: dict[str, str]
    leases: list[Lease] = field(default_factory=list)
    state: State | None = None
    cluster: Place | None = None

    def look_after(self) -> None:
        """Bring back a keeper that was killed; does not wait, and is cheap when all is well."""
        for lease in self.leases:
            lease.look_after()


@contextmanager
def running_services(settings: Settings, profile: Profile) -> Iterator[Services]:
    """Start what is not given by DATABASE_URL and REDIS_URL; stop it on leaving unless others use it too."""
    # Settings of another project, which the caller's shell may name, are not ours.
    services = Services(dict(os.environ) | {"DJANGO_SETTINGS_MODULE": DJANGO_SETTINGS})
    try:
        _start(services, settings, profile)
        yield services
    finally:
        for lease in services.leases:
            lease.release()


def _start(services: Services, settings: Settings, profile: Profile) -> None:
    environment = services.environment
    if settings.needs_secret_key or not (settings.database_url and settings.redis_url):
        services.state = open_state(environment.get("HOLDFAST_STATE"))
        environment["HOLDFAST_STATE"] = str(services.state.root)
        if settings.needs_secret_key:
            environment["HOLDFAST_SECRET_KEY"] = services.state.secret_key()
        if not settings.database_url:
            services.cluster = services.state.place(profile, "postgres")
            _take(services, services.cluster)
            for name in [name for name in environment if name.startswith(LIBPQ_PREFIX)]:
                del environment[name]
            environment["DATABASE_URL"] = postgres.database_url(services.cluster)
        if not settings.redis_url:
            place = services.state.place(profile, "valkey")
            _take(services, place)
            environment["REDIS_URL"] = valkey.redis_url(place)


def _take(services: Services, place: Place) -> None:
    if not place.data.exists():
        say(f"making the {place.service} data in {place.folder} (once, a few seconds)")
    lease = Lease(place)
    services.leases.append(lease)
    lease.take()
