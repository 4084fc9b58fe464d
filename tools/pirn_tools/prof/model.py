# SPDX-License-Identifier: MIT
"""The call trees of a profile: of some threads, seen on some CPU, those of like threads merged.

A node is a function that was called from one place of the one above it. It has as its own the
samples in its code. Where a sample was in a function that did not report its calls (it is not
instrumented), that function becomes a node below, of kind `code`; so do frames that sampling found
on the stack. With `instrumented` those samples count for the function that did report.

With `inlines` the functions that are inlined where such a sample or frame was are below it, too.
An inlined function has no code under its own name: samples in the function that it is inlined in,
while the inlined one is active, are the inlined one's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pirn_tools.errors import UserError, did_you_mean, listing
from pirn_tools.prof.read import Profile, RawNode, Thread
from pirn_tools.prof.symbols import Function, Symbols, finder

MERGES = ("start", "all", "none")
DEEPEST_INLINING = 16


class Node:
    """One way to a function. Roots are threads: their function is the start routine, or None."""

    __slots__ = (
        "calls",
        "children",
        "depth",
        "function",
        "kind",
        "label",
        "own",
        "parent",
        "root",
        "samples",
        "site",
        "threads",
        "total",
    )

    def __init__(
        self, parent: Node | None, kind: str, function: Function | None, site: int
    ) -> None:
        self.parent = parent
        self.root: Node = parent.root if parent is not None else self
        self.kind = kind  # root, call, code
        self.function = function
        self.site = site  # the address behind the call; 0: not known
        self.depth: int = parent.depth + 1 if parent is not None else 0
        self.calls = 0
        self.own = 0
        self.total = 0
        self.children: dict[tuple[str, int, int], Node] = {}
        self.samples: dict[tuple[int, int], int] = {}  # its own, by CPU and address
        self.label = ""  # of roots: the thread or the threads
        self.threads = 0

    @property
    def name(self) -> str:
        if self.kind == "root" or self.function is None:
            return self.label
        return self.function.name

    def child(self, kind: str, function: Function, site: int) -> Node:
        key = (kind, id(function), site)
        found = self.children.get(key)
        if found is None:
            found = self.children[key] = Node(self, kind, function, site)
        return found

    def ordered(self) -> list[Node]:
        """The ones below, heaviest first."""
        return sorted(
            self.children.values(), key=lambda one: (-one.total, -one.calls, one.name, one.site)
        )


@dataclass(frozen=True)
class Selection:
    """Which part of a profile."""

    threads: tuple[str, ...] = ()  # ids, names, kinds; none: all
    cpu: int | None = None
    merge: str = "start"
    instrumented: bool = False
    inlines: bool = False


@dataclass
class Tree:
    """The chosen part."""

    profile: Profile
    symbols: Symbols
    roots: list[Node]
    nodes: list[Node]  # all of them, parents first
    total: int  # samples
    selection: Selection

    def seconds(self, samples: int) -> float:
        return samples / self.profile.rate if self.profile.rate else 0.0

    def share(self, samples: int) -> float:
        """Of all samples of the chosen part, in percent."""
        return 100.0 * samples / self.total if self.total else 0.0

    def functions(self) -> Iterator[Function]:
        seen: set[int] = set()
        for node in self.nodes:
            if node.function is not None and id(node.function) not in seen:
                seen.add(id(node.function))
                yield node.function

    def matching(self, names: tuple[str, ...]) -> set[int]:
        """Ids of the nodes of these functions; an error for a name that none has."""
        matched: set[int] = set()
        for name in names:
            wanted = finder((name,))
            ids = {id(one) for one in self.functions() if wanted(one)}
            if not ids:
                known = {one.name for one in self.functions()}
                raise UserError(
                    f'no function "{name}" in this part of the profile{did_you_mean(name, known)}',
                    status=2,
                )
            matched |= {
                id(node) for node in self.nodes if node.kind != "root" and id(node.function) in ids
            }
        return matched


def build(profile: Profile, symbols: Symbols, selection: Selection | None = None) -> Tree:
    """The chosen part of a profile."""
    chosen = selection or Selection()
    return _Builder(profile, symbols, chosen).build()


def choose(profile: Profile, wanted: tuple[str, ...]) -> list[Thread]:
    """The threads that are meant: `3.1`, `3`, a name (also with * and ?), or a kind."""
    if not wanted:
        return list(profile.threads)
    found: list[Thread] = []
    for word in wanted:
        matching = [one for one in profile.threads if _meant(one, word)]
        if not matching:
            names = sorted({one.name for one in profile.threads if one.name})
            kinds = sorted({one.kind for one in profile.threads})
            raise UserError(
                f'no thread "{word}"{did_you_mean(word, [*names, *kinds])} (a number as 3 or 3.1, '
                f"a name, or one of the kinds here: {listing(kinds)})",
                status=2,
            )
        found += [one for one in matching if one not in found]
    return found


def _meant(thread: Thread, word: str) -> bool:
    if word == thread.kind or (thread.name and fnmatchcase(thread.name, word)):
        return True
    counted = thread.kind in ("main", "user")
    return counted and word in (thread.number, str(thread.index))


class _Builder:
    def __init__(self, profile: Profile, symbols: Symbols, selection: Selection) -> None:
        self.profile = profile
        self.symbols = symbols
        self.selection = selection
        self.known: dict[int, Node] = {}  # by the number in the file
        self.roots: dict[object, Node] = {}

    def build(self) -> Tree:
        for thread in choose(self.profile, self.selection.threads):
            root = self._root(thread)
            root.threads += thread.threads
            self.known[thread.node] = root
        for one in self.profile.order:
            if one.kind != "root" and one.parent in self.known:
                self._add(one)
        for sample in self.profile.samples:
            if sample.node in self.known and self.selection.cpu in (None, sample.cpu):
                node = self._owner(self.profile.nodes[sample.node], sample.pc)
                key = (sample.cpu, sample.pc)
                node.samples[key] = node.samples.get(key, 0) + sample.times
                node.own += sample.times
        return self._finish()

    def _root(self, thread: Thread) -> Node:
        key, label = self._group(thread)
        if key not in self.roots:
            address = self.profile.nodes[thread.node].function
            function = self.symbols.called(address) if address else None
            root = Node(None, "root", function, 0)
            root.label = label
            self.roots[key] = root
        return self.roots[key]

    def _group(self, thread: Thread) -> tuple[object, str]:
        """Threads with the same first thing share a tree; the second is what it is called."""
        merge = self.selection.merge
        if merge == "all":
            return "all", "all threads"
        start = self.profile.nodes[thread.node].function
        if merge == "start":
            if thread.kind in ("user", "others") and start:
                return start, f"threads of {self.symbols.called(start).name}"
            return thread.kind, LABELS[thread.kind]
        if thread.kind == "main":
            return thread.node, "main thread"
        if thread.kind != "user":
            return thread.node, LABELS[thread.kind]
        quoted = f' "{thread.name}"' if thread.name else ""
        return thread.node, f"thread {thread.number}{quoted}"

    def _add(self, one: RawNode) -> None:
        parent = self.known[one.parent]
        if one.kind == "call":
            node = parent.child("call", self.symbols.called(one.function), one.site)
            node.calls += one.calls
        else:
            function = self.symbols.before(one.function)
            node = parent.child("code", function, self._caller(one.parent))
            node = self._innermost(node, one.function - 1)
        self.known[one.id] = node

    def _innermost(self, node: Node, address: int) -> Node:
        """Below code that was found: the functions that are inlined at the address, if wanted."""
        if self.selection.inlines:
            for function, _ in self.symbols.inlined(address):
                node = node.child("code", function, 0)
        return node

    def _caller(self, number: int) -> int:
        """Where the frame below a node was called from: frames are addresses behind calls."""
        one = self.profile.nodes[number]
        return one.function if one.kind == "frame" else 0

    def _owner(self, one: RawNode, pc: int) -> Node:
        """The node whose code it was."""
        node = self.known[one.id]
        if self.selection.instrumented:
            while node.kind == "code" and node.parent is not None:
                node = node.parent
            return node
        function = self.symbols.inside(pc)
        if node.kind == "call" and _contains(node, function):
            return node
        return self._innermost(node.child("code", function, self._caller(one.id)), pc)

    def _finish(self) -> Tree:
        nodes = list(self.roots.values())
        for node in nodes:  # grows while it is gone through
            nodes += node.children.values()
        for node in reversed(nodes):
            node.total += node.own
            if node.parent is not None:
                node.parent.total += node.total
        for root in self.roots.values():
            if root.threads > 1:
                root.label += f" ({root.threads:,})"
        roots = sorted(self.roots.values(), key=lambda one: (-one.total, one.label))
        total = sum(root.total for root in roots)
        return Tree(self.profile, self.symbols, roots, nodes, total, self.selection)


LABELS = {
    "main": "main thread",
    "user": "threads",
    "idle": "idle CPUs",
    "foreign": "other kernel threads",
    "others": "threads without trees of their own",
    "rest": "calls that found no room in their trees",
}


def _contains(node: Node, function: Function) -> bool:
    """Whether that function's code is the node's: its own, or the one that it is inlined in."""
    up: Node | None = node
    for _ in range(DEEPEST_INLINING):
        if up is None or up.kind != "call" or up.site != node.site:
            return False
        if up.function is function:
            return True
        up = up.parent
    return False
