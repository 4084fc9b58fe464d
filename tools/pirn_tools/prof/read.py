# SPDX-License-Identifier: MIT
"""A profile's file (docs/internals/profile-format.md), line by line, and nothing of what it means.

A file that is damaged, cut off or of another version is refused with the line and the expectation.
After load() this holds: every node but a root has a parent, no way leads in a circle, every thread
has a root of its own, every sample has a node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pirn_tools.errors import UserError, listing
from pirn_tools.terminal import printable

VERSION = 1
MAGIC = "pirn-profile"
THREAD_KINDS = ("main", "user", "idle", "foreign", "others", "rest")
NODE_KINDS = ("root", "call", "frame")
WAIT_KINDS = ("waited", "released")
CLOCKS = ("cpu", "wall")
LARGEST = (1 << 64) - 1
MOST_CPUS = 1 << 16
FASTEST = 10**9  # samples a second


class ProfileError(UserError):
    """A file that is no profile, or a damaged one: which file, which line, what was expected."""

    def __init__(self, path: object, line: int, message: str) -> None:
        super().__init__(f"{path}: line {line}: {message}", status=2)


class Mapping(NamedTuple):
    """Executable memory: addresses from start to end - 1 are the file's bytes from offset."""

    start: int
    end: int
    offset: int
    path: str


@dataclass(frozen=True)
class Thread:
    """Whose tree it is that has this root."""

    node: int
    kind: str
    index: int
    generation: int
    threads: int
    name: str

    @property
    def number(self) -> str:
        return f"{self.index}.{self.generation}"


class RawNode(NamedTuple):
    """A line of the tree; what function means depends on the kind."""

    id: int
    parent: int
    kind: str
    function: int
    site: int
    calls: int
    line: int


class Sample(NamedTuple):
    """So often a CPU was found there."""

    cpu: int
    node: int
    pc: int
    times: int


class Wait(NamedTuple):
    """So often a thread waited there, or ended the wait of another one for a lock."""

    kind: str
    reason: str
    object: int  # its address; 0: none
    node: int
    pc: int  # 0: not known
    times: int
    waited: int  # ns, up to the wake-up
    ready: int  # ns, from then on for a CPU
    longest: int  # ns


@dataclass
class Profile:
    """A whole file."""

    path: Path
    meta: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    distances: list[tuple[int, int]] = field(default_factory=list)
    maps: list[Mapping] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)
    nodes: dict[int, RawNode] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    order: list[RawNode] = field(default_factory=list)  # parents first, else by their numbers
    remarks: list[str] = field(default_factory=list)

    @property
    def rate(self) -> int:
        """Samples a second; 0: there are none."""
        return int(self.meta.get("rate", "0"))

    @property
    def clock(self) -> str:
        return self.meta.get("clock", CLOCKS[0])

    @cached_property
    def program(self) -> str:
        """Its path as the maps have it; the file says how it was called, maybe from elsewhere."""
        said = self.meta.get("program", "")
        paths = [one.path for one in self.maps]
        same = [path for path in paths if Path(path).name == Path(said).name]
        return next(iter(same), said) if said not in paths else said

    @property
    def without_tree(self) -> int:
        """Calls that are known by function and site only: there was no room in the trees."""
        rest = {one.node for one in self.threads if one.kind == "rest"}
        return sum(one.calls for one in self.nodes.values() if one.parent in rest) if rest else 0

    def number(self, key: str) -> int:
        """A number of the file's head; 0 where it does not say."""
        return int(self.meta.get(key, "0"))


def shown(word: str, most: int = 40) -> str:
    """A word of the file as part of a message."""
    text = printable(word)
    return text if len(text) <= most else text[: most - 3] + "..."


