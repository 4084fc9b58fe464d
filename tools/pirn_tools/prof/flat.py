# SPDX-License-Identifier: MIT
"""`pirn prof flat`: the functions of a profile, whatever the ways to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pirn_tools.prof.model import Node, Tree
from pirn_tools.prof.symbols import Function
from pirn_tools.prof.tree import unit

SORTS = ("own", "total", "calls", "name")
HEAD = ["own %", "own", "own s", "total %", "total", "calls", "function", "in"]
WAIT_HEAD = ["own %", "own s", "total %", "total s", "times", "function", "in"]


@dataclass
class Row:
    """One function. total counts a sample once, also where the function is active twice."""

    function: Function
    own: int = 0
    total: int = 0
    calls: int = 0
    counted: bool = False  # whether its calls are counted


def compute(tree: Tree) -> list[Row]:
    """Every function, in no order."""
    rows: dict[int, Row] = {}
    for node in tree.nodes:
        if node.kind == "root" or node.function is None:
            continue
        row = rows.setdefault(id(node.function), Row(node.function))
        row.own += node.own
        row.calls += node.calls
        row.counted |= node.kind == "call" or (node.kind == "wait" and node.calls > 0)
    for node in _outermost(tree):
        rows[id(node.function)].total += node.total
    return list(rows.values())


def _outermost(tree: Tree) -> list[Node]:
    """Nodes whose function is not active above them."""
    found: list[Node] = []
    active: dict[int, int] = {}
    waiting: list[tuple[Node, bool]] = [(root, False) for root in tree.roots]
    while waiting:
        node, left = waiting.pop()
        key = id(node.function) if node.kind != "root" else 0
        if left:
            active[key] -= 1
            continue
        if node.kind != "root" and not active.get(key):
            found.append(node)
        active[key] = active.get(key, 0) + 1
        waiting.append((node, True))
        waiting += [(one, False) for one in node.children.values()]
    return found


def ordered(rows: list[Row], by: str) -> list[Row]:
    keys = {
        "own": lambda row: (-row.own, -row.total, -row.calls, row.function.name),
        "total": lambda row: (-row.total, -row.own, -row.calls, row.function.name),
        "calls": lambda row: (-row.calls, -row.own, -row.total, row.function.name),
        "name": lambda row: (row.function.name,),
    }
    return sorted(rows, key=keys[by])


def head(tree: Tree) -> list[str]:
    return WAIT_HEAD if tree.waits else HEAD


def cells(tree: Tree, rows: list[Row]) -> list[list[str]]:
    if tree.waits:
        return [
            [
                f"{tree.share(row.own):.2f}",
                f"{tree.seconds(row.own):.3f}",
                f"{tree.share(row.total):.2f}",
                f"{tree.seconds(row.total):.3f}",
                f"{row.calls:,}" if row.counted else "-",
                row.function.name,
                row.function.module,
            ]
            for row in rows
        ]
    return [
        [
            f"{tree.share(row.own):.2f}",
            f"{row.own:,}",
            f"{tree.seconds(row.own):.3f}",
            f"{tree.share(row.total):.2f}",
            f"{row.total:,}",
            f"{row.calls:,}" if row.counted else "-",
            row.function.name,
            row.function.module,
        ]
        for row in rows
    ]


def as_json(tree: Tree, rows: list[Row]) -> dict[str, Any]:
    return {
        **unit(tree),
        "functions": [
            {
                "name": row.function.name,
                "module": row.function.module,
                "own": row.own,
                "total": row.total,
                "calls": row.calls if row.counted else None,
            }
            for row in rows
        ],
    }
