"""Processes whose own clock is wrong."""

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "skewed_clock"


def skewed(seconds: int) -> dict[str, str]:
    """The variables of a Python process that takes the time of day to be so much later than it is."""
    path = os.pathsep.join([str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"PYTHONPATH": path, "CLOCK_AHEAD_SECONDS": str(seconds)}
