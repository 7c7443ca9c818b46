"""The words that people come back to: pure, for any script."""

import re
from collections.abc import Iterator

LONGER_THAN = 3
# In a syllable script two characters are a word already.
SYLLABLES = 2
_RUN = re.compile(r"[^\W_]+(?:['\-][^\W_]+)*")
_APOSTROPHE = "\u2019"
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_KANA = re.compile("[\u30a0-\u30ff]+")
_NO_SPACES = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_HANGUL = re.compile("[\uac00-\ud7af]")
# Signs that make grammar and no meaning.
_HAN_STOPS = frozenset("的了是我你他她它们这那有在不和就都也要会能吗呢吧啊把被给让对没很还个什么怎为请")
STOP_WORDS = frozenset(
    """
    able about above across actually after again against ahead almost along already also although always
    among another anybody anyone anything anyway around away back because been before being below between
    both bring came cannot cant come could couldn't couldnt did didn't didnt does doesn't doesnt doing
    done don't dont down each either else enough even ever every everyone everything find first from
    further gave gets getting give goes going gone good great hadn't half hasn't have haven't having hello
    help here hers herself himself however i'd i'll i'm i've into isn't it's itself just keep kind know
    last later least less let's like likely little long look looking made make makes making many maybe
    mean might mine more most much must myself need needs never next nobody none nothing okay once only
    onto other others otherwise ought ours ourselves over perhaps please put quite rather really right
    said same says seem seems should shouldn't show since some somebody someone something sometimes soon
    still stuff such sure take taken tell than thank thanks that that's thats their theirs them themselves
    then there there's these they they're they've thing things think this those though through thus time
    together told tomorrow took toward towards tried true turn under unless until upon used uses using
    very want wants wasn't well went were weren't what what's whatever when whenever where whether which
    while whoever whole whom whose will with within without won't wont would wouldn't yeah your you're
    youre yours yourself you've
    """.split()  # noqa: SIM905 - a list would be a page long
)


def words(text: str) -> Iterator[str]:
    """Those of a text that could be a topic, as often as they stand there."""
    for run in _RUN.findall(text.casefold().replace(_APOSTROPHE, "'")):
        if _NO_SPACES.search(run):
            yield from _without_spaces(run)
        elif _counts(run):
            yield run


def _counts(word: str) -> bool:
    if _HANGUL.search(word):
        return len(word) >= SYLLABLES
    return len(word) > LONGER_THAN and word not in STOP_WORDS and not word.isnumeric()


def _without_spaces(run: str) -> Iterator[str]:
    """Chinese by pairs of signs, for no spaces part its words; Japanese by its foreign words too."""
    for word in _KANA.findall(run):
        if len(word) >= SYLLABLES:
            yield word
    for signs in _HAN.findall(run):
        for start in range(len(signs) - 1):
            pair = signs[start : start + 2]
            if not _HAN_STOPS.intersection(pair):
                yield pair
