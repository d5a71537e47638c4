"""Form fields: plain text and prices."""

import re
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from unfold.widgets import UnfoldAdminDecimalFieldWidget, UnfoldAdminTextInputWidget

from holdfast.kernel.money import AMOUNT_MAX, EXPONENTS

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class TextField(forms.CharField):
    """One line of text, trimmed, without control characters; as the API takes it."""

    widget = UnfoldAdminTextInputWidget

    def validate(self, value: str) -> None:
        super().validate(value)
        if _CONTROL.search(value):
            raise ValidationError("Control characters are not allowed.", code="control_characters")


class PriceField(forms.DecimalField):
    """A price in a currency's usual form, 25.00; becomes the integer of its minor unit, 2500."""

    widget = UnfoldAdminDecimalFieldWidget

    def __init__(self, *, currency: str, **kwargs: Any) -> None:
        self.exponent = EXPONENTS[currency]
        kwargs.setdefault("label", f"Price ({currency})")
        highest = Decimal(AMOUNT_MAX).scaleb(-self.exponent)
        super().__init__(min_value=0, max_value=highest, decimal_places=self.exponent, **kwargs)
        self.widget.attrs["step"] = str(Decimal(1).scaleb(-self.exponent))

    def prepare_value(self, value: Any) -> Any:
        return Decimal(value).scaleb(-self.exponent) if isinstance(value, int) else value

    def clean(self, value: Any) -> int | None:
        price = super().clean(value)
        return None if price is None else int(price.scaleb(self.exponent))

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(self.prepare_value(initial), data)
