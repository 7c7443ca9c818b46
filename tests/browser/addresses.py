"""Pages that are looked at in every width and theme."""

SESSIONS = "/admin/sessions_app/session/"
PAGES = (
    "/admin/", "/admin/?period=30d", SESSIONS, f"{SESSIONS}?open=yes&errors=yes",
    "/admin/sessions_app/message/", "/admin/gateway_app/delivery/", "/admin/gateway_app/platform/",
    "/admin/gateway_app/resetpolicy/", "/admin/gateway_app/lease/", "/admin/gateway_app/person/",
    "/admin/gateway_app/apikey/add/", "/admin/django_celery_beat/periodictask/", "/admin/auth/user/",
    "/admin/admin/logentry/", "/admin/sessions_app/operatorjob/", "/admin/find/?q=the&agent=1",
    "/admin/skills/?query=book+a+table", f"{SESSIONS}all/?open=yes", "/admin/sessions_app/agent/",
    "/admin/sessions_app/agent/1/change/", "/admin/gateway_app/apikey/", "/admin/auth/user/1/change/",
    "/admin/auth/group/1/change/", "/admin/password_change/", "/admin/sessions_app/session/1/act/erase/",
    "/admin/skills/one/?skill=book-table", "/admin/sessions_app/reflection/4/change/",
    "/admin/sessions_app/memoryrevision/3/change/?against=1", "/admin/sessions_app/consolidation/1/change/",
    "/admin/gateway_app/delivery/1/change/", "/admin/gateway_app/platform/1/change/",
    "/admin/gateway_app/resetpolicy/add/", "/admin/gateway_app/personerasure/add/",
    "/admin/sessions_app/import/add/", "/admin/sessions_app/retentionrule/add/",
    "/admin/django_celery_beat/periodictask/1/change/",
)  # fmt: skip
