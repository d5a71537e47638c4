"""Why HoldFast does not start.

Refusal             one line for the person at the terminal; exit code 1
└── BadSetting      a variable or option has a value that cannot work; exit code 2
"""


class Refusal(Exception):
    """HoldFast does not start, and the message says in one line why and what to do."""

    exit_code = 1


class BadSetting(Refusal):
    """A setting has a value that cannot work; the message names the setting."""

    exit_code = 2

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name} {problem}")
