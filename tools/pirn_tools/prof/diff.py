# SPDX-License-Identifier: MIT
"""`pirn prof diff`: two profiles by function, those that differ most first.

Functions are the same if their names and the names of their files are, whatever the programs are
called: addresses change with every build.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pirn_tools.prof import flat
from pirn_tools.prof.model import Tree

HEAD = ["own A %", "own B %", "B - A", "own A s", "own B s", "total A %", "total B %", "B - A"]
HEAD += ["calls A", "calls B", "function", "in"]

PROGRAM = "the program"


@dataclass(frozen=True)
class Side:
    """A function in one of them."""

    own: int = 0
    total: int = 0
    calls: int | None = None


@dataclass(frozen=True)
class Row:
    """A function in both."""

    name: str
    module: str
    a: Side
    b: Side


def compute(first: Tree, second: Tree) -> list[Row]:
    """All functions, largest change of its own share first."""
    left, right = _sides(first), _sides(second)
    rows = [
        Row(name, module, left.get((name, module), Side()), right.get((name, module), Side()))
        for name, module in {**left, **right}
    ]

    def weight(row: Row) -> tuple[float, float, int, str]:
        own = abs(first.share(row.a.own) - second.share(row.b.own))
        total = abs(first.share(row.a.total) - second.share(row.b.total))
        return -own, -total, -abs((row.a.calls or 0) - (row.b.calls or 0)), row.name

    return sorted(rows, key=weight)


def _sides(tree: Tree) -> dict[tuple[str, str], Side]:
    found: dict[tuple[str, str], Side] = {}
    for row in flat.compute(tree):
        file = row.function.file
        own = file is not None and file.path == tree.profile.program
        key = (row.function.name, PROGRAM if own else row.function.module)
        other = found.get(key, Side())  # functions of one file may have the same name
        calls = (other.calls or 0) + row.calls if row.counted else other.calls
        found[key] = Side(other.own + row.own, other.total + row.total, calls)
    return found


def cells(first: Tree, second: Tree, rows: list[Row]) -> list[list[str]]:
    found = []
    for row in rows:
        own = first.share(row.a.own), second.share(row.b.own)
        total = first.share(row.a.total), second.share(row.b.total)
        found.append(
            [
                f"{own[0]:.2f}",
                f"{own[1]:.2f}",
                f"{own[1] - own[0]:+.2f}",
                f"{first.seconds(row.a.own):.3f}",
                f"{second.seconds(row.b.own):.3f}",
                f"{total[0]:.2f}",
                f"{total[1]:.2f}",
                f"{total[1] - total[0]:+.2f}",
                *("-" if side.calls is None else f"{side.calls:,}" for side in (row.a, row.b)),
                row.name,
                row.module,
            ]
        )
    return found


def totals(first: Tree, second: Tree) -> dict[str, Any]:
    if first.waits:
        return {"of": first.selection.of, "ns": [first.total, second.total]}
    return {
        "samples": [first.total, second.total],
        "rate": [first.profile.rate, second.profile.rate],
    }


def as_json(first: Tree, second: Tree, rows: list[Row]) -> dict[str, Any]:
    return {
        **totals(first, second),
        "functions": [
            {
                "name": row.name,
                "module": row.module,
                "own": [row.a.own, row.b.own],
                "total": [row.a.total, row.b.total],
                "calls": [row.a.calls, row.b.calls],
            }
            for row in rows
        ],
    }
