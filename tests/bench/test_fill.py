import pytest

from bench.browsing import sizes
from bench.fill import parse_sizes


def test_sizes_are_sessions_times_messages() -> None:
    assert list(parse_sizes(["1x100000", "3x10"])) == [100_000, 10, 10, 10]


@pytest.mark.parametrize("messages", [1, 49, 2_000, 1_000_000])
def test_a_record_to_browse_has_all_its_messages_and_one_long_session(messages: int) -> None:
    lengths = sizes(messages)
    assert sum(lengths) == messages
    assert len(lengths) == max(messages // 50, 1) + 1
