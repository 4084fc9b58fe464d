# SPDX-License-Identifier: MIT
"""Tables as lines of text, whole also where the terminal is narrow: names of C++ are long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> Iterator[str]:
    """Lines; the last `texts` columns are words, the others numbers."""
    numbers = len(head) - texts
    widths = [max(len(row[at]) for row in [head, *rows]) for at in range(len(head))]
    for row in [head, *rows]:
        cells = [
            cell.rjust(widths[at]) if at < numbers else cell.ljust(widths[at])
            for at, cell in enumerate(row)
        ]
        yield "  ".join(cells).rstrip()


def duration(seconds: float) -> str:
    """In the unit that fits, three digits or more."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 * size else f"{seconds:,.0f} s"
    return f"{seconds * 1e9:.0f} ns"
