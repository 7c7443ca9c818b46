from collections.abc import Iterator

import pytest

from sessions_app.search import semantic


@pytest.fixture(autouse=True)
def no_vectors_of_other_tests() -> Iterator[None]:
    """A test's rows are rolled back, and the next one's get the same numbers."""
    semantic.forget()
    yield
    semantic.forget()
