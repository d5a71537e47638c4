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
DEFAULT_PUBLIC_URL = "http://127.0.0.1:8000"
DEFAULT_WEBHOOK_PORTS = "443,8443"


class BadEnvironment(SystemExit):
    """A variable of the environment is missing or wrong."""

    def __init__(self, variable: str, reason: str) -> None:
        super().__init__(f"holdfast: {variable} {reason}")
        self.variable, self.reason = variable, reason


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
    secret_key_fallbacks: tuple[str, ...] = field(repr=False)
    allowed_hosts: tuple[str, ...]
    csrf_trusted_origins: tuple[str, ...]
    redis_url: str = field(repr=False)
    metrics_token: str = field(repr=False)
    public_url: str
    mock_psp_url: str
    mock_psp_file: str | None
    webhook_ports: frozenset[int]
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
    public_url = _web_address(source, "HOLDFAST_PUBLIC_URL", ("http", "https"))
    owner = _database(source, "DATABASE_URL") if source.get("DATABASE_URL") else None
    return Environment(
        mode=mode,
        secret_key=secret_key,
        secret_key_fallbacks=_words(source.get("HOLDFAST_SECRET_KEY_FALLBACKS", "")),
        allowed_hosts=_hosts(source, mode, public_url),
        csrf_trusted_origins=_origins(source),
        redis_url=_redis_url(source),
        metrics_token=source.get("HOLDFAST_METRICS_TOKEN", ""),
        public_url=public_url or DEFAULT_PUBLIC_URL,
        mock_psp_url=_web_address(_no_mock_in_production(source, mode), "HOLDFAST_MOCK_PSP_URL", ("http",)),
        mock_psp_file=source.get("HOLDFAST_MOCK_PSP_FILE") or None,
        webhook_ports=_webhook_ports(source),
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


def _hosts(source: Mapping[str, str], mode: str, public_url: str) -> tuple[str, ...]:
    """Host names that are served. The one at which payment providers are told to come back is among them."""
    public = re.match(r"https?://(\[[^]]*\]|[^:/]+)", public_url)
    more = (public[1],) if public else ()
    if hosts := _words(source.get("HOLDFAST_ALLOWED_HOSTS", "")):
        if not all(re.fullmatch(r"\*|\.?[\w-]+(\.[\w-]+)*|\[[0-9a-fA-F:.]+\]", host, re.ASCII) for host in hosts):
            raise BadEnvironment("HOLDFAST_ALLOWED_HOSTS", "must be host names without scheme, port or path")
        return hosts + more
    if mode == "production":
        raise BadEnvironment("HOLDFAST_ALLOWED_HOSTS", "is required when HOLDFAST_ENV=production")
    return ("localhost", "127.0.0.1", "[::1]", *more)


def _origins(source: Mapping[str, str]) -> tuple[str, ...]:
    origins = _words(source.get("HOLDFAST_CSRF_TRUSTED_ORIGINS", ""))
    form = r"https?://([\w-]+|\*)(\.[\w-]+)*(:[0-9]+)?|https?://\[[0-9a-fA-F:.]+\](:[0-9]+)?"
    if not all(re.fullmatch(form, origin, re.ASCII) and _has_good_port(origin) for origin in origins):
        raise BadEnvironment("HOLDFAST_CSRF_TRUSTED_ORIGINS", "must be origins such as https://tickets.example.org")
    return origins


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in re.split(r"[,\s]+", text) if word)


def _redis_url(source: Mapping[str, str]) -> str:
    url = source.get("REDIS_URL", "")
    if not re.match(r"(redis|rediss|unix)://", url) or not _has_good_port(url):
        raise BadEnvironment("REDIS_URL", "must be a redis://, rediss:// or unix:// address (./hold sets it for you)")
    return url


def _web_address(source: Mapping[str, str], variable: str, schemes: tuple[str, ...]) -> str:
    """A server's address without a slash at its end, or nothing where none is given."""
    url = source.get(variable, "").rstrip("/")
    form = rf"({'|'.join(schemes)})://([\w.-]+|\[[0-9a-fA-F:.]+\])(:[0-9]+)?(/[!-~]*)?"
    if url and not (re.fullmatch(form, url, re.ASCII) and _has_good_port(url) and not set(url) & {"?", "#"}):
        raise BadEnvironment(variable, f"must be an address such as {schemes[-1]}://host:8000")
    return url


def _no_mock_in_production(source: Mapping[str, str], mode: str) -> Mapping[str, str]:
    for variable in ("HOLDFAST_MOCK_PSP_URL", "HOLDFAST_MOCK_PSP_FILE"):
        if mode == "production" and source.get(variable):
            raise BadEnvironment(variable, "must not be set when HOLDFAST_ENV=production: the mock moves no money")
    return source


def _webhook_ports(source: Mapping[str, str]) -> frozenset[int]:
    """The ports to which webhooks are sent."""
    ports = _words(source.get("HOLDFAST_WEBHOOK_PORTS") or DEFAULT_WEBHOOK_PORTS)
    if not (ports and all(map(_is_port, ports))):
        raise BadEnvironment("HOLDFAST_WEBHOOK_PORTS", f"must be ports from 1 to {PORT_MAX}, such as 443,8443")
    return frozenset(map(int, ports))


def _has_good_port(url: str) -> bool:
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


def _is_port(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,5}", text, re.ASCII) is not None and 1 <= int(text) <= PORT_MAX


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
