from django.contrib import admin
from django.db.models import QuerySet
from django.db.models.functions import Substr
from django.http import HttpRequest

from sessions_app.admin.lists import LongList, ReadOnly
from sessions_app.admin.sessions import uid_of
from sessions_app.models import Message, Session
from sessions_app.redaction import redactor_for

OPENING = 200
# A BigIntegerField cannot be asked for more.
SEQ_DIGITS = 18


@admin.register(Message)
class MessageAdmin(ReadOnly, LongList):
    list_display = ("seq", "session", "kind", "role", "opening", "created_at", "hidden_by")
    list_filter = ("kind",)
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

    @admin.display(description="text")
    def opening(self, message: Message) -> str:
        shown: str = message.opening  # type: ignore[attr-defined]
        return _shown(message, shown)

    @admin.display(description="body")
    def shown_body(self, message: Message) -> str:
        return _shown(message, message.body)

    @admin.display(description="extra")
    def shown_extra(self, message: Message) -> str:
        return _shown(message, message.extra or "")


def _shown(message: Message, text: str) -> str:
    redactor = redactor_for(message.agent.redaction, "display")
    return text if redactor is None else redactor.text(text)
