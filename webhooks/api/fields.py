"""Fields that bodies about webhooks share."""

from drf_spectacular.utils import extend_schema_field

from holdfast.kernel.fields import TextField
from webhooks.message_types import PATTERNS


@extend_schema_field({"type": "string", "enum": PATTERNS})
class PatternField(TextField):
    """A type of messages, or a pattern such as hold.*: text here, the operations know which there are."""

    def __init__(self) -> None:
        super().__init__(max_length=40)
