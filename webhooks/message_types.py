"""The types of all messages, and the patterns that stand for several."""

from collections.abc import Sequence

_VERBS = {
    "hold": ("created", "extended", "released", "expired", "converted"),
    "order": ("confirmed", "failed", "refunded", "partially_refunded", "cancelled"),
    "ticket": ("issued", "redeemed", "voided"),
    "event": ("published", "paused", "resumed", "closed"),
    "payment": ("needs_review",),
    "endpoint": ("failing", "disabled"),
}
TYPES = (*(f"{subject}.{verb}" for subject, verbs in _VERBS.items() for verb in verbs), "ping")
PATTERNS = (*TYPES, *(f"{subject}.*" for subject in _VERBS))


def types_of(pattern: str) -> Sequence[str]:
    """The types that one of PATTERNS stands for."""
    return [name for name in TYPES if name == pattern or (pattern.endswith(".*") and name.startswith(pattern[:-1]))]
