from django.apps import AppConfig
from django.core import checks

from holdfast.checks import check_runtime_roles


class HoldFastConfig(AppConfig):
    name = "holdfast"
    verbose_name = "HoldFast"

    def ready(self) -> None:
        checks.register(check_runtime_roles, checks.Tags.database)
