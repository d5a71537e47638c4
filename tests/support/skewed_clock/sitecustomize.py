"""Python imports this by its name at its start, where this folder is on its path: its clock is then wrong.

All that Python itself tells of the time of day is; what counts seconds since some start (`time.monotonic`) is right, as
on a machine whose clock is wrong.
"""

import ctypes
import gc
import os
import time
from datetime import datetime, timedelta, tzinfo

AHEAD_SECONDS = int(os.environ["CLOCK_AHEAD_SECONDS"])
AHEAD = timedelta(seconds=AHEAD_SECONDS)
_time, _time_ns, _now, _utcnow = time.time, time.time_ns, datetime.now, datetime.utcnow


def _skewed_now(_: type[datetime], tz: tzinfo | None = None) -> datetime:
    return _now(tz) + AHEAD


def _skewed_utcnow(_: type[datetime]) -> datetime:
    return _utcnow() + AHEAD


time.time = lambda: _time() + AHEAD_SECONDS
time.time_ns = lambda: _time_ns() + AHEAD_SECONDS * 10**9
# The class is written in C and can't be assigned to. A subclass in its place would not do: the database driver and the
# JSON encoder tell values by their class.
(members,) = gc.get_referents(datetime.__dict__)
members |= {"now": classmethod(_skewed_now), "utcnow": classmethod(_skewed_utcnow)}
ctypes.pythonapi.PyType_Modified(ctypes.py_object(datetime))
