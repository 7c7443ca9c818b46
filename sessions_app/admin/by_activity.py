"""The list of sessions, last active first: the next few of each agent by its index, of them the first."""

from typing import Any

from django.db.models import QuerySet
from django.db.models.expressions import RawSQL
from django.http import HttpRequest

from sessions_app.admin.lists import NEWER, OLDER, KeysetList
from sessions_app.models import Agent

BY_ACTIVITY = ("-updated_at", "-uid")
# With these a page is found along the index; others may be rare, and the index led past all the rest.
LED = {"open", "active", "agent__id__exact", OLDER, NEWER}
MOST_AGENTS = 50
KEPT = "agents_of_list"


def led_by_activity(request: HttpRequest) -> bool:
    return request.GET.keys() <= LED and len(_agents(request)) <= MOST_AGENTS


class ActivityList(KeysetList):
    @property
    def order_said(self) -> str:
        led = self.model_admin.get_ordering(self._request) == BY_ACTIVITY
        return "last active first" if led else "last begun first"

    def _from(self, place: list[Any] | None, backwards: bool) -> QuerySet[Any]:
        rows = super()._from(place, backwards)
        if not led_by_activity(self._request):
            return rows
        return rows.filter(pk__in=self._of_each_agent(rows, backwards))

    def _of_each_agent(self, rows: QuerySet[Any], backwards: bool) -> RawSQL:
        parts: list[str] = []
        given: list[Any] = []
        order = [name.removeprefix("-") if backwards else name for name in BY_ACTIVITY]
        for pk in _agents(self._request):
            found = rows.filter(agent_id=pk).order_by(*order).values("pk")[: self.list_per_page + 1]
            text, parameters = found.query.sql_with_params()
            # Only a select of its own may have an order and an end.
            parts.append(f"SELECT * FROM ({text}) of_agent")  # noqa: S608 - made by the ORM
            given += parameters
        return RawSQL(" UNION ALL ".join(parts) or "SELECT NULL", given)  # noqa: S611 - made by the ORM


def _agents(request: HttpRequest) -> list[int]:
    """One more than are led by activity, so that one sees that there are more."""
    if KEPT not in request.__dict__:
        found = Agent.objects.order_by("pk").values_list("pk", flat=True)
        request.__dict__[KEPT] = list(found[: MOST_AGENTS + 1])
    kept: list[int] = request.__dict__[KEPT]
    return kept
