"""What the person at the terminal reads. Standard output carries answers alone: `manage` must add nothing to it."""

import sys


def say(line: str) -> None:
    """One line of progress or refusal, on standard error."""
    sys.stderr.write(f"holdfast: {line}\n")
    sys.stderr.flush()


def answer(text: str) -> None:
    """What was asked for, on standard output; flushed, because the command may run on for days."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
