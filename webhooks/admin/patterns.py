"""The field in which types of messages are chosen, by name or by pattern."""

from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from webhooks.message_types import PATTERNS


class _Joined(forms.HiddenInput):
    """Several values as one text: what a form that was opened sends along of what it showed."""

    def format_value(self, value: Any) -> str:
        return ", ".join(value or ())

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        return [part for part in data.get(name, "").split(", ") if part]


class PatternsField(forms.MultipleChoiceField):
    """A pattern stands before the types it stands for."""

    widget = UnfoldAdminCheckboxSelectMultipleWidget
    hidden_widget = _Joined

    def __init__(self, **kwargs: Any) -> None:
        choices = [(name, f"{name}: all of these" if name.endswith("*") else name) for name in sorted(PATTERNS)]
        super().__init__(choices=choices, **kwargs)
