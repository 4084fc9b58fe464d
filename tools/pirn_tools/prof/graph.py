# SPDX-License-Identifier: MIT
"""`pirn prof graph`: a call graph for Graphviz, with a node for each function.

Edges say from how many places, and how often. The pruned tree is in it; the
functions that were asked for have a red frame.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pirn_tools.errors import UserError, listing
from pirn_tools.prof.model import Node, Tree
from pirn_tools.prof.prune import Pruned

TEXTS = (".dot", ".gv")
PICTURES = (".svg", ".pdf", ".png")
LONGEST = 60  # characters of a name


@dataclass
class Vertex:
    """A function, or the threads of a root."""

    name: str
    number: int
    own: int = 0
    total: int = 0
    root: bool = False
    asked: bool = False


@dataclass
class Edge:
    """Calls of one function by another."""

    sites: set[int] = field(default_factory=set)
    calls: int = 0
    counted: bool = False
    samples: int = 0  # in what was called


@dataclass
class Graph:
    """All of it."""

    vertices: dict[int, Vertex]
    edges: dict[tuple[int, int], Edge]


def compute(pruned: Pruned) -> Graph:
    """From what is left of the tree."""
    graph = Graph({}, {})
    shown = {id(node) for node in pruned.nodes}
    for node in pruned.nodes:
        key = _key(node)
        if key not in graph.vertices:
            name = node.name
            graph.vertices[key] = Vertex(name, len(graph.vertices), root=node.kind == "root")
        vertex = graph.vertices[key]
        vertex.own += node.own
        vertex.asked |= id(node) in pruned.asked
        if node.parent is not None and id(node.parent) in shown:
            edge = graph.edges.setdefault((_key(node.parent), key), Edge())
            edge.sites.add(node.site)
            edge.calls += node.calls
            edge.counted |= node.kind == "call"
    _totals(pruned, graph)
    return graph


def _key(node: Node) -> int:
    return id(node) if node.kind == "root" or node.function is None else id(node.function)


def _totals(pruned: Pruned, graph: Graph) -> None:
    """Time in a function and below counts once where the function is active several times.

    Depth first, in which order the nodes are: what is active is what stands on the way.
    """
    way: list[Node] = []
    active: dict[int, int] = {}
    edges: dict[tuple[int, int], int] = {}
    for node in pruned.nodes:
        while way and way[-1] is not node.parent:
            gone = way.pop()
            active[_key(gone)] -= 1
            if way:
                edges[_key(way[-1]), _key(gone)] -= 1
        key = _key(node)
        if not active.get(key):
            graph.vertices[key].total += node.total
        active[key] = active.get(key, 0) + 1
        if way:
            edge = (_key(way[-1]), key)
            if not edges.get(edge):
                graph.edges[edge].samples += node.total
            edges[edge] = edges.get(edge, 0) + 1
        way.append(node)


def dot(tree: Tree, graph: Graph) -> Iterator[str]:
    """The text that Graphviz reads."""
    yield "digraph calls {"
    yield '  node [shape=box style=filled fillcolor=white fontname="sans-serif" fontsize=11];'
    yield '  edge [fontname="sans-serif" fontsize=9 color="#5d6670"];'
    for vertex in graph.vertices.values():
        yield f"  n{vertex.number} [{_vertex(tree, vertex)}];"
    for (caller, callee), edge in graph.edges.items():
        ends = f"n{graph.vertices[caller].number} -> n{graph.vertices[callee].number}"
        width = 0.7 + 4 * tree.share(edge.samples) / 100
        yield f'  {ends} [label="{_edge(edge)}" penwidth={width:.2f}];'
    yield "}"


def _vertex(tree: Tree, vertex: Vertex) -> str:
    lines = [_escaped(vertex.name)]
    if tree.total:
        lines.append(f"{tree.share(vertex.total):.2f}% ({tree.amount(vertex.total)})")
        if not vertex.root:
            lines.append(f"own {tree.share(vertex.own):.2f}% ({tree.amount(vertex.own)})")
    label = "\\n".join(lines)
    warm = 0.7 * min(1.0, tree.share(vertex.own) / 40)
    colour = f' fillcolor="0.07 {warm:.3f} 1.0"' if warm > 0.01 else ""
    frame = ' color="#c0272d" penwidth=2.5' if vertex.asked else ""
    shape = " shape=ellipse" if vertex.root else ""
    return f'label="{label}"{colour}{frame}{shape}'


def _edge(edge: Edge) -> str:
    if not edge.counted:
        return ""
    sites = "1 site" if len(edge.sites) == 1 else f"{len(edge.sites):,} sites"
    return f"{sites}\\n{edge.calls:,}x"


def _escaped(text: str) -> str:
    short = text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."
    return short.replace("\\", "\\\\").replace('"', '\\"')


def check(output: Path) -> None:
    """Before the work begins: whether the file can be made."""
    if output.suffix not in (*TEXTS, *PICTURES):
        raise UserError(
            f"{output}: a graph has one of the suffixes {listing([*TEXTS, *PICTURES])}, not "
            f'"{output.suffix}"',
            status=2,
        )
    if output.suffix in PICTURES and shutil.which("dot") is None:
        raise UserError(
            f"{output.suffix[1:].upper()} needs the command dot, of the package graphviz "
            f"(tools/setup --group graphs); "
            f"{output.with_suffix('.dot').name} can be written without"
        )


def write(tree: Tree, graph: Graph, output: Path) -> None:
    """As text, or drawn by Graphviz."""
    text = "\n".join(dot(tree, graph)) + "\n"
    if output.suffix in TEXTS:
        output.write_text(text, encoding="utf-8")
        return
    command = ["dot", f"-T{output.suffix[1:]}", "-o", str(output)]
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    if done.returncode:
        raise UserError(f"dot cannot draw {output}: {done.stderr.strip()}")
