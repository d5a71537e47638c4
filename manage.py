#!/usr/bin/env python
"""Django's command line for HoldFast; `./hold manage` runs it with the services up."""

import os
import select
import sys

from django.core.management import execute_from_command_line

# as the shell tells of a program that wrote to a closed pipe
CLOSED_PIPE = 128 + 13


def main() -> None:
    """Run the command; end quietly once nobody reads what it prints, as in `mock_charges | head`."""
    try:
        try:
            execute_from_command_line(sys.argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        if not _nobody_reads():
            raise
        # what is still to be printed goes nowhere: Python would complain at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(CLOSED_PIPE)


def _nobody_reads() -> bool:
    """Whether standard output is a pipe that was closed at its other end."""
    pipe = select.poll()
    pipe.register(sys.stdout, 0)
    return any(event & select.POLLERR for _, event in pipe.poll(0))


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "holdfast.settings")
    main()
