"""Whether somebody is unsure, told by how they put it."""

import re

_HEDGES = re.compile(
    r"\b(i(?:'m| am) not (?:entirely |completely |quite |really )?(?:sure|certain)"
    r"|not (?:sure|certain) (?:if|whether|about)|i (?:don't|do not) know"
    r"|i (?:can't|cannot) (?:be sure|confirm|verify|tell for certain)"
    r"|i (?:think|believe|guess|suppose)|i(?:'m| am) guessing|it (?:might|may|could) be"
    r"|might be (?:that|because|wrong)|(?:i|we) (?:might|may|could) be (?:wrong|mistaken)"
    r"|hard to say|as far as i (?:know|can tell)|to the best of my knowledge"
    r"|if i (?:remember|recall) correctly|probably|perhaps|possibly|presumably|my best guess"
    r"|it(?:'s| is) unclear|vielleicht|ich glaube|ich bin nicht sicher"
    r"|no estoy segur[oa]|quizás|je ne suis pas sûre?|peut-être)\b"
    r"|我不确定|可能是|也许|かもしれません|わかりません"
)
LOOKED_AT = 4000


def hedge(text: str) -> str | None:
    """The first phrase that hedges."""
    # In lower case, for looking for both takes several times as long.
    found = _HEDGES.search(text[:LOOKED_AT].lower().replace("\u2019", "'"))
    return None if found is None else found.group(0)
