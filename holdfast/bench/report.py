"""What a run found, for people and for programs. A run in which anything broke has no figures: it counts nothing."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connections

from holdfast.bench.figures import Figures, rounded

_SETTINGS = "SELECT current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit')"


@dataclass(frozen=True, slots=True)
class Findings:
    """What a scenario measured; `lines` are said beside the figures."""

    title: str
    unit: str
    arms: Mapping[str, Figures]
    ratios: Mapping[str, Figures] = field(default_factory=dict)
    lines: Sequence[str] = ()


def machine() -> dict[str, Any]:
    """Where it ran, and whether the database's commits were durable there."""
    with connections["owner"].cursor() as cursor:
        cursor.execute(_SETTINGS)
        version, fsync, synchronous_commit = cursor.fetchone()
    return {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "postgres": version.split()[0],
        "fsync": fsync,
        "synchronous_commit": synchronous_commit,
    }


def as_json(scenario: str, findings: Findings, place: Mapping[str, Any], faults: Sequence[str]) -> dict[str, Any]:
    """One object; `invariants` is "hold" or the list of what broke."""
    arms, ratios = ({}, {}) if faults else (findings.arms, findings.ratios)
    return {
        "scenario": scenario,
        "unit": findings.unit,
        "arms": {name: figures.as_json() for name, figures in arms.items()},
        "ratios": {name: figures.as_json() for name, figures in ratios.items()},
        "lines": list(findings.lines),
        "machine": dict(place),
        "invariants": list(faults) or "hold",
    }


def as_text(findings: Findings, place: Mapping[str, Any], faults: Sequence[str]) -> str:
    """A few lines to read."""
    lines = [findings.title, *(f"  {line}" for line in findings.lines)]
    if faults:
        lines += ["this run counts nothing:", *(f"  {fault}" for fault in faults)]
    else:
        lines += [_line(name, figures, f" {findings.unit}") for name, figures in findings.arms.items()]
        lines += [_line(name, figures, "") for name, figures in findings.ratios.items()]
        lines.append("invariants hold")
    lines.append(", ".join(f"{name} {value}" for name, value in place.items()))
    if "off" in (place["fsync"], place["synchronous_commit"]):
        lines.append("commits were not durable here: these figures are for no comparison")
    return "\n".join(lines)


def _line(name: str, figures: Figures, unit: str) -> str:
    low, high, median = rounded(figures.min), rounded(figures.max), rounded(figures.median)
    return f"  {name:<36} {median:>8g}{unit}  ({low:g} to {high:g}, {len(figures.rounds)} rounds)"
