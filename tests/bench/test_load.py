import json

import pytest

from bench import BenchError
from bench.figures import Figures
from bench.load import Request, parse_wrk
from bench.sockets import read_requests


def told(**changes: object) -> str:
    errors = {"connect": 0, "read": 0, "write": 0, "timeout": 0, "status": 0}
    line = {"requests": 6000, "duration_us": 3_000_000, "p50_us": 4500, "p99_us": 21_000, "errors": errors}
    return "Running 3s test\n  1 threads and 16 connections\n" + json.dumps(line | changes) + "\n"


def test_the_line_of_wrk_becomes_figures() -> None:
    assert parse_wrk(told()) == (Figures(2000.0, 4.5, 21.0), 6000)


@pytest.mark.parametrize("kind", ["connect", "read", "write", "timeout", "status"])
def test_a_single_error_of_any_kind_fails(kind: str) -> None:
    with pytest.raises(BenchError, match=f"of 6000 requests failed: .*{kind}.* 1"):
        parse_wrk(told(errors={kind: 1}))


def test_no_answer_at_all_fails() -> None:
    with pytest.raises(BenchError, match="no request was answered"):
        parse_wrk(told(requests=0))


def test_output_without_figures_fails() -> None:
    with pytest.raises(BenchError, match="wrk gave no figures: unable to connect"):
        parse_wrk("unable to connect")


def test_a_request_as_it_goes_over_the_wire() -> None:
    request = Request("POST", "/a", {"Authorization": "Bearer k"}, b"{}")
    assert request.encode("127.0.0.1:1") == (
        b"POST /a HTTP/1.1\r\nHost: 127.0.0.1:1\r\nAuthorization: Bearer k\r\nContent-Length: 2\r\n\r\n{}"
    )


def test_a_request_without_a_body_tells_no_length() -> None:
    assert Request("GET", "/").encode("h:1") == b"GET / HTTP/1.1\r\nHost: h:1\r\n\r\n"


def test_requests_are_read_back_whatever_they_contain() -> None:
    requests = [b"GET / HTTP/1.1\r\n\r\n", b"POST\n7\nbody\n"]
    raw = b"".join(b"%d\n%s" % (len(request), request) for request in requests)
    assert list(read_requests(raw)) == requests
