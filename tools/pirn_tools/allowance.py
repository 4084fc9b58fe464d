# SPDX-License-Identifier: MIT
"""The limits for reading program files that others have made, and the faults found in them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from pirn_tools import damage, files
from pirn_tools.limits import LimitError, guard

MOST_PROBLEMS = 16  # that are kept
Result = TypeVar("Result")


class Allowance:
    """For all that is read with it together: so many seconds of CPU time, so many bytes."""

    def __init__(self, seconds: float, memory: int) -> None:
        self.seconds, self._left, self._memory = seconds, seconds, memory
        self.problems: list[str] = []  # for people
        self.limits: list[str] = []  # the same, of what took too long or too much

    @contextmanager
    def use(self, what: str) -> Iterator[None]:
        """Nothing of it is left when a block has taken too much."""
        if self._left <= 0:
            raise LimitError(f"{what} takes more than {self.seconds:g} s of CPU time")
        start = time.process_time()
        try:
            with guard(self._left, self._memory, what):
                yield
        except LimitError:
            self._left = 0.0
            raise
        finally:
            self._left -= time.process_time() - start

    def call(self, name: str, what: str, function: Callable[[], Result]) -> Result | None:
        """Reads; None: it may take no more, or the file is damaged."""
        if self.spent:
            return None
        try:
            with self.use(f"reading the {what} of {name}"):
                return function()
        except (LimitError, OSError, *damage.KINDS) as error:
            self.failed(name, what, error)
        return None

    @property
    def spent(self) -> bool:
        """Whether nothing more may be read."""
        return self._left <= 0

    def failed(self, name: str, what: str, error: Exception) -> None:
        """Notes why a part of that file was not read."""
        if isinstance(error, LimitError):
            text = error.message
            if text not in self.limits:
                self.limits.append(text)
        elif isinstance(error, files.RefusedError):
            text = f"{name} {error.strerror}"
        elif isinstance(error, OSError):
            text = f"{name} cannot be read: {error.strerror}"
        else:
            text = f"{name} is damaged ({what}): {damage.said(error)}"
        if text not in self.problems and len(self.problems) < MOST_PROBLEMS:
            self.problems.append(text)
