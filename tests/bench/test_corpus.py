from collections import Counter

from bench.corpus import Corpus


def test_same_seed_gives_the_same_text() -> None:
    assert Corpus(7).texts(20, 300) == Corpus(7).texts(20, 300)


def test_the_text_of_a_seed_never_changes() -> None:
    assert Corpus(7).text(60) == "lai doula vafai lou bidea riplebrai muni lagai lu plewi plai"


def test_another_seed_gives_another_text() -> None:
    assert Corpus(7).text(300) != Corpus(8).text(300)


def test_a_text_has_exactly_the_length_asked_for() -> None:
    corpus = Corpus(1)
    assert [len(corpus.text(length)) for length in (1, 2, 50, 299, 300, 301)] == [1, 2, 50, 299, 300, 301]


def test_words_are_as_uneven_as_in_language() -> None:
    words = Counter(" ".join(Corpus(1).texts(500, 300)).split())
    (_, first), (_, second) = words.most_common(2)
    assert 1.5 < first / second < 2.5
    assert len(words) > 3_000
