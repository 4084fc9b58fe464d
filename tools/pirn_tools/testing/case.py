# SPDX-License-Identifier: MIT
"""The outcome of a test."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class State(Enum):
    PASSED = "pass"
    FAILED = "FAIL"
    SKIPPED = "skip"


@dataclass(frozen=True)
class Case:
    project: str
    name: str  # of the test; "build" where it did not come so far
    state: State
    why: str = ""
    seconds: float = 0.0
    output: str = ""
    status: int | None = None  # where it has failed by that

    @property
    def full(self) -> str:
        return f"{self.project}: {self.name}" if self.name else self.project


ABORTED = 134


def ended(status: int) -> str:
    """An exit status in words."""
    if status == ABORTED:
        return f"exit status {status}: crashed or aborted"
    return f"exit status {status}"
