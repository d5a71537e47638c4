"""`./hold` finds a Python, makes the virtual environment once, and mends one that was left half made.

With a lock file of one small package: what is tested is the making, and 25 packages would only take longer.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.bench.options import Options
from holdfast.bench.scenarios import SCENARIOS

pytestmark = pytest.mark.xdist_group("embedded services")

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 120
PYTHON_FOLDER = Path(sys.executable).resolve().parent


class Clone:
    """A fresh clone with the script, its installer, a launcher that says that it ran, and a short lock file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        package = folder / "holdfast" / "embedded"
        package.mkdir(parents=True)
        shutil.copy2(ROOT / "hold", folder / "hold")
        shutil.copy2(ROOT / "holdfast" / "embedded" / "install.py", package / "install.py")
        (package / "__main__.py").write_text("import asgiref, os, sys\nprint(os.getpid(), *sys.argv[1:])\n")
        locked = (ROOT / "requirements.lock").read_text()
        (folder / "requirements.lock").write_text(re.match(r"asgiref==(?:.*\\\n)+.*\n", locked)[0])

    def start(self, *arguments: str, **extra: str) -> subprocess.Popen[str]:
        """Run the script with next to nothing in its environment, and no home."""
        # pip's own settings say where this machine gets its packages
        settings = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_CERT"))}
        plain = {"PATH": f"{PYTHON_FOLDER}:/usr/bin:/bin", "HOME": str(self.folder / "no-home")}
        return subprocess.Popen(
            [self.folder / "hold", *arguments],
            env=settings | plain | extra,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **extra: str) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        process = self.start(*arguments, **extra)
        out, err = process.communicate(timeout=DEADLINE_SECONDS)
        return process.returncode, out, err


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path / "clone")


@pytest.fixture(scope="module")
def made_clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """One whose environment two first runs made at the same time."""
    clone = Clone(tmp_path_factory.mktemp("made") / "clone")
    processes = [clone.start("manage", "first"), clone.start("manage", "second")]
    said = [process.communicate(timeout=DEADLINE_SECONDS) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    assert sum("Creating" in err for _, err in said) == 1, "one made it, the other waited"
    return clone


def test_a_made_environment_is_used_at_once_and_the_process_stays_the_same(made_clone: Clone) -> None:
    process = made_clone.start("manage", "a b", "c")
    out, err = process.communicate(timeout=DEADLINE_SECONDS)

    assert out == f"{process.pid} manage a b c\n"
    assert err == ""


def test_an_environment_that_was_left_half_made_is_made_anew(made_clone: Clone) -> None:
    (made_clone.folder / ".venv" / "holdfast-unfinished").touch()
    (made_clone.folder / ".venv" / "left-over").touch()

    code, _, err = made_clone.run("manage")

    assert code == 0
    assert "Creating" in err
    assert not (made_clone.folder / ".venv" / "left-over").exists()


def test_a_changed_lock_file_is_installed(made_clone: Clone) -> None:
    with (made_clone.folder / "requirements.lock").open("a") as lock:
        lock.write("# changed\n")

    code, _, err = made_clone.run("manage")

    assert (code, err) == (0, "holdfast: Installing packages (about 30 s the first time)\n")


def test_a_package_that_is_not_the_locked_one_is_refused(made_clone: Clone) -> None:
    lock = made_clone.folder / "requirements.lock"
    kept = lock.read_text()
    lock.write_text(re.sub(r"sha256:\w{8}", "sha256:00000000", kept.replace("asgiref", "cachetools")))
    try:
        code, out, err = made_clone.run("manage")
    finally:
        lock.write_text(kept)

    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith("holdfast: could not make ")


def test_a_folder_with_other_things_in_it_is_left_alone(clone: Clone, tmp_path: Path) -> None:
    (tmp_path / "precious").touch()

    code, _, err = clone.run("manage", HOLDFAST_VENV=str(tmp_path))

    assert code == 1
    assert "it holds other files" in err
    assert (tmp_path / "precious").exists()


def test_a_named_python_that_does_not_fit_is_refused(clone: Clone) -> None:
    code, _, err = clone.run("manage", HOLDFAST_PYTHON="/bin/false")

    assert code == 2
    assert err.startswith("holdfast: HOLDFAST_PYTHON is /bin/false")


def test_help_needs_no_python_and_an_unknown_command_is_refused(clone: Clone) -> None:
    code, out, _ = clone.run("help", PATH="/usr/bin:/bin")
    assert code == 0
    for words in ("./hold COMMAND", "--rounds N", "--peer", "--floor", "--noop", "test -m gate"):
        assert words in out

    code, out, err = clone.run("fly", PATH="/usr/bin:/bin")
    assert (code, out) == (2, "")
    assert "./hold COMMAND" in err


def test_help_names_every_variable_that_the_readme_explains(clone: Clone) -> None:
    explained = re.findall(r"`((?:HOLDFAST_\w+|DATABASE_URL|REDIS_URL))`", (ROOT / "README.md").read_text())
    _, out, _ = clone.run("help")
    named = re.findall(r"\w+", out.partition("Environment")[2])
    assert set(explained) == {name for name in named if name.isupper() and "_" in name}


def test_help_of_the_benchmarks_tells_each_scenario_and_option(clone: Clone) -> None:
    code, out, err = clone.run("bench", "hot", "--help")
    assert (code, err) == (0, "")
    assert re.findall(r"^  (\w+)  ", out, re.MULTILINE) == list(SCENARIOS)
    options = {f"--{name}" for name in Options.__dataclass_fields__} | {"--json"}
    assert set(re.findall(r"^  (--\w+)", out, re.MULTILINE)) == options
    assert not (clone.folder / ".venv").exists()


@pytest.mark.parametrize(
    ("arguments", "usage"),
    [
        (("demo", "--help"), "./hold COMMAND"),
        (("up", "--port", "8001", "-h"), "./hold COMMAND"),
        (("bench", "--help"), "./hold bench SCENARIO"),
        (("setup", "-h"), "./hold COMMAND"),
    ],
)
def test_help_with_a_command_makes_nothing(clone: Clone, arguments: tuple[str, ...], usage: str) -> None:
    code, out, err = clone.run(*arguments)

    assert (code, err) == (0, "")
    assert out.startswith(f"usage: {usage}")
    assert not (clone.folder / ".venv").exists()
