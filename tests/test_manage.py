"""`manage.py` as part of a pipe: it ends quietly when nobody reads on, whatever command it runs."""

import os
import subprocess
import sys

import pytest

import manage
from tests.support.web import CHECKOUT, environment


@pytest.mark.parametrize("words", [["mock_charges"], ["mock_charges", "--json"], ["diffsettings", "--all"]])
def test_a_command_ends_quietly_where_nobody_reads_what_it_prints(words, database_name, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ran = subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=CHECKOUT,
            env={**environment(), "HOLDFAST_MOCK_PSP_FILE": str(tmp_path / "none")},
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        os.close(writing)
    assert (ran.stderr, ran.returncode) == ("", manage.CLOSED_PIPE)


def test_a_pipe_that_broke_elsewhere_is_an_error_as_any(monkeypatch):
    def broken(words):
        raise BrokenPipeError("another one")

    monkeypatch.setattr(manage, "execute_from_command_line", broken)
    with pytest.raises(BrokenPipeError, match="another one"):
        manage.main()
