"""Bodies that come in chunks: Django reads only what has a length, so they are given one."""

import io
from typing import Any

CHUNKED = "chunked"


def measure(environ: dict[str, Any], most: int) -> None:
    """One byte over the limit is enough to be refused for its size. Files have a parser of their own."""
    if environ.get("CONTENT_LENGTH") or environ.get("CONTENT_TYPE", "").startswith("multipart/"):
        return
    if CHUNKED not in environ.get("HTTP_TRANSFER_ENCODING", "").lower():
        return
    raw = environ["wsgi.input"].read(most + 1)
    environ["CONTENT_LENGTH"] = str(len(raw))
    environ["wsgi.input"] = io.BytesIO(raw)
