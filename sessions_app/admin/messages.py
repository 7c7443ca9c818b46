import re

from django.contrib import admin
from django.db.models import QuerySet
from django.db.models.functions import Substr
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from sessions_app.admin.filters import Recorded
from sessions_app.admin.lists import LongList, ReadOnly
from sessions_app.admin.sessions import uid_of
from sessions_app.models import Kind, Message, Session
from sessions_app.redaction import redactor_for

OPENING = 400
NAMES = ("content", "text", "error", "decision", "tool", "name")
WORDS = tuple(re.compile(rf'"{name}":\s*"((?:[^"\\]|\\.)*)') for name in NAMES)
# A BigIntegerField cannot be asked for more.
SEQ_DIGITS = 18


@admin.register(Message)
class MessageAdmin(ReadOnly, LongList):
    list_display = ("said", "of", "whose", "created_at", "hidden")
    list_filter = ("kind", Recorded)
    search_fields = ("seq",)
    search_help_text = "The id of a message or of its session."
    exclude = ("plain", "body", "extra")
    readonly_fields = ("agent", "session", "shown_body", "shown_extra")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Message]:
        """A list takes the beginnings alone: each message may be a megabyte."""
        found: QuerySet[Message] = super().get_queryset(request)
        opening = Substr("body", 1, OPENING)
        return found.select_related("session", "agent").defer("body", "extra").annotate(opening=opening)

    def get_ordering(self, request: HttpRequest) -> tuple[str]:
        """Within a session, which is all that can be searched for, the index goes by seq."""
        return ("-seq",) if {"session__id__exact", "q"} & request.GET.keys() else ("-pk",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Message], search_term: str
    ) -> tuple[QuerySet[Message], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        session, _, seq = term.partition(".")
        uid = uid_of(session)
        if uid is None or (seq and not (seq.isascii() and seq.isdigit() and len(seq) <= SEQ_DIGITS)):
            return queryset.none(), False
        found = queryset.filter(session_id=Session.objects.filter(uid=uid).values("pk")[:1])
        return (found.filter(seq=int(seq)) if seq else found), False

    @admin.display(description="entry")
    def said(self, message: Message) -> str:
        """Cut off JSON is not read, but its words can be shown."""
        shown: str = message.opening  # type: ignore[attr-defined]
        text = _shown(message, spoken_beginning(shown)).strip()
        return format_html('<span class="db-said">{}</span>', text or "(nothing but calls or media)")

    @admin.display(description="session")
    def of(self, message: Message) -> str:
        place = f"{message.session.uid}.{message.seq}"
        return format_html(
            '<a class="db-name" href="{}">{}</a><span class="db-sub">#{} · {}</span>',
            reverse("admin:console_session", args=[place]), str(message.session), message.seq,
            message.agent.name,
        )  # fmt: skip

    @admin.display(description="kind")
    def whose(self, message: Message) -> str:
        if message.kind == Kind.MESSAGE:
            return message.role
        named = message.kind.replace("_", " ")
        return format_html('<span class="db-tag{}">{}</span>', " db-bad" if named == "error" else "", named)

    @admin.display(description="window")
    def hidden(self, message: Message) -> str:
        if message.hidden_by:
            return f"hidden: {message.hidden_by}"
        return "in it" if message.kind == Kind.MESSAGE else "never"

    @admin.display(description="body")
    def shown_body(self, message: Message) -> str:
        return _shown(message, message.body)

    @admin.display(description="extra")
    def shown_extra(self, message: Message) -> str:
        return _shown(message, message.extra or "")


def spoken_beginning(opening: str) -> str:
    """The words at the beginning of a body that may be cut off anywhere."""
    for pattern in WORDS:
        if found := pattern.search(opening):
            return found[1].replace("\\n", " ").replace('\\"', '"').replace("\\\\", "\\")
    return ""


def _shown(message: Message, text: str) -> str:
    redactor = redactor_for(message.agent.redaction, "display")
    return text if redactor is None else redactor.text(text)
