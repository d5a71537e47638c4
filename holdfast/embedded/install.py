"""Make or renew the virtual environment: `python install.py VENV LOCK…`, run by `./hold` with a Python it found.

Imports only the standard library and nothing of ours: nothing is installed yet. Two first runs at once take turns. A
lock file is copied into the environment once everything it names is installed, and `./hold` compares the copies.
"""

import fcntl
import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path

# Present while packages are being installed: an environment that still has it was left half made.
UNFINISHED = "holdfast-unfinished"


def main(venv: Path, locks: list[Path]) -> int:
    """Exit code 0 when the environment has everything the locks name."""
    # The first lock file is what runs take turns on: it is always there and never replaced by us.
    turn = os.open(locks[0], os.O_RDONLY)
    fcntl.flock(turn, fcntl.LOCK_EX)
    if is_current(venv, locks):
        return 0
    try:
        make(venv)
        install(venv, locks)
    except subprocess.CalledProcessError as error:
        say(f"could not make {venv}: the reason is above ({Path(error.cmd[0]).name} ended with {error.returncode})")
        return 1
    except OSError as error:
        say(f"could not make {venv}: {error}; HOLDFAST_VENV names another folder")
        return 1
    return 0


def is_current(venv: Path, locks: list[Path]) -> bool:
    """Whether every lock's copy in the environment is equal to it."""
    if not (venv / "bin" / "python").exists() or (venv / UNFINISHED).exists():
        return False
    copies = [venv / lock.name for lock in locks]
    return all(
        copy.exists() and filecmp.cmp(lock, copy, shallow=False) for lock, copy in zip(locks, copies, strict=True)
    )


def make(venv: Path) -> None:
    """Make the environment unless a whole one is there."""
    if is_whole(venv):
        return
    if venv.exists() and any(venv.iterdir()) and not (venv / "pyvenv.cfg").exists():
        message = "it holds other files, which a new environment would replace"
        raise FileExistsError(message)
    say(f"Creating {venv} with Python {sys.version.split()[0]}")
    shutil.rmtree(venv, ignore_errors=True)
    venv.mkdir(parents=True)
    (venv / UNFINISHED).touch()
    run([sys.executable, "-I", "-m", "venv", str(venv)])


def is_whole(venv: Path) -> bool:
    """Whether its Python runs pip and no earlier run was cut short."""
    python = venv / "bin" / "python"
    if not python.exists() or (venv / UNFINISHED).exists():
        return False
    return subprocess.run([python, "-I", "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0


def install(venv: Path, locks: list[Path]) -> None:
    """Install exactly what the locks name, checked against their hashes; nothing is built from source."""
    say("Installing packages (about 30 s the first time)")
    (venv / UNFINISHED).touch()
    sources = [word for lock in locks for word in ("-r", str(lock))]
    quietly = ["--quiet", "--no-input", "--disable-pip-version-check"]
    checked = ["--require-hashes", "--only-binary", ":all:"]
    run([str(venv / "bin" / "python"), "-I", "-m", "pip", "install", *quietly, *checked, *sources])
    for lock in locks:
        shutil.copyfile(lock, venv / lock.name)
    (venv / UNFINISHED).unlink()


def run(command: list[str]) -> None:
    """Run it with its output on standard error: standard output belongs to the command that comes after."""
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=sys.stderr)


def say(line: str) -> None:
    """One line of progress."""
    sys.stderr.write(f"holdfast: {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), [Path(argument) for argument in sys.argv[2:]]))
