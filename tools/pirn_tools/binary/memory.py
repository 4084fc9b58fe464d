# SPDX-License-Identifier: MIT
"""The memory of a process, as far as this package asks for it."""

from __future__ import annotations

from typing import Protocol


class UnreadableError(Exception):
    """There is no memory at that address, or not any more."""


class Memory(Protocol):
    """Reads exactly what is asked for, or raises UnreadableError."""

    def read(self, address: int, size: int) -> bytes:
        """So many bytes."""

    def word(self, address: int) -> int:
        """A pointer."""
