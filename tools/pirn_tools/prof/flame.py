# SPDX-License-Identifier: MIT
"""`pirn prof flame`: a flame graph, one SVG file that holds everything; or its stacks as text.

Each box is a function on one way down from the threads at the bottom, as wide as its samples with
those above it (or calls). Calls from several places are one box. In a browser the script
(page/flame.js) tells what a box is, lets one zoom into it, and finds functions by name.
"""

from __future__ import annotations

import html
import zlib
from collections.abc import Iterator
from pathlib import Path

from pirn_tools.errors import UserError
from pirn_tools.prof.model import Node, Tree
from pirn_tools.prof.tree import counted

PAGE = Path(__file__).parent / "page"
ROW = 17  # pixels of a level
MARGIN = 10
TOP = 66  # for the title and the search
BOTTOM = 28  # for what a box is
DEEPEST = 250  # levels
LEAST = 0.2  # pixels: narrower boxes cannot be seen
LETTER = 7.25  # pixels of a letter of the fixed-width font
HUES = {
    "program": (24, 14),
    "pirn": (212, 10),
    "library": (130, 16),
    "wait": (256, 14),
    "threads": (0, 0),
}


class Box:
    """A function, or the threads of a root."""

    __slots__ = ("children", "kind", "level", "name", "node", "own", "weight", "x")

    def __init__(self, node: Node | None, name: str, level: int, kind: str) -> None:
        self.node = node
        self.name = name
        self.level = level
        self.kind = kind
        self.weight = 0
        self.own = 0
        self.x = 0.0  # in units of weight
        self.children: dict[int, Box] = {}


def compute(tree: Tree, by: str) -> tuple[Box, int]:
    """The bottom box with all others in it; how many nodes are deeper than what is shown."""
    everything = Box(None, "all", 0, "threads")
    boxes: dict[int, Box] = {}
    deeper = 0
    for node in tree.nodes:
        below = boxes[id(node.parent)] if node.parent is not None else everything
        if below.level >= DEEPEST:
            deeper += 1
            box = below
        else:
            key = id(node) if node.kind == "root" else id(node.function)
            box = below.children.setdefault(
                key, Box(node, node.name, below.level + 1, _kind(tree, node))
            )
        boxes[id(node)] = box
        box.own += node.own if by == "samples" else node.calls
    ordered = _ordered(everything)
    for box in reversed(ordered):
        box.weight = box.own + sum(one.weight for one in box.children.values())
    for box in ordered:
        x = box.x
        for child in sorted(box.children.values(), key=lambda one: one.name):
            child.x = x
            x += child.weight
    return everything, deeper


def _ordered(everything: Box) -> list[Box]:
    """Lower ones first."""
    boxes = [everything]
    for box in boxes:  # grows while it is gone through
        boxes += box.children.values()
    return boxes


def _kind(tree: Tree, node: Node) -> str:
    if node.kind == "root" or node.function is None:
        return "threads"
    if node.kind == "wait":
        return "wait"
    file = node.function.file
    if file is not None and file.name.startswith("libpirn"):
        return "pirn"
    return "program" if file is not None and file.path == tree.profile.program else "library"


def _colour(box: Box) -> str:
    hue, spread = HUES[box.kind]
    chance = zlib.crc32(box.name.encode("utf-8", "replace"))
    if box.kind == "threads":
        return "hsl(220,8%,86%)"
    shade, light = chance % 1000 / 1000, chance // 1000 % 1000 / 1000
    return f"hsl({hue + spread * shade:.0f},{78 - 10 * light:.0f}%,{64 + 9 * light:.0f}%)"


