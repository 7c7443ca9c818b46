"""What is searched and asked in the benchmark is what it says it is."""

from pathlib import Path

import pytest

from bench import peers
from bench.finding import ASKED, MESSAGES, corpus, quality
from bench.haystack import CHARACTERS, PAIR, WORDS, classes, texts
from bench.peer import Recreated, Scan, fill, run
from bench.peers import Peer


def test_planted_words_are_as_frequent_as_they_are_said_to_be() -> None:
    made = list(texts(10_000))
    assert {len(text) for text in made} == {CHARACTERS}
    # One in fifty is without spaces and has none of them.
    found = {often: sum(word in text.split() for text in made) for often, (word, _) in WORDS.items()}
    assert found == {"85 %": 8_330, "3 %": 294, "1 %": 98, "0.01 %": 1}
    assert sum(PAIR in text for text in made) == 10
    assert made == list(texts(10_000))


def test_a_hundred_questions_are_asked_of_two_thousand_messages() -> None:
    messages = corpus()
    assert (len(ASKED), len(messages), len(set(messages))) == (100, MESSAGES, MESSAGES)
    assert {answer for _, _, answer in ASKED} < set(messages)
    assert [kind for kind, _, _ in ASKED].count("near") == 50


def test_quality_is_recall_and_the_mean_of_reciprocal_ranks() -> None:
    assert quality([1, 2, None, 6, 5]) == {"recall@5": 0.6, "MRR": (1 + 1 / 2 + 1 / 6 + 1 / 5) / 5}


@pytest.mark.parametrize("store", [Recreated, Scan])
def test_what_stands_beside_finds_what_is_there(store: type[Recreated | Scan], tmp_path: Path) -> None:
    peer = store(tmp_path)
    fill(peer, 2_000)
    peer.append("zenith of all")
    assert len(peer.search("zenith", "newest")) == 20
    assert peer.search("qoph", "newest") == []
    assert len(peer.search(PAIR, "newest")) == 2
    scanned = {name for name in classes() if "no hit" in name and "parts" not in name}
    by_word = {name for name in classes() if "substring" not in name}
    assert set(run(peer, 0)) == (scanned if store is Scan else by_word)


def test_without_the_package_its_design_takes_its_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(peers, "_folder", lambda: tmp_path)
    monkeypatch.setattr("venv.create", lambda *_, **__: None)
    peer: Peer = peers.hermes.__wrapped__()
    assert peer.title == "hermes' design, rebuilt, as the package cannot be had"
    assert peer.fill(100) is not None
    assert peer.fill(100) is None
    assert len(peer.append_to_empty(0)) > 0
