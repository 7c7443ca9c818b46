"""People whom an operator linked: one person's DMs share a session, whichever platform they come by."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Q

from gateway_app.models import Identity, Person
from gateway_app.sources import BadSource, Source, compared, id_text, platform_slug
from sessions_app.commits import commit

# A platform, and a user id on it in the form in which ids are compared.
Known = tuple[str, str]


def person_of(agent_id: int, source: Source) -> UUID | None:
    """Whose DM it is; None for anybody who is not linked, and for every room. A DM that names no user is
    known by its chat: where a client leaves the user out, a platform has given both the same id."""
    user_id = compared(source.platform, source.user_id or source.chat_id)
    if source.chat_type != "dm" or not user_id:
        return None
    found = Identity.objects.filter(agent_id=agent_id, platform=source.platform, user_id=user_id)
    return found.values_list("person__uid", flat=True).first()


def known_as(platform: str, user_id: str) -> Known:
    """As it is stored, however an operator writes it; raises BadSource for what can be no identity."""
    slug = platform_slug(platform.strip().lower())
    found = compared(slug, id_text(user_id.strip()))
    if not found:
        raise BadSource("A person is known by a user id.")
    return slug, found


def taken(agent_id: int, person_id: int | None, identities: Iterable[Known]) -> Identity | None:
    """One of them that is another person's already."""
    wanted = Q(pk__in=[])
    for platform, user_id in identities:
        wanted |= Q(platform=platform, user_id=user_id)
    found = Identity.objects.filter(wanted, agent_id=agent_id).select_related("person")
    return (found if person_id is None else found.exclude(person_id=person_id)).first()


def link(person: Person, identities: Iterable[Known]) -> None:
    """From here on exactly these are the person's. Sessions that are open already keep their keys."""

    def work() -> None:
        # One change of a person after the other: each says which identities there are in all.
        Person.objects.select_for_update().get(pk=person.pk)
        wanted = set(identities)
        for stored in Identity.objects.filter(person=person):
            if (stored.platform, stored.user_id) in wanted:
                wanted.remove((stored.platform, stored.user_id))
            else:
                stored.delete()
        # In one order, so that two people who claim the same ones wait for each other, and not in a ring.
        Identity.objects.bulk_create(
            Identity(agent_id=person.agent_id, person=person, platform=platform, user_id=user_id)
            for platform, user_id in sorted(wanted)
        )

    commit(work)
