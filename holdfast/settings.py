"""Django's settings: one file, fed by `holdfast.env`."""

from pathlib import Path
from typing import Any

from django.utils.csp import CSP

from holdfast import env
from holdfast.embedded.web import BLOCKING_THREADS
from holdfast.observability.logging import configured

BASE_DIR = Path(__file__).resolve().parent.parent
ENVIRONMENT = env.read()

SECRET_KEY = ENVIRONMENT.secret_key
SECRET_KEY_FALLBACKS = list(ENVIRONMENT.secret_key_fallbacks)
DEBUG = False
ALLOWED_HOSTS = list(ENVIRONMENT.allowed_hosts)
CSRF_TRUSTED_ORIGINS = list(ENVIRONMENT.csrf_trusted_origins)
ROOT_URLCONF = "holdfast.urls"
WSGI_APPLICATION = "holdfast.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "tenants.User"

INSTALLED_APPS = [
    "holdfast",
    "reservations",
    "webhooks",
    "tenants",
    "unfold",
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]

# The API pays only for the first two; the rest are Django's own, told to step aside under /v1/.
MIDDLEWARE = [
    "holdfast.observability.middleware.RequestIds",
    "holdfast.observability.hosts.AllowedHosts",
    "holdfast.observability.middleware.BrowserSecurity",
    "holdfast.observability.middleware.BrowserStaticFiles",
    "holdfast.observability.middleware.BrowserSessions",
    "holdfast.observability.middleware.BrowserCommon",
    "holdfast.observability.middleware.BrowserCsrf",
    "holdfast.observability.middleware.BrowserAuthentication",
    "holdfast.observability.middleware.BrowserBodies",
    "holdfast.observability.middleware.BrowserMessages",
    "holdfast.observability.middleware.BrowserClickjacking",
    "holdfast.observability.middleware.BrowserContentPolicy",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# The web's and workers' statements are short by promise; a wait past these is answered as contention.
LOCK_TIMEOUT_MS = 2_000
STATEMENT_TIMEOUT_MS = 5_000
IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000


# a network that swallows packets is one that is away; no use for unix sockets, and no harm
_NETWORK = {"connect_timeout": 3, "tcp_user_timeout": 10_000, "keepalives_idle": 30, "keepalives_interval": 5}


def _database(login: env.Database, **server_settings: int) -> dict[str, Any]:
    given = login.options.get("options", "")
    options = " ".join([given, *(f"-c {name}={value}" for name, value in server_settings.items())]).strip()
    return {
        "ENGINE": "holdfast.kernel.db",
        "NAME": login.name,
        "USER": login.user,
        "PASSWORD": login.password,
        "HOST": login.host,
        "PORT": login.port,
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {**_NETWORK, **login.options, "application_name": "holdfast", "options": options},
    }


_LIMITS = {
    "lock_timeout": LOCK_TIMEOUT_MS,
    "statement_timeout": STATEMENT_TIMEOUT_MS,
    "idle_in_transaction_session_timeout": IDLE_IN_TRANSACTION_TIMEOUT_MS,
}
DATABASES = {
    # the web and the workers: owns nothing, sees the rows of one tenant inside a tenant transaction and no others
    "default": _database(ENVIRONMENT.app, **_LIMITS),
    # finds work across tenants; reads only
    "maintenance": _database(ENVIRONMENT.maintenance, **_LIMITS),
}
if ENVIRONMENT.owner:
    # schema and migrations only
    DATABASES["owner"] = _database(ENVIRONMENT.owner)

DATABASE_ROUTERS = ["holdfast.kernel.db.router.Router"]

REDIS_URL = ENVIRONMENT.redis_url
# Redis only wakes: what is asked of it must never be waited for
REDIS_TIMEOUT_SECONDS = 1.0
RQ_QUEUES = {
    name: {
        "URL": REDIS_URL,
        "DEFAULT_TIMEOUT": 60,
        "SERIALIZER": "rq.serializers.JSONSerializer",
    }
    for name in ("holds", "payments", "watch", "webhooks", "webhooks-slow")
}
# django-rq is used and not installed: its pages are open to any staff, who could empty a queue
RQ_SHOW_ADMIN_LINK = False

# where payment providers reach this HoldFast
PUBLIC_URL = ENVIRONMENT.public_url
# dotted paths, called with a new tenant's id inside the transaction that makes it
NEW_TENANT_STEPS = ["reservations.operations.payment_accounts.open_first_account"]
# it takes no money
MOCK_PROVIDER_ALLOWED = ENVIRONMENT.development
# of the mock payment provider; empty and None where there is none
MOCK_PSP_URL = ENVIRONMENT.mock_psp_url
MOCK_PSP_FILE = ENVIRONMENT.mock_psp_file

# where webhooks may be sent: https to these ports, and in development http to loopback
WEBHOOK_PORTS = ENVIRONMENT.webhook_ports
WEBHOOK_LOOPBACK_ALLOWED = ENVIRONMENT.development
# dotted paths to what describes the types of messages, by those who publish them
MESSAGE_CATALOGUE = ["reservations.api.told.MESSAGES", "webhooks.api.told.MESSAGES"]

LOGGING = configured()

LANGUAGE_CODE = "en-gb"
FORMAT_MODULE_PATH = ["holdfast.formats"]
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "static/"
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not ENVIRONMENT.development
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
SECURE_CSP = {
    "default-src": [CSP.SELF],
    # the admin's menus are Alpine.js, which evaluates attributes, and its theme is an inline style
    "script-src": [CSP.SELF, CSP.UNSAFE_EVAL],
    "style-src": [CSP.SELF, CSP.UNSAFE_INLINE],
    "img-src": [CSP.SELF, "data:"],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
}
LOGIN_URL = "admin:login"
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.ScryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# Of one web process. Requests at work wait for the database most of the time: 4 keep two processes busy on two cores,
# and more on one interpreter lock only take turns. The other 4 are for those that wait for slow bodies.
WEB_PERMITS = 8
# those that are not at work wait for permits or for payment providers
WEB_THREADS = BLOCKING_THREADS
BODY_BYTES_MAX = 1024 * 1024
BULK_BODY_BYTES_MAX = 4 * 1024 * 1024
# forms of the admin; the API counts its own bytes
DATA_UPLOAD_MAX_MEMORY_SIZE = BULK_BODY_BYTES_MAX

UNFOLD = {
    "SITE_TITLE": "HoldFast",
    "SITE_HEADER": "HoldFast",
    "SITE_SYMBOL": "anchor",
    "SITE_URL": None,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": "/static/holdfast/favicon.svg"}],
}

REST_FRAMEWORK = {
    # a view says who may call it: `tenants.api.views.TenantView` does
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_PARSER_CLASSES": ["holdfast.kernel.http.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["holdfast.kernel.http.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "holdfast.kernel.http.AlwaysJSON",
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "holdfast.kernel.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "holdfast.kernel.problems.exception_handler",
    "UNAUTHENTICATED_USER": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "HoldFast",
    "DESCRIPTION": "Holds on scarce things: seats, appointment slots, limited drops.",
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": "/v1/",
    "COMPONENT_SPLIT_REQUEST": True,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "ENUM_NAME_OVERRIDES": {
        "EventStatusEnum": "reservations.models.EventStatus",
        "HoldStatusEnum": "reservations.models.HoldStatus",
        "OrderStatusEnum": "reservations.models.OrderStatus",
        "PaymentStatusEnum": "reservations.models.PaymentStatus",
        "RefundStatusEnum": "reservations.models.RefundStatus",
        "FailureReasonEnum": "reservations.models.FailureReason",
        "ProviderEnum": "reservations.models.Provider",
        # of payment accounts and of endpoints
        "EnabledStatusEnum": "webhooks.models.EndpointStatus",
        "TicketStatusEnum": "reservations.models.TicketStatus",
        "UnitStatusEnum": "reservations.models.UnitStatus",
        "EventKindEnum": "reservations.models.EventKind",
        "PausedReasonEnum": "reservations.models.PausedReason",
        "ScopeEnum": "tenants.models.Scope",
        "MessagePatternEnum": "webhooks.message_types.PATTERNS",
        "DisabledReasonEnum": "webhooks.models.DisabledReason",
        "DeliveryStatusEnum": "webhooks.models.DeliveryStatus",
        "ReplayedStatusEnum": "webhooks.models.ReplayedStatus",
        "ReplayStateEnum": "webhooks.models.ReplayState",
    },
}
