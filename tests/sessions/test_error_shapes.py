import pytest

from sessions_app.error_shapes import looks_failed, shape


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("timeout after 10 s", "timeout after <n> s"),
        ("Timeout  after 3.5 s", "timeout after <n> s"),
        ("[Errno 2] No such file: '/tmp/a b.txt'", "[errno <n>] no such file: <text>"),
        ("cannot open /var/log/syslog.1", "cannot open <path>"),
        ("GET https://example.org/x?id=7 gave 503", "get <address> gave <n>"),
        ("2026-05-01T10:00:00Z lost 10.0.0.1:5432", "<time> lost <address>"),
        ("job 0197f0a0-0000-7000-8000-000000000000 died at 0xdeadbeef", "job <id> died at <id>"),
    ],
)
def test_what_changes_is_taken_out(error: str, expected: str) -> None:
    assert shape(error) == expected


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        ("Error: no such city", True),
        ("Traceback (most recent call last):", True),
        ("ValueError: bad", True),
        ("exit code 1", True),
        ("exit code 0", False),
        ("24 °C and no error in sight", False),
        ("", False),
        (None, False),
        ({"error": "no"}, True),
        ({"error": None, "data": 1}, False),
        ({"success": False}, True),
        ({"exit_code": 2}, True),
        ({"exit_code": 0}, False),
        ([1], False),
    ],
)
def test_a_result_that_tells_of_a_failure(result: object, failed: bool) -> None:
    assert looks_failed(result) is failed
