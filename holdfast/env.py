"""The environment, read once and checked: a bad value stops the start with one line that names the variable.

Raises `BadEnvironment` (a `SystemExit`, so that the line reaches the terminal without a traceback).
"""

import hashlib
import hmac
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

MODES = ("development", "production")
SECRET_KEY_LENGTH_MIN = 32
ROLE_NAME_LENGTH_MAX = 63
PORT_MAX = 65_535


class BadEnvironment(SystemExit):
    """A variable of the environment is missing or wrong."""

    def __init__(self, variable: str, reason: str) -> None:
        super().__init__(f"holdfast: {variable} {reason}")


@dataclass(frozen=True, slots=True)
class Database:
    """One login to one database: what libpq would connect with."""

    name: str
    user: str
    password: str = field(repr=False)
    host: str
    port: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Environment:
    """Everything HoldFast reads from its environment."""

    mode: str
    secret_key: str = field(repr=False)
    allowed_hosts: tuple[str, ...]
    csrf_trusted_origins: tuple[str, ...]
    redis_url: str = field(repr=False)
    metrics_token: str = field(repr=False)
    owner: Database | None
    app: Database
    maintenance: Database

    @property
    def development(self) -> bool:
        return self.mode == "development"


def read(source: Mapping[str, str] = os.environ) -> Environment:
    """Read and check the environment. Raises BadEnvironment."""
    mode = source.get("HOLDFAST_ENV", "development")
    if mode not in MODES:
        raise BadEnvironment("HOLDFAST_ENV", f"must be one of {', '.join(MODES)}")
    secret_key = _secret_key(source, mode)
    owner = _database(source, "DATABASE_URL") if source.get("DATABASE_URL") else None
    return Environment(
        mode=mode,
        secret_key=secret_key,
        allowed_hosts=_hosts(source, mode),
        csrf_trusted_origins=_words(source.get("HOLDFAST_CSRF_TRUSTED_ORIGINS", "")),
        redis_url=_redis_url(source),
        metrics_token=source.get("HOLDFAST_METRICS_TOKEN", ""),
        owner=owner,
        app=_role(source, owner, "app", secret_key),
        maintenance=_role(source, owner, "maintenance", secret_key),
    )


def _secret_key(source: Mapping[str, str], mode: str) -> str:
    key = source.get("HOLDFAST_SECRET_KEY", "")
    if not key and mode == "development":
        return "development-only-" + "0" * SECRET_KEY_LENGTH_MIN
    if not key:
        raise BadEnvironment("HOLDFAST_SECRET_KEY", "is required when HOLDFAST_ENV=production")
    if len(key) < SECRET_KEY_LENGTH_MIN:
        raise BadEnvironment("HOLDFAST_SECRET_KEY", f"must have at least {SECRET_KEY_LENGTH_MIN} characters")
    return key


def _hosts(source: Mapping[str, str], mode: str) -> tuple[str, ...]:
    if hosts := _words(source.get("HOLDFAST_ALLOWED_HOSTS", "")):
        return hosts
    if mode == "production":
        raise BadEnvironment("HOLDFAST_ALLOWED_HOSTS", "is required when HOLDFAST_ENV=production")
    return ("localhost", "127.0.0.1", "[::1]")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[,\s]+", text) if word)


def _redis_url(source: Mapping[str, str]) -> str:
    url = source.get("REDIS_URL", "")
    if not re.match(r"(redis|rediss|unix)://", url) or not _has_good_port(url):
        raise BadEnvironment("REDIS_URL", "must be a redis://, rediss:// or unix:// address (./hold sets it for you)")
    return url


def _has_good_port(url: str) -> bool:
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and 1 <= int(text) <= PORT_MAX


def _database(source: Mapping[str, str], variable: str) -> Database:
    try:
        parts = {key: str(value) for key, value in conninfo_to_dict(source[variable]).items()}
    except ProgrammingError:
        # libpq's message may quote the address, password included: say only what kind of fault it is
        raise BadEnvironment(variable, "must be a postgresql:// address") from None
    if not all(_is_port(port) for port in parts.get("port", "5432").split(",")):
        raise BadEnvironment(variable, f"must name a port from 1 to {PORT_MAX}")
    if not parts.get("dbname") or not parts.get("user"):
        raise BadEnvironment(variable, "must name a user and a database")
    return Database(
        name=parts.pop("dbname"),
        user=parts.pop("user"),
        password=parts.pop("password", ""),
        host=parts.pop("host", ""),
        port=parts.pop("port", ""),
        options=parts,
    )


def _role(source: Mapping[str, str], owner: Database | None, role: str, secret_key: str) -> Database:
    """The login of a runtime role: given whole, or named after the database with a password derived from the secret."""
    variable = f"HOLDFAST_{role.upper()}_DATABASE_URL"
    if source.get(variable):
        return _database(source, variable)
    if owner is None:
        raise BadEnvironment("DATABASE_URL", f"is required where {variable} is not set (./hold sets it for you)")
    user = f"{owner.name}_{role}"
    if len(user.encode()) > ROLE_NAME_LENGTH_MAX:
        raise BadEnvironment("DATABASE_URL", f"names a database too long for the role {user}")
    password = hmac.new(secret_key.encode(), f"database role {user}".encode(), hashlib.sha256).hexdigest()
    return Database(owner.name, user, password, owner.host, owner.port, owner.options)
