"""By meaning: vectors are made by a task; without them the answer says so."""

import pytest
from django.conf import LazySettings
from django.utils import timezone

from sessions_app import embedding
from sessions_app.models import SearchDuty, SearchVector
from sessions_app.search import vectors
from tests.conftest import Api, said

from .corpus import feed, numbers, record, searched


def embed() -> None:
    while vectors.step(timezone.now()):
        pass


def test_meaning_is_found_without_a_common_word(api: Api, stranger: Api) -> None:
    record(api)
    feed()
    embed()
    answer = searched(api, "storage engine choice", mode="semantic", limit=3)
    assert numbers(answer)[0] in (0, 1, 2)
    assert (answer["notes"], answer["sort"]) == ([], "rank")
    only = searched(api, "error in the application", mode="semantic", kind="error")
    assert numbers(only) == [3]
    assert searched(stranger, "storage engine choice", mode="semantic")["items"] == []


def test_until_there_are_vectors_the_answer_says_so(api: Api) -> None:
    record(api)
    answer = searched(api, "database", mode="semantic")
    assert answer["items"] == []
    assert answer["notes"] == [
        "No message has a vector yet; 24 wait for theirs. Until then search by words finds them."
    ]
    assert sorted(numbers(searched(api, "database", mode="hybrid"))) == [0, 1, 21]


def test_hybrid_puts_first_what_both_orders_have(api: Api) -> None:
    record(api)
    feed()
    embed()
    answer = searched(api, "decided PostgreSQL", mode="hybrid")
    assert numbers(answer)[0] == 1
    assert len(answer["items"]) > 1


def test_switched_off_search_by_meaning_is_refused_and_hybrid_goes_by_words(
    api: Api, settings: LazySettings
) -> None:
    record(api)
    settings.EMBEDDINGS = "off"
    embedding.embedder.cache_clear()
    try:
        response = api.get("/search?q=database&mode=semantic")
        assert response.status_code == 503
        assert "DAYBOOK_EMBEDDINGS" in said(response)["detail"]
        answer = searched(api, "database", mode="hybrid")
    finally:
        embedding.embedder.cache_clear()
    assert sorted(numbers(answer)) == [0, 1, 21]
    assert answer["notes"][0].startswith("By words alone")


def test_another_model_makes_all_vectors_anew(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    record(api)
    feed()
    embed()
    made = SearchVector.objects.count()
    assert made == 24
    monkeypatch.setattr(embedding.embedder(), "model", "another")
    embed()
    assert list(SearchVector.objects.values_list("model", flat=True).distinct()) == ["another"]
    assert (SearchVector.objects.count(), SearchDuty.objects.get(name=vectors.DUTY).model) == (
        made,
        "another",
    )
