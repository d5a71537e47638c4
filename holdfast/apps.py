from django.apps import AppConfig
from django.core import checks


class HoldFastConfig(AppConfig):
    name = "holdfast"
    verbose_name = "HoldFast"

    def ready(self) -> None:
        from holdfast.checks import check_runtime_roles

        checks.register(check_runtime_roles, checks.Tags.database)
