# SPDX-License-Identifier: MIT
"""The call trees of a profile: of some threads, seen on some CPU, those of like threads merged.

A node is a function that was called from one place of the one above it. It has as its own the
samples in its code. Where a sample was in a function that did not report its calls (it is not
instrumented), that function becomes a node below, of kind `code`; so do frames that sampling found
on the stack. With `instrumented` those samples count for the function that did report.

Of waits (`of` other than `cpu`) a node has the nanoseconds that threads waited there. The object
they waited for is a node of kind `wait` below the function that called the runtime; the runtime's
own functions further in are left out.

With `inlines` the functions that are inlined where such a sample or frame was are below it, too.
An inlined function has no code under its own name: samples in the function that it is inlined in,
while the inlined one is active, are the inlined one's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pirn_tools.errors import UserError, did_you_mean, listing
from pirn_tools.prof.read import Profile, RawNode, Thread, Wait
from pirn_tools.prof.symbols import Function, Symbols, finder
from pirn_tools.prof.text import duration

MERGES = ("start", "all", "none")
# Of what the numbers are: samples of CPUs; the time that threads waited, by where they did; that
# for locks alone; the same by where the lock was released.
OF = ("cpu", "waits", "locks", "releases")
LOCKS = ("mutex", "rdlock", "wrlock")
READY = ("yield", "preempt")  # reasons of a thread that had to wait for a CPU only
RUNTIME = "libpirn"
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
        self.kind = kind  # root, call, code, wait
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
    of: str = "cpu"


@dataclass
class Tree:
    """The chosen part."""

    profile: Profile
    symbols: Symbols
    roots: list[Node]
    nodes: list[Node]  # all of them, parents first
    total: int  # samples; of waits ns
    selection: Selection

    @property
    def waits(self) -> bool:
        return self.selection.of != "cpu"

    def seconds(self, samples: int) -> float:
        if self.waits:
            return samples / 1e9
        return samples / self.profile.rate if self.profile.rate else 0.0

    def amount(self, samples: int) -> str:
        """For people: how many, or how long."""
        return duration(samples / 1e9) if self.waits else f"{samples:,}"

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
        self.places = Places(profile, symbols)

    def build(self) -> Tree:
        for thread in choose(self.profile, self.selection.threads):
            root = self._root(thread)
            root.threads += thread.threads
            self.known[thread.node] = root
        for one in self.profile.order:
            if one.kind != "root" and one.parent in self.known:
                self._add(one)
        if self.selection.of == "cpu":
            self._samples()
        else:
            for wait in chosen_waits(self.profile, self.selection.of):
                if wait.node in self.known:
                    self._wait(wait)
        return self._finish()

    def _samples(self) -> None:
        for sample in self.profile.samples:
            if sample.node in self.known and self.selection.cpu in (None, sample.cpu):
                node = self._owner(self.profile.nodes[sample.node], sample.pc)
                key = (sample.cpu, sample.pc)
                node.samples[key] = node.samples.get(key, 0) + sample.times
                node.own += sample.times

    def _wait(self, wait: Wait) -> None:
        number, function = self.places.outermost(wait)
        node = self.known[number]
        if self.selection.instrumented:
            while node.kind == "code" and node.parent is not None:
                node = node.parent
        elif function is not None:
            node = node.child("code", function, self._caller(number))
        leaf = node.child("wait", self.places.what(wait), 0)
        leaf.calls += wait.times
        leaf.own += wait.ready if wait.reason in READY else wait.waited
        if self.selection.of == "waits" and wait.reason not in READY:
            node.child("wait", self.places.ready, 0).own += wait.ready

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
        # Found on the stack by what is not shown: by samples, or by waits.
        waits = self.selection.of != "cpu"
        nodes = [node for node in nodes if node.total or not (waits or node.kind == "code")]
        for node in nodes:
            node.children = {
                key: one
                for key, one in node.children.items()
                if one.total or not (waits or one.kind == "code")
            }
        for root in self.roots.values():
            if root.threads > 1:
                root.label += f" ({root.threads:,})"
        roots = sorted(
            (node for node in nodes if node.kind == "root"), key=lambda one: (-one.total, one.label)
        )
        total = sum(root.total for root in roots)
        return Tree(self.profile, self.symbols, roots, nodes, total, self.selection)


class Places:
    """Where and for what threads waited."""

    def __init__(self, profile: Profile, symbols: Symbols) -> None:
        self._nodes = profile.nodes
        self._symbols = symbols
        self._what: dict[str, Function] = {}
        self._names: dict[int, str] = {}
        self.ready = self._label("[ready]")

    def _label(self, text: str) -> Function:
        return self._what.setdefault(text, Function(text, None, 0, 0, known=True))

    def name(self, address: int) -> str:
        """Of an object: its variable; empty: it has none."""
        if address not in self._names:
            self._names[address] = self._symbols.data(address) if address else ""
        return self._names[address]

    def what(self, wait: Wait) -> Function:
        """The object of the wait, as a function: `[mutex lock_b]`."""
        name = self.name(wait.object)
        return self._label(f"[{wait.reason} {name}]" if name else f"[{wait.reason}]")

    def _runtime(self, function: Function) -> bool:
        return function.module.startswith(RUNTIME)

    def outermost(self, wait: Wait) -> tuple[int, Function | None]:
        """The node of the function that the program called to wait; and below it a function that
        has no node, or None."""
        one = self._nodes[wait.node]
        function = self._symbols.inside(wait.pc) if wait.pc else None
        if one.kind != "frame":
            return one.id, function
        inner = self._symbols.before(one.function)
        if function is not None and not self._runtime(inner):
            return one.id, function
        while self._runtime(inner):
            up = self._nodes[one.parent]
            if up.kind != "frame":
                break
            inner = self._symbols.before(up.function)
            if not self._runtime(inner):
                break
            one = up
        return one.id, None

    def site(self, wait: Wait) -> tuple[str, str]:
        """The innermost function that is not the runtime's, and the line of its call."""
        number = wait.node
        while (one := self._nodes[number]).kind == "frame":
            function = self._symbols.before(one.function)
            if not self._runtime(function):
                return function.name, self._symbols.site(one.function)
            number = one.parent
        if one.kind == "call":
            return self._symbols.called(one.function).name, ""
        return (self._symbols.called(one.function).name if one.function else ""), ""


def chosen_waits(profile: Profile, of: str) -> Iterator[Wait]:
    """Those of the kind."""
    if not profile.number("waits"):
        raise UserError(
            f"{profile.path} has no waits; pirn prof record --waits records them", status=2
        )
    kind = "released" if of == "releases" else "waited"
    for wait in profile.waits:
        if wait.kind == kind and (of == "waits" or wait.reason in LOCKS):
            yield wait


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
