from typing import Any
from uuid import UUID

from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from sessions_app.access import Caller
from sessions_app.admin.by_activity import BY_ACTIVITY, ActivityList, led_by_activity
from sessions_app.admin.filters import SPANS, Choice, Period
from sessions_app.admin.lists import LongList, ReadOnly
from sessions_app.models import Agent, Session
from sessions_app.search.filters import Filters
from sessions_app.search.find import Asked, sessions_with
from sessions_app.search.query import MOST_CHARACTERS
from sessions_app.storage import storage

LOOKED_AT = 1000
# Words are looked for in keys, titles and people of this many of the newest sessions that fit the filters.
SEARCHED = 10_000
NAMES = ("key", "title", "source__user_name", "source__chat_name")
# Messages that are looked at for the sessions they are in, of each of so many agents.
SAID, AGENTS = 200, 50
REASONS = ("idle", "daily", "all", "reset", "switched")


class IsOpen(Choice):
    title, parameter_name = "state", "open"
    choices_ = (("yes", "open"), ("no", "ended"))

    def chosen(self, value: str) -> Q:
        return Q(ended_at__isnull=value == "yes")


class OfPlatform(Choice):
    """By the platforms of the newest sessions: to ask for all that ever were would read the whole table."""

    title, parameter_name = "platform", "platform"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        newest = Session.objects.order_by("-pk").values_list("platform", flat=True)[:LOOKED_AT]
        return [(name, name) for name in sorted({*newest, self.used_parameters.get("platform", "")}) if name]

    def chosen(self, value: str) -> Q:
        return Q(platform=value)


class OfChatType(Choice):
    title, parameter_name = "chat type", "chat_type"
    choices_ = tuple((name, name) for name in ("dm", "group", "channel", "thread"))

    def chosen(self, value: str) -> Q:
        return Q(chat_type=value)


class EndedBy(Choice):
    title, parameter_name = "reason of the end", "reason"
    choices_ = tuple((name, name) for name in REASONS)

    def chosen(self, value: str) -> Q:
        # With what the index says of its rows, so that it is used.
        return Q(ended_at__isnull=False, end_reason=value)


class HasErrors(Choice):
    title, parameter_name = "errors", "errors"
    choices_ = (("yes", "with errors"), ("no", "without errors"))

    def chosen(self, value: str) -> Q:
        return Q(errors_count__gt=0) if value == "yes" else Q(errors_count=0)


class Begun(Period):
    title, parameter_name = "begun", "begun"

    def chosen(self, value: str) -> Q:
        return Q(created_at__gte=timezone.now() - SPANS[value])


class Active(Period):
    """By the agents' index of what was last changed."""

    title, parameter_name = "active", "active"

    def chosen(self, value: str) -> Q:
        agents = Agent.objects.values("pk")
        return Q(agent__in=agents, updated_at__gte=timezone.now() - SPANS[value])


class SessionList(ReadOnly, LongList):
    """The list; its page and what is done there need the gateway, and are made above."""

    list_filter = (IsOpen, HasErrors, Active, Begun, EndedBy, OfPlatform, OfChatType, "agent")
    list_select_related = ("agent",)
    search_fields = ("key",)
    search_help_text = "Key, id, title, name, or words that were said"

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ActivityList]:
        return ActivityList

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """By activity where an index leads through it; else those that were begun last come first."""
        return BY_ACTIVITY if SEARCH_VAR in request.GET or led_by_activity(request) else ("-pk",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Session]:
        found: QuerySet[Session] = super().get_queryset(request)
        return found.defer("summary", "metadata")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Session], search_term: str
    ) -> tuple[QuerySet[Session], bool]:
        """An id and a whole key by their indexes; a part by looking through the newest that fit."""
        term = search_term.strip()
        if not term or "\x00" in term:
            return (queryset.none() if term else queryset), False
        if (uid := uid_of(term)) is not None:
            return queryset.filter(uid=uid), False
        # The index of keys begins with the agent.
        whole = queryset.filter(Q(agent__in=Agent.objects.values("pk")), key=term)
        return (whole if whole.exists() else self.containing(queryset, term)), False

    def containing(self, queryset: QuerySet[Session], term: str) -> QuerySet[Session]:
        newest = queryset.order_by("-pk").values("pk")[:SEARCHED]
        named = Q(storage().containing(term, *NAMES), pk__in=newest)
        return queryset.filter(named | Q(pk__in=saying(term)))


def saying(term: str) -> set[int]:
    """Sessions in which it was said, by the newest messages that are found of each agent."""
    if len(term) > MOST_CHARACTERS:
        return set()
    asked = Asked(term, "text", Filters(include_hidden=True), "newest", SAID)
    agents = Agent.objects.order_by("pk")[:AGENTS]
    return set().union(*(sessions_with(reader_of(agent), asked) for agent in agents))


def reader_of(agent: Agent) -> Caller:
    """No key stands behind an operator at the admin."""
    return Caller(0, agent.pk, agent.name, agent.timezone, frozenset({"read"}))


def uid_of(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None
