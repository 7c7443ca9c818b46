import pytest

from sessions_app.error_shapes import essence, looks_failed, shape


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("timeout after 10 s", "timeout after <n> s"),
        ("Timeout  after 3.5 s", "timeout after <n> s"),
        ("[Errno 2] No such file: '/tmp/a b.txt'", "[errno <n>] no such file: <text>"),
        ("cannot open /var/log/syslog.1", "cannot open <path>"),
        ("GET https://example.org/x?id=7 gave 503", "get <address> gave <n>"),
        ("2026-05-01T10:00:00Z lost 10.0.0.1:5432", "<time> lost <address>"),
        ('Traceback (most recent call last):\n  File "a.py", line 3\nKeyError: 7', "keyerror: <n>"),
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
        ('{"error": "401 Bad credentials"}', True),
        ('{"error": null, "rows": 3}', False),
        ("{not json, no error", False),
    ],
)
def test_a_result_that_tells_of_a_failure(result: object, failed: bool) -> None:
    assert looks_failed(result) is failed


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("first line\n\nsecond\nthird\nfourth", "first line second third"),
        ('{"error": {"message": "no such model", "code": 404}}', "no such model"),
        ('{"success": false, "reason": "too late"}', "too late"),
        ('{"exit_code": 2}', '{"exit_code": 2}'),
        (
            'Traceback (most recent call last):\n  File "a.py", line 1\nZeroDivisionError: division by zero',
            "ZeroDivisionError: division by zero",
        ),
        (
            "TypeError: x is not a function\n    at main (/app/a.js:3:1)\n    at run (/app/b.js:9:2)",
            "TypeError: x is not a function",
        ),
        (
            'Exception in thread "main" java.lang.IllegalStateException: closed\n\tat a.B.c(B.java:4)',
            'Exception in thread "main" java.lang.IllegalStateException: closed',
        ),
    ],
)
def test_what_happened_in_one_line(error: str, expected: str) -> None:
    assert essence(error) == expected
