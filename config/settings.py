"""All settings, read from the environment once. README.md has the table; a test compares the two."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.core.exceptions import ImproperlyConfigured

from config import env, logs
from config.places import broker_socket, celery_broker_url

BASE_DIR = Path(__file__).resolve().parent.parent

# What runs.
PRODUCTION = env.boolean("DAYBOOK_PRODUCTION", False)
DATA_DIR = env.folder("DAYBOOK_DATA_DIR", BASE_DIR / "data")
DEBUG = False

SECRET_KEY = env.text("DAYBOOK_SECRET_KEY")
SHORTEST_SECRET = 32
if PRODUCTION and 0 < len(SECRET_KEY) < SHORTEST_SECRET:
    raise ImproperlyConfigured(
        f"DAYBOOK_SECRET_KEY must have at least {SHORTEST_SECRET} characters; it has {len(SECRET_KEY)}."
    )
if not SECRET_KEY:
    if PRODUCTION:
        raise ImproperlyConfigured(
            "DAYBOOK_SECRET_KEY must be set to a long random text when DAYBOOK_PRODUCTION is true."
        )
    # Outside production each data directory makes a secret of its own, so that logins survive a restart.
    from config.secret import secret_of

    SECRET_KEY = secret_of(env.writable_folder("DAYBOOK_DATA_DIR", DATA_DIR))

ALLOWED_HOSTS = env.names("DAYBOOK_ALLOWED_HOSTS", () if PRODUCTION else ("*",))
if not ALLOWED_HOSTS:
    raise ImproperlyConfigured(
        "DAYBOOK_ALLOWED_HOSTS must name the hosts that are served when DAYBOOK_PRODUCTION is true."
    )
CSRF_TRUSTED_ORIGINS = env.names("DAYBOOK_TRUSTED_ORIGINS", ())
BEHIND_TLS = env.boolean("DAYBOOK_BEHIND_TLS", False)

INSTALLED_APPS = [
    "config",
    "sessions_app",
    "gateway_app",
    "skills_app",
    "django_celery_beat",
    # The theme of the console; its templates come before the admin's own.
    "unfold.apps.BasicAppConfig",
    "config.console.apps.ConsoleConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    # The files of the API's interactive page: without this it would fetch them from somebody else's server.
    "ninja",
]

MIDDLEWARE = [
    "config.middleware.RequestLog",
    "config.middleware.SecurityMiddleware",
    "config.middleware.ContentPolicy",
    "config.middleware.WhiteNoiseMiddleware",
    "config.middleware.SessionMiddleware",
    "config.middleware.CommonMiddleware",
    "config.middleware.CsrfViewMiddleware",
    "config.middleware.AuthenticationMiddleware",
    "config.middleware.MessageMiddleware",
    "config.middleware.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
APPEND_SLASH = True

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
            ],
        },
    },
]

# The console's theme. Its colours stand in our own style sheet: a policy without inline styles forbids the
# element that it would write them to.
UNFOLD = {
    "SITE_TITLE": "Daybook",
    "SITE_HEADER": "Daybook",
    "SITE_SUBHEADER": "Console · times in UTC",
    "SITE_SYMBOL": "menu_book",
    "SITE_URL": None,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": "/static/daybook/icon.svg"}],
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": False,
    "COLORS": {},
    "BORDER_RADIUS": None,
    "STYLES": [f"/static/daybook/{name}.css" for name in ("console", "transcript", "pages")],
    "SCRIPTS": [
        f"/static/daybook/{name}.js" for name in ("expressions", "keyboard", "transcript", "console")
    ],
    "SIDEBAR": {
        "show_search": False,
        "show_all_applications": False,
        "navigation": "config.console.navigation.navigation",
    },
}

# Storage.
DURABLE = env.boolean("DAYBOOK_DURABLE", True)
DATABASE = env.database("DATABASE_URL", env.DatabaseAddress("sqlite", str(DATA_DIR / "daybook.sqlite3")))
DATABASE_POOL = env.integer("DAYBOOK_DATABASE_POOL", 16, least=1, most=500)


def _database() -> dict[str, Any]:
    if DATABASE.vendor == "sqlite":
        return {
            "ENGINE": "config.sqlite",
            "NAME": DATABASE.name,
            # A file like the real one: in memory there would be no other process to meet.
            "TEST": {"NAME": f"{DATABASE.name}-test"},
            "CONN_MAX_AGE": None,
            "OPTIONS": {
                "timeout": 30,
                "transaction_mode": "IMMEDIATE",
                # Freed pages can go back to the disk, which only a file that is still empty can be told, and
                # nothing that was erased stays on them.
                "init_command": "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL;"
                "PRAGMA secure_delete=ON;"
                f"PRAGMA synchronous={'FULL' if DURABLE else 'NORMAL'};"
                "PRAGMA cache_size=-32000; PRAGMA mmap_size=268435456; PRAGMA temp_store=MEMORY;",
            },
        }
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": DATABASE.name,
        "USER": DATABASE.user,
        "PASSWORD": DATABASE.password,
        "HOST": DATABASE.host,
        "PORT": DATABASE.port,
        "OPTIONS": {
            "pool": {"min_size": 1, "max_size": DATABASE_POOL, "timeout": 10},
            # Django turns prepared statements off; the few that we write by hand ask for it.
            "prepare_threshold": 5,
            **(DATABASE.options or {}),
        },
    }


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Broker. Without REDIS_URL `up` starts a Valkey server on this socket.
EMBEDDED_BROKER_SOCKET = broker_socket(DATA_DIR)
BROKER_IS_EMBEDDED = not env.text("REDIS_URL")
REDIS_URL = env.redis_url("REDIS_URL", f"unix://{quote(str(EMBEDDED_BROKER_SOCKET))}")

# Web processes.
HOST = env.text("DAYBOOK_HOST", "127.0.0.1")
PORT = env.integer("DAYBOOK_PORT", 8000, least=1, most=65535)
WEB_WORKERS = env.integer("DAYBOOK_WEB_WORKERS", min(os.cpu_count() or 1, 4), least=1, most=256)
WEB_THREADS = env.integer("DAYBOOK_WEB_THREADS", 64, least=1, most=1000)
# An open event stream holds a thread for as long as it lives: some must stay free for everything else.
THREADS_KEPT_FREE = 8
EVENT_STREAMS = env.integer(
    "DAYBOOK_EVENT_STREAMS", max(0, min(32, WEB_THREADS - THREADS_KEPT_FREE)), least=0, most=1000
)
if EVENT_STREAMS and EVENT_STREAMS > WEB_THREADS - THREADS_KEPT_FREE:
    raise ImproperlyConfigured(
        f"DAYBOOK_EVENT_STREAMS must be at least {THREADS_KEPT_FREE} less than DAYBOOK_WEB_THREADS "
        f"({WEB_THREADS}), or 0; it is {EVENT_STREAMS}."
    )

# Background work. Late acknowledgement and one task at a time: a worker that dies hands its task to another.
CELERY_BROKER_URL = celery_broker_url(REDIS_URL)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    "retry_on_timeout": True,
}
CELERY_RESULT_BACKEND = None
# Nothing is kept, so nothing has to be cleaned up: the scheduler would make a row for it.
CELERY_RESULT_EXPIRES = None
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "daybook"
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_CONCURRENCY = env.integer("DAYBOOK_WORKER_CONCURRENCY", 2, least=1, most=256)
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_ENABLE_UTC = True
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"

# Deliveries.
WEBHOOK_TIMEOUT_SECONDS = env.integer("DAYBOOK_WEBHOOK_TIMEOUT_SECONDS", 10, least=1, most=300)
WEBHOOK_ALLOW_PRIVATE = env.boolean("DAYBOOK_WEBHOOK_ALLOW_PRIVATE", False)
DELIVERY_ATTEMPTS = env.integer("DAYBOOK_DELIVERY_ATTEMPTS", 8, least=1, most=1000)

# Meaning of texts. The key goes to nobody but that server.
EMBEDDINGS = env.choice("DAYBOOK_EMBEDDINGS", "wordllama", ("wordllama", "openai", "off"))
EMBEDDING_URL = env.text("DAYBOOK_EMBEDDING_URL", "https://api.openai.com/v1")
EMBEDDING_MODEL = env.text("DAYBOOK_EMBEDDING_MODEL", "text-embedding-3-small")
EMBEDDING_DIMENSIONS = env.integer("DAYBOOK_EMBEDDING_DIMENSIONS", 1536, least=1, most=4096)
EMBEDDING_KEY = env.text("DAYBOOK_EMBEDDING_KEY")
EMBEDDING_TIMEOUT_SECONDS = env.integer("DAYBOOK_EMBEDDING_TIMEOUT_SECONDS", 30, least=1, most=600)

# Skills.
ABANDON_AFTER_HOURS = env.integer("DAYBOOK_ABANDON_AFTER_HOURS", 24, least=1, most=8760)
SKILL_SEARCH = env.choice("DAYBOOK_SKILL_SEARCH", "auto", ("auto", "process"))

# Summaries and insights by a model, for agents that ask for it. The key goes to nobody but that server.
LLM_URL = env.text("DAYBOOK_LLM_URL", "https://api.openai.com/v1")
LLM_MODEL = env.text("DAYBOOK_LLM_MODEL")
LLM_KEY = env.text("DAYBOOK_LLM_KEY")
LLM_TIMEOUT_SECONDS = env.integer("DAYBOOK_LLM_TIMEOUT_SECONDS", 60, least=1, most=600)
LLM_INPUT_TOKENS = env.integer("DAYBOOK_LLM_INPUT_TOKENS", 24_000, least=500, most=10_000_000)

# Logs and metrics.
LOG_LEVEL = env.choice("DAYBOOK_LOG_LEVEL", "info", ("debug", "info", "warning", "error"))
LOG_FORMAT = env.choice("DAYBOOK_LOG_FORMAT", logs.JSON if PRODUCTION else logs.CONSOLE, logs.FORMATS)
ACCESS_LOG = env.boolean("DAYBOOK_ACCESS_LOG", False)
LOGGING = logs.logging_config(level=LOG_LEVEL, form=LOG_FORMAT)
logs.configure_structlog()

METRICS_DIR = env.writable_folder("DAYBOOK_DATA_DIR", DATA_DIR / "metrics")
# The metrics library decides at import whether its counters are shared between processes.
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(METRICS_DIR)

# The API's limits.
MAX_BODY_BYTES = 8 * 1024 * 1024
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
# Files to import are no bodies: they go to the disk, and may be larger. Web and worker share the folder.
MAX_UPLOAD_BYTES = env.integer("DAYBOOK_MAX_UPLOAD_BYTES", 4_294_967_296, least=1, most=2**50)
UPLOAD_DIR = env.writable_folder("DAYBOOK_DATA_DIR", DATA_DIR / "uploads")
FILE_UPLOAD_TEMP_DIR = str(UPLOAD_DIR)
FILE_UPLOAD_HANDLERS = ["django.core.files.uploadhandler.TemporaryFileUploadHandler"]
# Requests a minute for each key; 0 is no limit.
RATE_LIMIT = env.integer("DAYBOOK_RATE_LIMIT", 0, least=0, most=1_000_000)

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False
FORMAT_MODULE_PATH = "config.formats"

STATIC_URL = "/static/"
STATIC_ROOT = DATA_DIR / "static"

LOGIN_URL = "admin:login"
CSRF_FAILURE_VIEW = "config.problems.forged"
LOGIN_REDIRECT_URL = "admin:index"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_TLS
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS else None
X_FRAME_OPTIONS = "DENY"
