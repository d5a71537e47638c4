"""Form fields that every app's admin has: plain text."""

import re

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminTextInputWidget

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class TextField(forms.CharField):
    """One line of text, trimmed, without control characters; as the API takes it."""

    widget = UnfoldAdminTextInputWidget

    def validate(self, value: str) -> None:
        super().validate(value)
        if _CONTROL.search(value):
            raise ValidationError("Control characters are not allowed.", code="control_characters")
