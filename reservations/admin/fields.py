"""Form fields: prices."""

from decimal import Decimal
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminDecimalFieldWidget

from holdfast.kernel.money import AMOUNT_MAX, EXPONENTS


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
