# SPDX-License-Identifier: MIT
"""Text for a terminal, a file or a pipe."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

WIDEST = 1 << 14  # columns of a table that is not for a terminal: none is cut


def printable(text: str) -> str:
    """The text with "?" for control and format characters: names do not move the cursor."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "?" for c in text)


def console(**options: Any) -> Console:  # noqa: ANN401, those of rich
    """The standard output: as wide as the terminal, or as wide as the tables need."""
    from rich.console import Console  # a third of the start of `pirn run`, which prints no table

    return Console(width=None if sys.stdout.isatty() else WIDEST, **options)
