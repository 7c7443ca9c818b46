"""Django's SQLite back end, with writers that wait in line.

SQLite lets waiting writers poll, so that under load some wait for seconds while others pass. Here each
transaction first takes a lock on a file beside the database: the kernel wakes the waiting processes and
threads in the order in which they came.
"""

import fcntl
import os
from typing import Any

from django.db.backends.sqlite3 import base, operations

WHOLE_SECONDS = len("2026-05-01 10:00:00")


class DatabaseOperations(operations.DatabaseOperations):
    def adapt_datetimefield_value(self, value: Any) -> str | None:
        """Always with microseconds: SQLite compares texts, and one time must have one text."""
        text: str | None = super().adapt_datetimefield_value(value)
        return f"{text}.000000" if text is not None and len(text) == WHOLE_SECONDS else text


class DatabaseWrapper(base.DatabaseWrapper):
    ops_class = DatabaseOperations
    _line: int | None = None

    def _start_transaction_under_autocommit(self) -> None:
        self._enter_line()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._leave_line()
            raise

    def _commit(self) -> Any:
        try:
            return super()._commit()  # type: ignore[misc]
        finally:
            self._leave_line()

    def _rollback(self) -> Any:
        try:
            return super()._rollback()  # type: ignore[misc]
        finally:
            self._leave_line()

    def _close(self) -> Any:
        try:
            return super()._close()  # type: ignore[misc]
        finally:
            self._release()

    def _enter_line(self) -> None:
        if self.is_in_memory_db() or self._line is not None:
            return
        line = os.open(f"{self.settings_dict['NAME']}-line", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(line, fcntl.LOCK_EX)
        self._line = line

    def _leave_line(self) -> None:
        # A commit that failed leaves SQLite's transaction open until the rollback that follows it.
        if self.connection is None or not self.connection.in_transaction:
            self._release()

    def _release(self) -> None:
        if self._line is not None:
            line, self._line = self._line, None
            os.close(line)