def load(path: Path) -> Profile:
    """The file, or an error that says what is wrong with it."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}", status=2) from None
    # Paths are bytes that need not be text: surrogateescape gives them back to the system.
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    return _Reader(path).read(lines)


class _Reader:
    """Line by line; self.line is the one that is looked at."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 1
        self.profile = Profile(path)
        # Nodes that samples and waits name: the first line that does, and what it has.
        self.awaited: dict[int, tuple[int, str]] = {}
        self.owners: list[int] = []  # lines of the threads
        self.kinds: dict[str, Callable[[str], None]] = {
            "meta": self._meta,
            "count": self._count,
            "distance": self._distance,
            "map": self._map,
            "thread": self._thread,
            "node": self._node,
            "sample": self._sample,
            "wait": self._wait,
            "note": self._note,
        }
        self.why = 'its last line would be "end"'

    def fail(self, message: str) -> ProfileError:
        return ProfileError(self.path, self.line, message)

    def read(self, lines: list[str]) -> Profile:
        self._head(lines[0])
        ended = False
        for number, text in enumerate(lines[1:], 2):
            self.line = number
            kind = text.partition("\t")[0]
            if ended:
                if text:
                    raise self.fail(f'"{shown(text)}" behind the last line')
            elif kind in self.kinds:
                self.kinds[kind](text)
            elif kind == "end":
                self._end(text)
                ended = True
        if not ended:
            raise self.fail(f"the file is cut off: {self.why}")
        self._check()
        return self.profile

    def _head(self, text: str) -> None:
        columns = text.split("\t")
        if columns[0] != MAGIC:
            raise self.fail(f'not a profile of Pirn: it begins with "{shown(text)}", not "{MAGIC}"')
        if len(columns) != 2 or columns[1] != str(VERSION):
            said = shown(columns[1]) if len(columns) > 1 else ""
            raise self.fail(f'version "{said}" of the format; this command reads {VERSION}')

    def _end(self, text: str) -> None:
        columns = self._columns(text, "end", "lines")
        count = self._decimal(columns[1], "the number of lines")
        if count != self.line - 1:
            raise self.fail(f"{count} lines before this one, it says; there are {self.line - 1}")

    def _columns(self, text: str, *names: str, rest: bool = False) -> list[str]:
        """The line's columns; rest: the last one may have tabs in it."""
        columns = text.split("\t", len(names) - 1) if rest else text.split("\t")
        if len(columns) != len(names):
            want = ", ".join(names)
            raise self.fail(f"{len(columns)} columns where {len(names)} are expected ({want})")
        return columns

    def _decimal(self, text: str, what: str, most: int = LARGEST) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= 20):
            raise self.fail(f'{what} is "{shown(text)}", not a number')
        value = int(text)
        if value > most:
            raise self.fail(f"{what} is {value}; at most {most} is possible")
        return value

    def _address(self, text: str, what: str) -> int:
        digits = text[2:]
        if text[:2] == "0x" and 0 < len(digits) <= 16 and digits.isalnum() and text.isascii():
            try:
                return int(digits, 16)
            except ValueError:
                pass
        raise self.fail(f'{what} is "{shown(text)}", not an address (0x and up to 16 digits)')

    def _meta(self, text: str) -> None:
        _, key, value = self._columns(text, "meta", "key", "value", rest=True)
        limits = {"rate": FASTEST, "cpus": MOST_CPUS}
        if key in (
            "rate",
            "cpus",
            "pid",
            "frames",
            "waits",
            "start_unix_ns",
            "elapsed_ns",
            "nodes",
        ):
            self._decimal(value, key, limits.get(key, LARGEST))
        elif key == "places":
            self._decimal(value, key)
        elif key == "clock" and value not in CLOCKS:
            raise self.fail(f'clock "{shown(value)}" (valid: {listing(CLOCKS)})')
        self.profile.meta[key] = value

    def _note(self, text: str) -> None:
        """Stands in for the rest of a file that is not written yet."""
        _, note = self._columns(text, "note", "text", rest=True)
        self.why = shown(note, 100)

    def _count(self, text: str) -> None:
        _, key, value = self._columns(text, "count", "key", "n")
        # Before 2026-11-24 the runtime wrote `strays`.
        name = "unmatched" if key == "strays" else key
        self.profile.counts[name] = self._decimal(value, key)

    def _distance(self, text: str) -> None:
        _, distance, count = self._columns(text, "distance", "d", "n")
        self.profile.distances.append(
            (self._decimal(distance, "the distance"), self._decimal(count, "the number"))
        )

    def _map(self, text: str) -> None:
        _, start, end, offset, path = self._columns(
            text, "map", "start", "end", "offset", "path", rest=True
        )
        found = Mapping(
            self._address(start, "the start"),
            self._address(end, "the end"),
            self._address(offset, "the offset"),
            path,
        )
        if found.end <= found.start:
            raise self.fail(f"memory that ends at {end}, before its start {start}")
        self.profile.maps.append(found)

    def _thread(self, text: str) -> None:
        _, node, kind, index, generation, threads, name = self._columns(
            text, "thread", "node", "kind", "index", "generation", "threads", "name", rest=True
        )
        if kind not in THREAD_KINDS:
            raise self.fail(f'a thread of kind "{shown(kind)}" (valid: {listing(THREAD_KINDS)})')
        self.owners.append(self.line)
        self.profile.threads.append(
            Thread(
                self._decimal(node, "the node"),
                kind,
                self._decimal(index, "the index"),
                self._decimal(generation, "the generation"),
                self._decimal(threads, "the number of threads"),
                printable(name),
            )
        )

    def _node(self, text: str) -> None:
        _, number, parent, kind, function, site, calls = self._columns(
            text, "node", "id", "parent", "kind", "function", "site", "calls"
        )
        if kind not in NODE_KINDS:
            raise self.fail(f'a node of kind "{shown(kind)}" (valid: {listing(NODE_KINDS)})')
        found = RawNode(
            self._decimal(number, "the node"),
            self._decimal(parent, "the parent"),
            kind,
            self._address(function, "the function"),
            self._address(site, "the call site"),
            self._decimal(calls, "the number of calls"),
            self.line,
        )
        if found.id == 0:
            raise self.fail("node 0: nodes have numbers from 1 on")
        if found.id in self.profile.nodes:
            first = self.profile.nodes[found.id].line
            raise self.fail(f"node {found.id} is there twice, first in line {first}")
        if (kind == "root") != (found.parent == 0):
            problem = f"the parent {parent}" if kind == "root" else "no parent"
            raise self.fail(f"node {found.id} of kind {kind} has {problem}")
        self.profile.nodes[found.id] = found

    def _sample(self, text: str) -> None:
        _, cpu, node, pc, count = self._columns(text, "sample", "cpu", "node", "pc", "n")
        number = -1 if cpu == "-1" else self._decimal(cpu, "the CPU", MOST_CPUS)
        self.profile.samples.append(
            Sample(
                number,
                self._known(self._decimal(node, "the node"), "a sample"),
                self._address(pc, "the address"),
                self._decimal(count, "the number of samples"),
            )
        )

    def _wait(self, text: str) -> None:
        columns = self._columns(
            text,
            "wait",
            "kind",
            "reason",
            "object",
            "node",
            "pc",
            "n",
            "waited",
            "ready",
            "longest",
        )
        _, kind, reason, address, node, pc, *numbers = columns
        if kind not in WAIT_KINDS:
            raise self.fail(f'a wait of kind "{shown(kind)}" (valid: {listing(WAIT_KINDS)})')
        times, waited, ready, longest = (
            self._decimal(number, what)
            for number, what in zip(
                numbers, ("the number", "the time", "the time ready", "the longest"), strict=True
            )
        )
        self.profile.waits.append(
            Wait(
                kind,
                printable(reason),
                self._address(address, "the object"),
                self._known(self._decimal(node, "the node"), "a wait"),
                self._address(pc, "the address"),
                times,
                waited,
                ready,
                longest,
            )
        )

    def _known(self, node: int, what: str) -> int:
        """A node that has to be there, before or behind this line."""
        self.awaited.setdefault(node, (self.line, what))
        return node

    def _check(self) -> None:
        nodes = self.profile.nodes
        for node, (line, what) in self.awaited.items():
            if node not in nodes:
                raise ProfileError(self.path, line, f"{what} in node {node}, which is not there")
        self._check_threads()
        children: dict[int, list[RawNode]] = {}
        for one in sorted(nodes.values()):
            if one.parent and one.parent not in nodes:
                raise ProfileError(
                    self.path, one.line, f"node {one.id} has parent {one.parent}: not there"
                )
            children.setdefault(one.parent, []).append(one)
        order = self.profile.order
        order += children.get(0, [])
        for one in order:  # grows while it is gone through
            order += children.get(one.id, ())
        if len(order) < len(nodes):
            reached = {one.id for one in order}
            lost = next(one for one in sorted(nodes.values()) if one.id not in reached)
            raise ProfileError(
                self.path, lost.line, f"node {lost.id} is below itself: its parents form a circle"
            )

    def _check_threads(self) -> None:
        """Each thread has a root; a root without one is nobody's."""
        nodes, seen = self.profile.nodes, set()
        for thread, line in zip(self.profile.threads, self.owners, strict=True):
            root = nodes.get(thread.node)
            what = f"thread {thread.number} ({thread.kind}) has node {thread.node}, which is"
            if root is None or root.kind != "root":
                problem = "not there" if root is None else f"a {root.kind}, not a root"
                raise ProfileError(self.path, line, f"{what} {problem}")
            if thread.node in seen:
                raise ProfileError(self.path, line, f"{what} another thread's")
            seen.add(thread.node)
        strangers = [one for one in nodes.values() if one.kind == "root" and one.id not in seen]
        for one in strangers:
            self.profile.threads.append(Thread(one.id, "others", 0, 0, 1, ""))
        if strangers:
            self.profile.remarks.append(
                f"trees that belong to no thread of the list: {len(strangers)}"
            )
