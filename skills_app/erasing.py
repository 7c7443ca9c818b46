"""What an erased session leaves of its skills: nothing. Its uses are part of its record, queries too; they
go in the transaction of the erasure, so that counts and invocations never disagree."""

from collections.abc import Sequence
from typing import Any

from django.db.models.signals import post_migrate
from django.dispatch import receiver

from sessions_app import erasure
from sessions_app.models import Message
from sessions_app.search.text import searched_text
from skills_app import pgvector, rollups
from skills_app.models import QueryVector, SkillInvocation


def forget_queries(session_pk: int, pks: Sequence[int]) -> None:
    """Of a session that stays: a use has no author, but a query that stands in an emptied message has."""
    asked = SkillInvocation.objects.filter(session_id=session_pk).exclude(user_query="")
    queries = list(asked.values_list("pk", "user_query"))
    if not queries:
        return
    bodies = Message.objects.filter(session_id=session_pk, pk__in=pks).values_list("body", flat=True)
    texts = [searched_text(body) for body in bodies]
    found = [pk for pk, query in queries if any(query.strip() in text for text in texts)]
    QueryVector.objects.filter(invocation_id__in=found).delete()
    SkillInvocation.objects.filter(pk__in=found).update(user_query="")


erasure.register("skills", sessions=rollups.forget_sessions, messages=forget_queries)


@receiver(post_migrate)
def look_for_pgvector(sender: Any, using: str, **_: Any) -> None:
    if getattr(sender, "name", "") == "skills_app" and using == "default":
        pgvector.prepare()
