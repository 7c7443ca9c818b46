"""Sessions: the list, the page of one with its transcript, its live tail, and what operators do there."""

import re
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.shortcuts import redirect
from django.template.defaultfilters import date
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import content_disposition_header

from config.console import acting, jobs, transcripts
from config.console.session_page import header
from config.console.transcripts import chosen_session, number
from gateway_app.admin.acting import acting_for
from sessions_app.admin.sessions import SessionList, uid_of
from sessions_app.models import Session
from sessions_app.problems import Problem
from sessions_app.transcripts import exporting

# What is done with all rows that fit a filter, and with how many at once.
FOR_MANY, MOST_AT_ONCE = ("reset", "condense", "reflect", "erase"), 5_000


@admin.register(Session)
class SessionAdmin(SessionList):
    list_display = ("named", "of_agent", "place", "state", "entries", "problems", "begun", "last_active")
    actions = ("reset_selected", "condense_selected", "erase_selected")
    list_fullwidth = True
    change_list_template = "console/session_list.html"

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        may_act = request.user.has_perm(acting.CHANGE_SESSION)
        answer: HttpResponse = super().changelist_view(request, {**(extra_context or {}), "may_act": may_act})
        return answer

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("<int:pk>/part/", view(transcripts.part), name="console_part"),
            path("<int:pk>/live/", view(transcripts.live), name="console_live"),
            path("<int:pk>/find/", view(transcripts.find), name="console_find"),
            path("<int:pk>/next/<slug:kind>/", view(transcripts.following), name="console_next"),
            path("<int:pk>/act/<slug:action>/", view(self.act_view), name="console_act"),
            path("<int:pk>/export/<slug:form>/", view(self.export_view), name="console_export"),
            path("all/", view(self.all_view), name="console_all"),
            path("at/<str:uid>/", view(self.permalink_view), name="console_session"),
        ]
        return [*own, *super().get_urls()]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        if not re.fullmatch("[0-9]{1,18}", object_id) or request.method != "GET":
            answer: HttpResponse = super().change_view(request, object_id, form_url, extra_context)
            return answer
        session = chosen_session(request, int(object_id))
        now = timezone.now()
        context = {
            **self.admin_site.each_context(request),
            **header(session, now),
            "title": str(session),
            "subtitle": None,
            "opts": self.opts,
            "original": session,
            "session": session,
            "part": transcripts.wanted_part(session, request),
            "wanted": number(request, "seq"),
            "find": request.GET.get("find", ""),
            "may_act": request.user.has_perm(acting.CHANGE_SESSION),
            "actions": [
                action
                for action in acting.ACTIONS.values()
                if action.name != "end-lease" and action.fits(session) and request.user.has_perm(action.right)
            ],
            "policy_link": _policy_link(request, session),
            "formats": _formats(request),
            "list": reverse("admin:sessions_app_session_changelist"),
        }
        return TemplateResponse(request, "console/session.html", context)

    def export_view(self, request: HttpRequest, pk: int, form: str) -> HttpResponseBase:
        session = chosen_session(request, pk)
        if form not in exporting.FORMATS:
            raise Http404
        if form == exporting.ARCHIVE and not request.user.has_perm(acting.CHANGE_SESSION):
            # It holds everything as it was said, whatever is made unreadable elsewhere.
            raise PermissionDenied
        now = timezone.now()
        pieces = exporting.one(acting_for(session.agent, now), session, form, now)
        acting.note(request.user, session, f"Exported as {form}.")
        name = content_disposition_header(True, exporting.file_name(session, form)) or ""
        headers = {"Content-Disposition": name, "X-Content-Type-Options": "nosniff"}
        return StreamingHttpResponse(pieces, content_type=exporting.content_type(form), headers=headers)

    def permalink_view(self, request: HttpRequest, uid: str) -> HttpResponse:
        """By the id that agents see; `uid.seq` leads to the entry."""
        text, _, seq = uid.partition(".")
        found = Session.objects.filter(uid=uid_of(text) or UUID(int=0)).first()
        if found is None:
            raise Http404
        page = reverse("admin:sessions_app_session_change", args=[found.pk])
        return redirect(f"{page}?seq={seq}#m{seq}" if seq.isdigit() else page)

    def act_view(self, request: HttpRequest, pk: int, action: str) -> HttpResponse:
        chosen = acting.ACTIONS.get(action)
        if chosen is None:
            raise Http404
        session = chosen_session(request, pk)
        if not request.user.has_perm(chosen.right):
            raise PermissionDenied
        if request.method != "POST":
            return self._ask(request, session, chosen)
        if chosen.asks_twice and request.POST.get("sure") != chosen.name:
            return self._ask(request, session, chosen, "Type the word to go on.")
        return self._done(request, session, chosen)

    def _done(self, request: HttpRequest, session: Session, chosen: acting.Action) -> HttpResponse:
        try:
            done = acting.act(request.user, session, chosen, request.POST.dict(), timezone.now())
        except Problem as problem:
            self.message_user(request, problem.detail, messages.ERROR)
            return redirect("admin:sessions_app_session_change", session.pk)
        self.message_user(request, done.said)
        if done.address:
            return redirect(done.address)
        if done.leads_to is None:
            return redirect("admin:sessions_app_session_changelist")
        return redirect("admin:sessions_app_session_change", done.leads_to)

    def _ask(
        self, request: HttpRequest, session: Session, chosen: acting.Action, error: str = ""
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": f"{chosen.title}?", "session": session, "action": chosen, "error": error,
            "opts": self.opts,
        }  # fmt: skip
        return TemplateResponse(request, "console/ask.html", context)

    @admin.action(description="Reset selected sessions", permissions=["change"])
    def reset_selected(self, request: HttpRequest, queryset: QuerySet[Session]) -> HttpResponse:
        return self._as_job(request, queryset, "reset")

    @admin.action(description="Condense selected sessions", permissions=["change"])
    def condense_selected(self, request: HttpRequest, queryset: QuerySet[Session]) -> HttpResponse:
        return self._as_job(request, queryset, "condense")

    @admin.action(description="Erase selected sessions …", permissions=["erase"])
    def erase_selected(self, request: HttpRequest, queryset: QuerySet[Session]) -> HttpResponse:
        if request.POST.get("sure") == "erase":
            return self._as_job(request, queryset, "erase")
        context = {
            **self.admin_site.each_context(request),
            "title": "Erase these sessions?", "rows": list(queryset.order_by("-pk")[: self.list_per_page]),
            "opts": self.opts, "error": "Type the word to go on." if "sure" in request.POST else "",
        }  # fmt: skip
        return TemplateResponse(request, "console/ask_many.html", context)

    def all_view(self, request: HttpRequest) -> HttpResponse:
        """An action over whatever the list is narrowed to, however many pages that is."""
        if not request.user.has_perm(acting.CHANGE_SESSION):
            raise PermissionDenied
        offered = [
            acting.ACTIONS[name] for name in FOR_MANY if request.user.has_perm(acting.ACTIONS[name].right)
        ]
        fitting: Any = self.get_changelist_instance(request)
        rows = list(fitting.queryset.order_by("-pk").values_list("pk", flat=True)[: MOST_AT_ONCE + 1])
        action = request.POST.get("do", "")
        sure = action in {each.name for each in offered} and request.POST.get("sure") == action
        if request.method == "POST" and sure and 0 < len(rows) <= MOST_AT_ONCE:
            job = jobs.start(request.user, action, rows[::-1])
            return redirect("admin:sessions_app_operatorjob_change", job.pk)
        context = {
            **self.admin_site.each_context(request),
            "title": "All that fit", "opts": self.opts, "chips": fitting.chips, "number": len(rows),
            "most": MOST_AT_ONCE, "too_many": len(rows) > MOST_AT_ONCE, "offered": offered, "chosen": action,
            "list": f"{reverse('admin:sessions_app_session_changelist')}?{request.GET.urlencode()}",
            "error": "Type the name of the action to go on." if request.method == "POST" else "",
        }  # fmt: skip
        return TemplateResponse(request, "console/ask_all.html", context)

    def has_erase_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("sessions_app.delete_session")

    def _as_job(self, request: HttpRequest, queryset: QuerySet[Session], action: str) -> HttpResponse:
        job = jobs.start(request.user, action, list(queryset.order_by("pk").values_list("pk", flat=True)))
        return redirect("admin:sessions_app_operatorjob_change", job.pk)

    @admin.display(description="session")
    def named(self, session: Session) -> str:
        return format_html(
            '<span class="db-name">{}</span><span class="db-sub">{}</span>',
            session.title or session.key,
            session.key if session.title else "",
        )

    @admin.display(description="agent")
    def of_agent(self, session: Session) -> str:
        return session.agent.name

    @admin.display(description="where")
    def place(self, session: Session) -> str:
        source = session.source or {}
        who = source.get("user_name") or source.get("chat_name") or ""
        shown = " · ".join(filter(None, (session.platform, session.chat_type)))
        return format_html(
            '<span class="db-time">{}</span><span class="db-sub">{}</span>', shown or "by key", str(who)[:60]
        )

    @admin.display(description="state")
    def state(self, session: Session) -> str:
        ended = f"ended: {session.end_reason}"
        kind, said = ("db-tag", ended) if session.ended_at else ("db-tag db-good", "open")
        return format_html('<span class="{}">{}</span>', kind, said)

    @admin.display(description="entries")
    def entries(self, session: Session) -> str:
        return f"{session.last_seq:,}".replace(",", " ")

    @admin.display(description="errors")
    def problems(self, session: Session) -> str:
        return (
            format_html('<span class="db-tag db-bad">{}</span>', session.errors_count)
            if session.errors_count
            else "none"
        )

    @admin.display(description="begun")
    def begun(self, session: Session) -> str:
        return _when(session.created_at)

    @admin.display(description="last active")
    def last_active(self, session: Session) -> str:
        return _when(session.updated_at)


def _formats(request: HttpRequest) -> list[str]:
    whole = request.user.has_perm(acting.CHANGE_SESSION)
    return [form for form in exporting.FORMATS if whole or form != exporting.ARCHIVE]


def _when(moment: datetime) -> str:
    return format_html(
        '<time class="db-time" datetime="{}">{}</time>',
        moment.isoformat(),
        date(moment, "j M, H:i" if moment.year == timezone.now().year else "j M Y, H:i"),
    )


def _policy_link(request: HttpRequest, session: Session) -> str | None:
    """Where its policy is changed, or set where it has none of its own."""
    if not request.user.has_perm("gateway_app.change_resetpolicy"):
        return None
    found = session.agent.resetpolicy_set.filter(
        platform=session.platform, chat_type=session.chat_type
    ).first()
    if found is not None:
        return reverse("admin:gateway_app_resetpolicy_change", args=[found.pk])
    add = reverse("admin:gateway_app_resetpolicy_add")
    return f"{add}?agent={session.agent_id}&platform={session.platform}&chat_type={session.chat_type}"
