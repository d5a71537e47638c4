"""The peers' SQL, written for psql and pgbench, made ready for psycopg: neither program need be on the machine."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psycopg

# `:name`, and `':name'` where the script quotes the text; not the `::type` of a cast
_VARIABLE = re.compile(r"(?<!:)'?:([a-z_]+)\b'?")
_RANDOM = re.compile(r"\\set (\w+) random\(1, :?(\w+)\)")
_KEEPS_ROW = re.compile(r" \\gset$")


def load_schema(url: str, script: Path, **variables: int) -> None:
    """Make the peer's tables anew, with its rows. The variables are numbers that the script names `:events`, say."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in schema_statements(script.read_text(), variables):
            connection.execute(statement.encode())


def schema_statements(text: str, variables: Mapping[str, int]) -> Iterator[str]:
    """The statements, one by one since VACUUM must stand alone; psql's own lines and comments are left out."""
    lines = [line for line in text.splitlines() if not line.startswith(("\\", "--"))]
    for statement in "\n".join(lines).split(";"):
        if statement.strip():
            yield _VARIABLE.sub(lambda found: str(variables[found[1]]), statement.strip())


@dataclass(frozen=True, slots=True)
class Step:
    """A statement of a transaction script; with `keeps_row`, later ones use its row's columns by their names."""

    statement: str
    keeps_row: bool


@dataclass(frozen=True, slots=True)
class TransactionScript:
    """What one of pgbench's transactions does: numbers drawn from 1 to a variable, then statements."""

    drawn: Mapping[str, str]
    steps: tuple[Step, ...]


def transaction_script(text: str) -> TransactionScript:
    """Reads what the floor's script uses of pgbench: `\\set … random(1, :n)`, statements on a line, `\\gset`."""
    drawn: dict[str, str] = {}
    steps = []
    for line in text.splitlines():
        if found := _RANDOM.match(line):
            drawn[found[1]] = found[2]
        elif line.strip() and not line.startswith("--"):
            statement, kept = _KEEPS_ROW.subn("", line.strip())
            steps.append(Step(_VARIABLE.sub(r"%(\1)s", statement.rstrip("; ").replace("%", "%%")), bool(kept)))
    return TransactionScript(drawn, tuple(steps))
