"""The secret of a data directory, made once and readable by its owner alone."""

import contextlib
import os
import secrets
import tempfile
from pathlib import Path


def secret_of(data_dir: Path) -> str:
    file = data_dir / "secret_key"
    if not file.exists():
        _write_once(file, secrets.token_urlsafe(64))
    return file.read_text().strip()


def _write_once(file: Path, content: str) -> None:
    """The file appears whole or not at all, and the first of several processes wins."""
    with tempfile.NamedTemporaryFile("w", dir=file.parent) as draft:
        draft.write(content)
        draft.flush()
        with contextlib.suppress(FileExistsError):
            os.link(draft.name, file)
