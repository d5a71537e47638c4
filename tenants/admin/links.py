"""Links from one page to another."""

from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

ANCHOR = '<a class="text-primary-600 dark:text-primary-500" href="{}">{}</a>'


def link_to(row: Any, text: str = "") -> SafeString:
    """To the page of a row, by its own name or by this text; nothing for no row."""
    if row is None:
        return SafeString("")
    return format_html(
        ANCHOR, reverse(f"admin:{row._meta.label_lower.replace('.', '_')}_change", args=[row.pk]), text or row
    )
