"""What an erased session leaves of its skills: nothing. Its uses are part of its record, queries too."""

from typing import Any

from django.db.models.signals import post_migrate, pre_delete
from django.dispatch import receiver

from sessions_app.models import Session
from skills_app import pgvector, rollups


@receiver(pre_delete, sender=Session)
def forget_uses(instance: Session, **_: Any) -> None:
    """In the transaction of the erasure, so that counts and invocations never disagree."""
    rollups.forget_session(instance.pk)


@receiver(post_migrate)
def look_for_pgvector(sender: Any, using: str, **_: Any) -> None:
    if getattr(sender, "name", "") == "skills_app" and using == "default":
        pgvector.prepare()
