from bench.fill import parse_sizes


def test_sizes_are_sessions_times_messages() -> None:
    assert list(parse_sizes(["1x100000", "3x10"])) == [100_000, 10, 10, 10]
