"""What the environment asks of the launcher; what it says to Django is checked, too, before anything is started.

Django's own settings are read in `holdfast.env`, by each process anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast import env
from holdfast.embedded.errors import BadSetting

ENVIRONMENTS = ("development", "production")
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8000
PORT_MAX = 65_535
# what the launcher fills in itself, in a form that is good
LATER = {"DATABASE_URL": "postgresql://holdfast@/holdfast", "REDIS_URL": "unix:///valkey.sock"}


@dataclass(frozen=True)
class Settings:
    """Checked values; an empty variable counts as unset."""

    environment: str
    host: str
    port: int
    database_url: str | None
    redis_url: str | None
    secret_key: str | None
    public_url: str | None
    mock_psp_url: str | None
    mock_psp_file: str | None

    @property
    def needs_secret_key(self) -> bool:
        """Whether a key must be made: only development makes its own."""
        return self.secret_key is None and self.environment == "development"

    @property
    def has_mock_psp(self) -> bool:
        """Whether the mock payment provider is ours to run: never in production, nor where another one is named."""
        return self.environment == "development" and self.mock_psp_url is None


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Raise BadSetting for the first value that cannot work."""
    environment = environ.get("HOLDFAST_ENV") or "development"
    if environment not in ENVIRONMENTS:
        raise BadSetting("HOLDFAST_ENV", f"is {environment!r}: it is development or production")
    secret_key = environ.get("HOLDFAST_SECRET_KEY") or None
    if environment == "production" and secret_key is None:
        raise BadSetting("HOLDFAST_SECRET_KEY", "is not set: with HOLDFAST_ENV=production it must be")
    port = environ.get("HOLDFAST_PORT") or str(DEFAULT_PORT)
    settings = Settings(
        environment=environment,
        host=environ.get("HOLDFAST_HOST") or DEFAULT_HOST,
        port=parse_port("HOLDFAST_PORT", port),
        database_url=environ.get("DATABASE_URL") or None,
        redis_url=environ.get("REDIS_URL") or None,
        secret_key=secret_key,
        public_url=environ.get("HOLDFAST_PUBLIC_URL") or None,
        mock_psp_url=_mock(environ, "HOLDFAST_MOCK_PSP_URL", environment),
        mock_psp_file=_mock(environ, "HOLDFAST_MOCK_PSP_FILE", environment),
    )
    _check_for_django(environ)
    return settings


def _check_for_django(environ: Mapping[str, str]) -> None:
    """Read it as every process will: each of them would stop at a bad value, and be started again."""
    given = {name: value for name, value in environ.items() if value or name not in LATER}
    try:
        env.read(LATER | given)
    except env.BadEnvironment as bad:
        raise BadSetting(bad.variable, bad.reason) from None


def _mock(environ: Mapping[str, str], variable: str, environment: str) -> str | None:
    value = environ.get(variable) or None
    if value is not None and environment == "production":
        raise BadSetting(variable, "is set: with HOLDFAST_ENV=production it must not be, the mock moves no money")
    return value


def parse_port(name: str, text: str) -> int:
    """A TCP port from 1 to 65535; `name` is the variable or option it came from."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= PORT_MAX):
        raise BadSetting(name, f"is {text!r}: it is a port from 1 to {PORT_MAX}")
    return int(text)
