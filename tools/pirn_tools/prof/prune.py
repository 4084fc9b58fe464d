# SPDX-License-Identifier: MIT
"""Which nodes of a tree are shown: ways to the functions asked for, so many levels below them."""

from __future__ import annotations

from dataclasses import dataclass

from pirn_tools.prof.model import Node, Tree


@dataclass(frozen=True)
class Pruning:
    """The request: limits and chosen functions."""

    functions: tuple[str, ...] = ()  # none: everything
    depth: int | None = None  # levels below those functions, or below the roots
    least: float = 0.0  # percent of all samples, of the calls where there are no samples


@dataclass
class Pruned:
    """The remaining nodes, in the order of a printed tree."""

    tree: Tree
    nodes: list[Node]
    asked: set[int]  # ids of the nodes of the functions asked for
    hidden: int  # nodes that are not shown

    def __contains__(self, node: Node) -> bool:
        return id(node) in self._ids

    def __post_init__(self) -> None:
        self._ids = {id(one) for one in self.nodes}


def prune(tree: Tree, pruning: Pruning) -> Pruned:
    """Applies it; parents come before their children, heavy ones first."""
    asked = tree.matching(pruning.functions)
    kept = _kept(tree, pruning, asked)
    if pruning.least and tree.total:
        kept = {key: node for key, node in kept.items() if tree.share(node.total) >= pruning.least}
    if tree.selection.cpu is not None:
        kept = {key: node for key, node in kept.items() if node.total}
    shown: list[Node] = []
    waiting = [root for root in reversed(tree.roots) if id(root) in kept]
    while waiting:
        node = waiting.pop()
        shown.append(node)
        waiting += [one for one in reversed(node.ordered()) if id(one) in kept]
    return Pruned(tree, shown, asked, len(tree.nodes) - len(shown))


def _kept(tree: Tree, pruning: Pruning, asked: set[int]) -> dict[int, Node]:
    """By the functions and the depth."""
    kept: dict[int, Node] = {}
    below: dict[int, int] = {}  # how many levels below the nearest function asked for
    for node in tree.nodes:
        parent = node.parent
        if id(node) in asked or (not pruning.functions and parent is None):
            below[id(node)] = 0
        elif parent is not None and id(parent) in below:
            below[id(node)] = below[id(parent)] + 1
        level = below.get(id(node))
        if level is not None and (pruning.depth is None or level <= pruning.depth):
            kept[id(node)] = node
    if pruning.functions:
        for node in reversed(tree.nodes):
            if id(node) in kept and node.parent is not None:
                kept[id(node.parent)] = node.parent
    return kept
