"""Errors that no view of ours made, in the shape of the API's problems."""

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from sessions_app.problems import CONTENT_TYPE, problem_answer

DETAILS = {
    400: "The request cannot be read.",
    403: "The form is out of date. Go back, load the page again, and send it once more.",
    404: "There is nothing at this address.",
    405: "This address does not take {method}.",
    500: "Something failed on our side. The log has the request id.",
}
KEPT_HEADERS = ("Allow", "Retry-After")
API = "/api/"
# What monitors ask: they are programs, even if somebody looks at them with a browser.
PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
PAGE = "text/html"


def is_told_in_problems(request: HttpRequest) -> bool:
    """Pages are for who asks for them by name, as browsers do."""
    path = request.path_info
    return path.startswith(API) or path in PROBES or PAGE not in request.headers.get("Accept", "")


def as_problem(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    if response.headers.get("Content-Type") == CONTENT_TYPE:
        return response
    detail = DETAILS.get(response.status_code, response.reason_phrase).format(method=request.method)
    kept = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    return problem_answer(response.status_code, detail, headers=kept)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, 400)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, 404)


def failure(request: HttpRequest) -> HttpResponse:
    return _page(request, 500)


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _page(request, 403)


def _page(request: HttpRequest, status: int) -> HttpResponse:
    # The problem is made by the middleware, which sees every answer: no page is rendered for it.
    if is_told_in_problems(request):
        return HttpResponse(status=status)
    return render(request, "error.html", {"status": status, "detail": DETAILS[status]}, status=status)
