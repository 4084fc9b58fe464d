# SPDX-License-Identifier: MIT
"""`pirn prof tree` and `path`: a call tree as text, and the heaviest way down in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pirn_tools.prof.model import Node, Tree
from pirn_tools.prof.prune import Pruned

WIDEST = 40  # levels that are indented; deeper ones say how deep they are


def lines(pruned: Pruned) -> Iterator[str]:
    """A line for each node."""
    for node in pruned.nodes:
        yield f"{_indent(node)}{_line(pruned.tree, node)}"


def _indent(node: Node) -> str:
    if node.depth <= WIDEST:
        return "  " * node.depth
    return "  " * WIDEST + f"[{node.depth}] "


def _line(tree: Tree, node: Node) -> str:
    where = f" ({site(tree, node)})" if node.kind not in ("root", "wait") else ""
    nothing = node.kind == "root" or (tree.waits and node.kind == "code")
    said = "" if nothing else counted(node)
    calls = f" - {said}" if said else ""
    if not tree.total:
        return f"{node.name}{where}{calls}"
    return (
        f"{node.name}{where} - {tree.share(node.total):.2f}% ({tree.amount(node.total)})"
        f" - {tree.share(node.own):.2f}% ({tree.amount(node.own)}){calls}"
    )


def counted(node: Node) -> str:
    """How often it was called, if that is known."""
    if node.kind == "code":
        return "not counted"
    if node.kind == "wait":
        return "" if not node.calls else "once" if node.calls == 1 else f"{node.calls:,} times"
    return "1 call" if node.calls == 1 else f"{node.calls:,} calls"


def site(tree: Tree, node: Node) -> str:
    """Where it was called from."""
    return tree.symbols.site(node.site)


def unit(tree: Tree) -> dict[str, Any]:
    """How much there is in all, and of what."""
    if tree.waits:
        return {"of": tree.selection.of, "ns": tree.total}
    return {"samples": tree.total, "rate": tree.profile.rate}


def as_json(pruned: Pruned) -> dict[str, Any]:
    """All nodes in one list, each with its parent's number: trees may be too deep to be nested."""
    tree = pruned.tree
    numbers = {id(node): place for place, node in enumerate(pruned.nodes)}
    return {
        **unit(tree),
        "hidden": pruned.hidden,
        "nodes": [
            {
                "id": numbers[id(node)],
                "parent": numbers[id(node.parent)] if node.parent is not None else None,
                "kind": node.kind,
                "name": node.name,
                "module": node.function.module if node.function is not None else "",
                "site": site(tree, node) if node.kind != "root" else "",
                "site_address": node.site,
                "total": node.total,
                "own": node.own,
                "calls": node.calls if node.kind in ("call", "wait") else None,
                "threads": node.threads or None,
            }
            for node in pruned.nodes
        ],
    }


def heaviest(tree: Tree) -> list[Node]:
    """From the heaviest root down, each time to the heaviest one below."""
    found: list[Node] = []
    below = tree.roots
    while below:
        node = below[0]
        if found and not node.total and not node.calls:
            break
        found.append(node)
        below = node.ordered()
    return found


def path_rows(tree: Tree, nodes: list[Node]) -> list[list[str]]:
    """Function, site, share, time with and without those below, calls."""
    return [
        [
            f"{tree.share(node.total):.2f}",
            f"{tree.seconds(node.total):.3f}",
            f"{tree.share(node.own):.2f}",
            f"{tree.seconds(node.own):.3f}",
            f"{node.calls:,}" if node.kind in ("call", "wait") and node.calls else "-",
            node.name,
            site(tree, node) if node.kind not in ("root", "wait") else "-",
        ]
        for node in nodes
    ]


PATH_HEAD = ["total %", "total s", "own %", "own s", "calls", "function", "called at"]
