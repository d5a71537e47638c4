"""The environment: a bad value stops the start with one line that names the variable and shows no password."""

import subprocess
import sys

import pytest

from holdfast import env
from holdfast.env import BadEnvironment
from tests.support.web import CHECKOUT, environment

PASSWORD = "s3cret-w0rd"
GOOD = {
    "HOLDFAST_ENV": "production",
    "HOLDFAST_SECRET_KEY": "k" * 32,
    "HOLDFAST_ALLOWED_HOSTS": "tickets.example.org, localhost",
    "DATABASE_URL": f"postgresql://owner:{PASSWORD}@db.example.org:5433/tickets?sslmode=require",
    "REDIS_URL": f"redis://:{PASSWORD}@redis.example.org:6379/0",
}
BAD = [
    ("HOLDFAST_ENV", "prod"),
    ("HOLDFAST_ENV", "Production"),
    ("HOLDFAST_ENV", ""),
    ("HOLDFAST_SECRET_KEY", ""),
    ("HOLDFAST_SECRET_KEY", "k" * 31),
    ("HOLDFAST_ALLOWED_HOSTS", ""),
    ("HOLDFAST_ALLOWED_HOSTS", " , "),
    ("HOLDFAST_ALLOWED_HOSTS", "https://tickets.example.org"),
    ("HOLDFAST_ALLOWED_HOSTS", "tickets.example.org:8000"),
    ("HOLDFAST_CSRF_TRUSTED_ORIGINS", "tickets.example.org"),
    ("HOLDFAST_CSRF_TRUSTED_ORIGINS", "https://a.example.org, ftp://b.example.org"),
    ("HOLDFAST_CSRF_TRUSTED_ORIGINS", "https://tickets.example.org/admin"),
    ("HOLDFAST_CSRF_TRUSTED_ORIGINS", "https://tickets.example.org:99999"),
    ("DATABASE_URL", ""),
    ("DATABASE_URL", f"mysql://owner:{PASSWORD}@db/tickets"),
    ("DATABASE_URL", f"owner:{PASSWORD}@db/tickets"),
    ("DATABASE_URL", f"postgresql://owner:{PASSWORD}@db/tickets?nonsense={PASSWORD}"),
    ("DATABASE_URL", f"postgresql://owner:{PASSWORD}@db"),
    ("DATABASE_URL", f"postgresql://:{PASSWORD}@db/tickets"),
    ("DATABASE_URL", f"postgresql://owner:{PASSWORD}%zz@db/tickets"),
    ("DATABASE_URL", f"postgresql://owner:{PASSWORD}@[::1/tickets"),
    ("DATABASE_URL", f"postgresql://owner:{PASSWORD}@db/{'t' * 60}"),
    ("DATABASE_URL", f"postgresql://owner:{PASSWORD}@db:notaport/tickets"),
    ("DATABASE_URL", f"postgresql://owner:{PASSWORD}@db:99999/tickets"),
    ("DATABASE_URL", "\0"),
    ("REDIS_URL", ""),
    ("REDIS_URL", f"http://:{PASSWORD}@redis"),
    ("REDIS_URL", f":{PASSWORD}@redis"),
    ("REDIS_URL", f"redis://:{PASSWORD}@redis:notaport/0"),
    ("HOLDFAST_APP_DATABASE_URL", f"app:{PASSWORD}"),
    ("HOLDFAST_APP_DATABASE_URL", f"postgresql://:{PASSWORD}@db/tickets"),
    ("HOLDFAST_MAINTENANCE_DATABASE_URL", f"maintenance:{PASSWORD}"),
    ("HOLDFAST_PUBLIC_URL", "tickets.example.org"),
    ("HOLDFAST_PUBLIC_URL", "ftp://tickets.example.org"),
    ("HOLDFAST_PUBLIC_URL", f"https://ada:{PASSWORD}@tickets.example.org"),
    ("HOLDFAST_PUBLIC_URL", "https://tickets.example.org:99999"),
    ("HOLDFAST_PUBLIC_URL", "https://tickets.example.org/?a=b"),
    ("HOLDFAST_PUBLIC_URL", "https://tickets.example.org/\N{SNOWMAN}"),
    ("HOLDFAST_PUBLIC_URL", "https://"),
    ("HOLDFAST_PUBLIC_URL", "https://tickets.example.org\n"),
    ("HOLDFAST_MOCK_PSP_URL", "http://127.0.0.1:8001"),
    ("HOLDFAST_MOCK_PSP_FILE", "/srv/holdfast/books"),
    ("HOLDFAST_WEBHOOK_PORTS", "https"),
    ("HOLDFAST_WEBHOOK_PORTS", "443;8443"),
    ("HOLDFAST_WEBHOOK_PORTS", "0"),
    ("HOLDFAST_WEBHOOK_PORTS", "65536"),
    ("HOLDFAST_WEBHOOK_PORTS", "-443"),
    ("HOLDFAST_WEBHOOK_PORTS", "\N{FULLWIDTH DIGIT FOUR}43"),
    ("HOLDFAST_WEBHOOK_PORTS", " , "),
    ("HOLDFAST_WEBHOOK_PORTS", "9" * 5000),
]


@pytest.mark.parametrize(("variable", "value"), BAD)
def test_a_bad_value_is_one_line_that_names_its_variable(variable, value):
    with pytest.raises(BadEnvironment) as stopped:
        env.read(GOOD | {variable: value})
    line = str(stopped.value)
    assert line.startswith(f"holdfast: {variable} ")
    assert "\n" not in line
    assert PASSWORD not in line


@pytest.mark.parametrize("variable", [name for name in GOOD if name != "HOLDFAST_ENV"])
def test_what_production_needs_is_asked_for_by_name(variable):
    with pytest.raises(BadEnvironment, match=f"^holdfast: {variable} "):
        env.read({name: value for name, value in GOOD.items() if name != variable})


