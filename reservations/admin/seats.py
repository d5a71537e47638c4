"""A block of seats or items: rows and numbers, each with a label by a pattern. Reads no row."""

import re
from collections.abc import Iterator, Sequence

from reservations.operations.units import NewUnit

UNITS_PER_CALL_MAX = 5_000
ROWS_MAX = 500
PLACES = ("section", "row", "number")
_LETTERS = re.compile(r"([A-Z])-([A-Z])")
_NUMBERS = re.compile(r"(\d{1,4})-(\d{1,4})", re.ASCII)
_TOKEN = re.compile(r"\{(\w*)\}")


def parse_rows(text: str) -> list[str]:
    """`A-F`, `1-10` or `A, B, BB`; empty is one row without a name. Raises ValueError, with a message for people."""
    rows: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        rows += _run(part) if part else []
    if text.strip() and not rows:
        raise ValueError("Name at least one row.")
    if len(rows) > ROWS_MAX:
        raise ValueError(f"That makes {len(rows):,} rows; at most {ROWS_MAX} at a time.")
    if repeated := sorted({row for row in rows if rows.count(row) > 1}):
        raise ValueError(f"Row {repeated[0]} is named twice.")
    return rows or [""]


def _run(part: str) -> list[str]:
    if match := _LETTERS.fullmatch(part):
        first, last = ord(match[1]), ord(match[2])
        names = [chr(code) for code in range(first, last + 1)]
    elif match := _NUMBERS.fullmatch(part):
        first, last = int(match[1]), int(match[2])
        names = [str(number) for number in range(first, last + 1)]
    else:
        return [part]
    if not names:
        raise ValueError(f"{part} runs backwards.")
    return names


def check_pattern(pattern: str) -> None:
    """Raises ValueError for a part in braces that stands for nothing, and for a stray brace."""
    unknown = [name for name in _TOKEN.findall(pattern) if name not in PLACES]
    if unknown:
        raise ValueError(f"{{{unknown[0]}}} stands for nothing: use {{section}}, {{row}} and {{number}}.")
    if set("{}") & set(_TOKEN.sub("", pattern)):
        raise ValueError("A brace is without its partner.")


def label(pattern: str, **places: str) -> str:
    """The pattern with its places filled in; what is empty leaves no gap, nor a dash at an end."""
    filled = _TOKEN.sub(lambda match: places[match[1]], pattern)
    return " ".join(part for part in (part.strip("-") for part in filled.split()) if part)


def seats(*, section: str, rows: Sequence[str], numbers: range, price_amount: int, pattern: str) -> Iterator[NewUnit]:
    """Row by row, number by number."""
    for row in rows:
        for number in map(str, numbers):
            text = label(pattern, section=section, row=row, number=number)
            yield NewUnit(label=text, section=section, row=row, number=number, price_amount=price_amount)
