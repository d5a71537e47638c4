#!/usr/bin/env python
"""Django's command line for HoldFast; `./hold manage` runs it with the services up."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "holdfast.settings")
    execute_from_command_line(sys.argv)