def write(tree: Tree, output: Path, by: str, width: int, title: str) -> str:
    """Writes the picture; what it does not show, in words."""
    everything, deeper = compute(tree, by)
    if not everything.weight:
        if tree.waits:
            raise UserError("no waits in this part of the profile")
        other = "calls" if by == "samples" else "samples"
        raise UserError(f"no {by} in this part of the profile; --by {other} may have some")
    if output.suffix == ".folded":
        text = "".join(f"{line}\n" for line in folded(tree, by))
        output.write_text(text, encoding="utf-8", errors="replace")
        return ""
    with output.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in svg(tree, everything, by, width, title))
    return f"{deeper:,} nodes are deeper than {DEEPEST} levels" if deeper else ""


def svg(tree: Tree, everything: Box, by: str, width: int, title: str) -> Iterator[str]:
    """Line by line."""
    scale = (width - 2 * MARGIN) / everything.weight
    boxes = [box for box in _ordered(everything) if box.weight * scale >= LEAST]
    height = TOP + BOTTOM + ROW * (max(box.level for box in boxes) + 1)
    parts = {
        "WIDTH": str(width),
        "HEIGHT": str(height),
        "TITLE": html.escape(title),
        "WAITS": ", violet: waits" if tree.waits else "",
        "DETAILS": str(height - 9),
        "SCRIPT": (PAGE / "flame.js").read_text(encoding="utf-8"),
        "MARGIN": str(MARGIN),
        "LETTER": str(LETTER),
    }
    pieces = (PAGE / "flame.svg").read_text(encoding="utf-8").split("@")
    head, tail = "".join(parts.get(piece, piece) for piece in pieces).split("<!-- boxes -->")
    yield head.rstrip()
    for box in boxes:
        yield _drawn(tree, box, everything, scale, by, height)
    yield tail.strip()


def _drawn(tree: Tree, box: Box, everything: Box, scale: float, by: str, height: int) -> str:
    x, w = MARGIN + box.x * scale, box.weight * scale
    y = height - BOTTOM - ROW * (box.level + 1)
    letters = int((w - 5) / LETTER)
    text = box.name if len(box.name) <= letters else box.name[: letters - 2] + ".."
    label = html.escape(text) if letters >= 3 else ""
    share, start = box.weight / everything.weight, box.x / everything.weight
    return (
        f'<g class="f" data-x="{start:.9f}" data-w="{share:.9f}" data-l="{box.level}">'
        f"<title>{html.escape(_told(tree, box, everything, by))}</title>"
        f'<rect x="{x:.2f}" y="{y}" width="{w:.2f}" height="{ROW - 1}" rx="1" '
        f'fill="{_colour(box)}"/>'
        f'<text x="{x + 3:.2f}" y="{y + 12.5}">{label}</text></g>'
    )


def weighed(tree: Tree, weight: int) -> str:
    """In words: samples, or nanoseconds."""
    return f"{weight / 1e9:,.6f} s" if tree.waits else f"{weight:,} samples"


def folded(tree: Tree, by: str) -> Iterator[str]:
    """A line for each stack, from the threads inwards, and its number: samples, calls, or
    microseconds of waiting."""
    found: dict[str, int] = {}
    for node in tree.nodes:
        number = node.own if by == "samples" else node.calls
        if number:
            way = [node.name]
            above = node.parent
            while above is not None:
                way.append(above.name)
                above = above.parent
            key = ";".join(name.replace(";", ":") for name in reversed(way))
            found[key] = found.get(key, 0) + number
    for key, number in sorted(found.items()):
        yield f"{key} {(number + 500) // 1000 if tree.waits and by == 'samples' else number}"


def _told(tree: Tree, box: Box, everything: Box, by: str) -> str:
    share = 100 * box.weight / everything.weight
    weight = f"{box.weight:,} {by}" if by == "calls" else weighed(tree, box.weight)
    said = f"{box.name} - {weight} ({share:.2f}%)"
    node = box.node
    if node is None or node.kind in ("root", "wait"):
        return said
    if by == "samples" and not tree.waits:
        said += f", own {box.own:,}"
        if node.kind == "call":
            said += f", {counted(node)}"
    if node.function is not None and node.function.module not in ("", "?"):
        said += f" - {node.function.module}"
    return said
