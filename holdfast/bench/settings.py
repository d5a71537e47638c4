"""The settings of the web process under measurement: HoldFast's own, and one path more."""

from holdfast.settings import *  # noqa: F403

ROOT_URLCONF = "holdfast.bench.urls"
