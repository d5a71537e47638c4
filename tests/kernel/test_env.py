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


def test_development_needs_but_the_two_addresses():
    read = env.read({name: GOOD[name] for name in ("DATABASE_URL", "REDIS_URL")})
    assert read.development
    assert len(read.secret_key) >= 32
    assert "localhost" in read.allowed_hosts


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
        timeout=60,
        check=False,
    )
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert ran.stderr.startswith(f"holdfast: {variable} ")
    assert ran.stderr.count("\n") == 1
    assert PASSWORD not in ran.stderr
