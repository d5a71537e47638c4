"""`python -m holdfast.embedded COMMAND …`: what `./hold` runs once its virtual environment is ready."""

import os
import signal
import sys
from collections.abc import Sequence

from holdfast.embedded.commands import run
from holdfast.embedded.console import say
from holdfast.embedded.errors import Refusal
from holdfast.embedded.settings import read_settings


def main(arguments: Sequence[str]) -> int:
    """Run the command; a refusal is one line on standard error."""
    try:
        return run(arguments[0], read_settings(os.environ), arguments[1:])
    except Refusal as refusal:
        say(str(refusal))
        return refusal.exit_code
    except OSError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
