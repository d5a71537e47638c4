"""Logs as data: one JSON object a line on standard error, with the request's id. Secrets are struck out by name."""

import http
import logging
from collections.abc import MutableMapping
from typing import Any

import structlog

# names of fields that may hold a secret, wherever they turn up
SECRET_FIELDS = frozenset({"authorization", "api_key", "secret", "password", "token", "cookie", "key"})

_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def strike_secrets(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace the values of fields that are named like secrets."""
    for name in event:
        if name.lower() in SECRET_FIELDS:
            event[name] = "[struck out]"
    return event


def is_news(record: logging.LogRecord) -> bool:
    """Whether Django's line about an answer says more than the answer: a 503 is one of ours, given on purpose."""
    return getattr(record, "status_code", None) != http.HTTPStatus.SERVICE_UNAVAILABLE


def configured(level: str = "INFO") -> dict[str, Any]:
    """Django's LOGGING; also sets structlog up, so that both write the same lines."""
    structlog.configure(
        processors=[*_SHARED, strike_secrets, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": _SHARED,
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=str),
        ],
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": formatter},
        "filters": {"news": {"()": "django.utils.log.CallbackFilter", "callback": is_news}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # what a client did wrong is answered to it; only faults of ours are news
            "django.request": {"level": "ERROR", "filters": ["news"]},
            # it tells of every request and answer
            "stripe": {"level": "WARNING"},
            "django": {"handlers": [], "level": level, "propagate": True},
        },
    }
