"""What the environment asks of the launcher. Django's own settings are read in `holdfast.env`."""

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.embedded.errors import BadSetting

ENVIRONMENTS = ("development", "production")
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8000
PORT_MAX = 65_535


@dataclass(frozen=True)
class Settings:
    """Checked values; an empty variable counts as unset."""

    environment: str
    host: str
    port: int
    database_url: str | None
    redis_url: str | None
    secret_key: str | None

    @property
    def needs_secret_key(self) -> bool:
        """Whether a key must be made: only development makes its own."""
        return self.secret_key is None and self.environment == "development"


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Raise BadSetting for the first value that cannot work."""
    environment = environ.get("HOLDFAST_ENV") or "development"
    if environment not in ENVIRONMENTS:
        raise BadSetting("HOLDFAST_ENV", f"is {environment!r}: it is development or production")
    secret_key = environ.get("HOLDFAST_SECRET_KEY") or None
    if environment == "production" and secret_key is None:
        raise BadSetting("HOLDFAST_SECRET_KEY", "is not set: with HOLDFAST_ENV=production it must be")
    port = environ.get("HOLDFAST_PORT") or str(DEFAULT_PORT)
    return Settings(
        environment=environment,
        host=environ.get("HOLDFAST_HOST") or DEFAULT_HOST,
        port=parse_port("HOLDFAST_PORT", port),
        database_url=environ.get("DATABASE_URL") or None,
        redis_url=environ.get("REDIS_URL") or None,
        secret_key=secret_key,
    )


def parse_port(name: str, text: str) -> int:
    """A TCP port from 1 to 65535; `name` is the variable or option it came from."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= PORT_MAX):
        raise BadSetting(name, f"is {text!r}: it is a port from 1 to {PORT_MAX}")
    return int(text)