def test_a_good_environment_is_read():
    read = env.read(GOOD)
    assert not read.development
    assert read.allowed_hosts == ("tickets.example.org", "localhost")
    assert read.owner is not None
    assert (read.owner.name, read.owner.user, read.owner.password) == ("tickets", "owner", PASSWORD)
    assert (read.owner.host, read.owner.port, dict(read.owner.options)) == (
        "db.example.org",
        "5433",
        {"sslmode": "require"},
    )
    assert (read.app.user, read.maintenance.user) == ("tickets_app", "tickets_maintenance")
    assert (read.app.name, read.app.host, read.app.port) == ("tickets", "db.example.org", "5433")


def test_hosts_and_origins_are_read_in_all_their_forms():
    hosts = "*", ".example.org", "a_b.example.org", "192.0.2.1", "[::1]"
    origins = "https://tickets.example.org", "https://*.example.org", "http://localhost:8000", "https://[::1]:8443"
    lists = {"HOLDFAST_ALLOWED_HOSTS": " ".join(hosts), "HOLDFAST_CSRF_TRUSTED_ORIGINS": ",".join(origins)}
    read = env.read(GOOD | lists)
    assert (read.allowed_hosts, read.csrf_trusted_origins) == (hosts, origins)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://pay.example.org/tickets", "pay.example.org"),
        ("http://192.0.2.1:8000", "192.0.2.1"),
        ("http://[::1]:8", "[::1]"),
    ],
)
def test_the_host_that_providers_are_told_is_served(url, host):
    assert env.read(GOOD | {"HOLDFAST_PUBLIC_URL": url}).allowed_hosts == ("tickets.example.org", "localhost", host)


def test_development_needs_but_the_two_addresses():
    read = env.read({name: GOOD[name] for name in ("DATABASE_URL", "REDIS_URL")})
    assert read.development
    assert len(read.secret_key) >= 32
    assert "localhost" in read.allowed_hosts


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("", "http://127.0.0.1:8000"),
        ("https://tickets.example.org/", "https://tickets.example.org"),
        ("https://example.org/tickets", "https://example.org/tickets"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_where_providers_reach_us_is_an_address_without_a_slash_at_its_end(given, url):
    assert env.read(GOOD | {"HOLDFAST_PUBLIC_URL": given}).public_url == url


def test_the_mock_provider_is_for_development_alone():
    mock = {"HOLDFAST_MOCK_PSP_URL": "http://127.0.0.1:8001/", "HOLDFAST_MOCK_PSP_FILE": "/srv/holdfast/books"}
    read = env.read(GOOD | mock | {"HOLDFAST_ENV": "development"})
    assert (read.mock_psp_url, read.mock_psp_file) == ("http://127.0.0.1:8001", "/srv/holdfast/books")
    assert (env.read(GOOD).mock_psp_url, env.read(GOOD).mock_psp_file) == ("", None)
    for variable, value in mock.items():
        with pytest.raises(BadEnvironment, match=f"^holdfast: {variable} .*production"):
            env.read(GOOD | {variable: value})
    with pytest.raises(BadEnvironment, match="HOLDFAST_MOCK_PSP_URL"):
        env.read(GOOD | {"HOLDFAST_ENV": "development", "HOLDFAST_MOCK_PSP_URL": "https://127.0.0.1"})


@pytest.mark.parametrize(("given", "ports"), [("", {443, 8443}), ("443", {443}), ("8443, 443 9443", {443, 8443, 9443})])
def test_ports_of_webhooks_are_read(given, ports):
    assert env.read(GOOD | {"HOLDFAST_WEBHOOK_PORTS": given}).webhook_ports == ports


def test_the_roles_passwords_follow_from_the_secret_and_differ_from_each_other():
    first, again = env.read(GOOD), env.read(GOOD)
    other = env.read(GOOD | {"HOLDFAST_SECRET_KEY": "x" * 32})
    assert first.app.password == again.app.password
    assert len({first.app.password, first.maintenance.password, other.app.password, PASSWORD}) == 4


def test_without_an_owner_both_logins_must_be_given_whole():
    logins = {
        "HOLDFAST_APP_DATABASE_URL": "postgresql://a:b@db/tickets",
        "HOLDFAST_MAINTENANCE_DATABASE_URL": "postgresql://c:d@db/tickets",
    }
    read = env.read(GOOD | logins | {"DATABASE_URL": ""})
    assert read.owner is None
    assert (read.app.user, read.maintenance.user) == ("a", "c")
    for missing in logins:
        with pytest.raises(BadEnvironment, match=missing):
            env.read(GOOD | logins | {"DATABASE_URL": "", missing: ""})


def test_no_form_of_printing_an_environment_shows_a_secret():
    read = env.read(GOOD)
    for shown in (repr(read), str(read), repr(read.owner), f"{read.app}"):
        for secret in (PASSWORD, GOOD["HOLDFAST_SECRET_KEY"], read.app.password, read.maintenance.password):
            assert secret not in shown


@pytest.mark.usefixtures("database_name")
@pytest.mark.parametrize(
    ("variable", "value"),
    [("DATABASE_URL", f"mysql://owner:{PASSWORD}@db/tickets"), ("REDIS_URL", f"http://:{PASSWORD}@redis")],
)
def test_a_command_with_a_bad_value_prints_the_line_and_no_traceback(variable, value):
    ran = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=CHECKOUT,
        env=environment() | {variable: value},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert ran.stderr.startswith(f"holdfast: {variable} ")
    assert ran.stderr.count("\n") == 1
    assert PASSWORD not in ran.stderr
