"""HEAD and OPTIONS for the whole API: no route has to think of them."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse

Next = Callable[[HttpRequest], HttpResponseBase]


def with_every_method(get_response: Next) -> Next:
    def answer(request: HttpRequest) -> HttpResponseBase:
        method = request.method or ""
        # What answers GET answers HEAD in the same way; the server leaves the body out.
        request.method = "GET" if method == "HEAD" else method
        response = get_response(request)
        request.method = method
        return _fitted(method, response)

    return answer


def _fitted(method: str, response: HttpResponseBase) -> HttpResponseBase:
    if response.status_code == 405:
        allowed = _allowed(response.headers["Allow"])
        if method == "OPTIONS":
            return HttpResponse(status=204, headers={"Allow": allowed})
        response.headers["Allow"] = allowed
    elif method == "HEAD" and isinstance(response, StreamingHttpResponse):
        # Nobody would read it: it ends at once, and gives back what it holds.
        response.close()
        response.streaming_content = ()
    return response


def _allowed(by_routes: str) -> str:
    methods = {*by_routes.split(", "), "OPTIONS"}
    return ", ".join(sorted(methods | {"HEAD"} if "GET" in methods else methods))
