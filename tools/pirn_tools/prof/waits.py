# SPDX-License-Identifier: MIT
"""`pirn prof waits` and `locks`: what threads waited for and where; which locks, and who let go.

A place is the innermost function that is not the runtime's, with the line of its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pirn_tools.prof.model import LOCKS, READY, Places, Selection, choose, chosen_waits
from pirn_tools.prof.read import Profile, Wait
from pirn_tools.prof.symbols import Symbols
from pirn_tools.prof.text import duration

HEAD = ["share %", "waited", "ready", "times", "mean", "longest", "for", "in"]
LOCK_HEAD = ["share %", "waited", "times", "mean", "longest", "lock", "waits in", "released in"]
RWLOCK = ("rdlock", "wrlock")
DEEPEST = 40  # functions of a stack that is printed


@dataclass
class Sum:
    """Of several waits."""

    times: int = 0
    waited: int = 0  # ns
    ready: int = 0
    longest: int = 0

    def add(self, wait: Wait) -> None:
        self.times += wait.times
        self.waited += wait.waited
        self.ready += wait.ready
        self.longest = max(self.longest, wait.longest)

    @property
    def time(self) -> int:
        return self.waited + self.ready

    def as_json(self) -> dict[str, int]:
        return {
            "times": self.times,
            "waited_ns": self.waited,
            "ready_ns": self.ready,
            "longest_ns": self.longest,
        }


@dataclass
class Row(Sum):
    """Waits for the same thing at the same place."""

    what: str = ""
    place: str = ""


@dataclass
class Lock(Sum):
    """An object that threads waited for."""

    kind: str = ""
    object: int = 0
    name: str = ""
    waits: dict[tuple[str, ...], Sum] = field(default_factory=dict)  # by stack, innermost first
    releases: dict[tuple[str, ...], Sum] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"{self.kind} {self.name or f'{self.object:#x}'}"


class Waits:
    """The waits of some threads."""

    def __init__(self, profile: Profile, symbols: Symbols, selection: Selection) -> None:
        self._nodes = profile.nodes
        self._symbols = symbols
        self._places = Places(profile, symbols)
        self._roots = {one.node for one in choose(profile, selection.threads)}
        self._own: dict[int, bool] = {}
        self._profile = profile

    @property
    def remarks(self) -> list[str]:
        """Remarks: objects without names."""
        return self._symbols.remarks

    def _chosen(self, of: str) -> Iterator[Wait]:
        for wait in chosen_waits(self._profile, of):
            if self._is_own(wait.node):
                yield wait

    def _is_own(self, number: int) -> bool:
        """Whether the tree of a thread that was chosen has the node."""
        way = []
        while number not in self._own:
            one = self._nodes[number]
            if not one.parent:
                self._own[number] = number in self._roots
                break
            way.append(number)
            number = one.parent
        for other in way:
            self._own[other] = self._own[number]
        return self._own[number]

    def rows(self) -> list[Row]:
        """By what is waited for and where, most time first."""
        found: dict[tuple[str, str], Row] = {}
        for wait in self._chosen("waits"):
            what = self._places.what(wait).name[1:-1]
            place = shown(*self._places.site(wait))
            found.setdefault((what, place), Row(what=what, place=place)).add(wait)
        return sorted(found.values(), key=lambda row: (-row.time, row.what, row.place))

    def locks(self, everything: bool) -> list[Lock]:
        """By object, most time first; everything: not mutexes and readers-writer locks alone."""
        found: dict[tuple[str, int], Lock] = {}
        for wait in self._chosen("waits"):
            lock = self._lock(found, wait, everything)
            if lock is not None:
                lock.add(wait)
                lock.waits.setdefault(self._stack(wait), Sum()).add(wait)
        for wait in chosen_waits(self._profile, "releases"):
            lock = self._lock(found, wait, everything)
            if lock is not None:
                lock.releases.setdefault(self._stack(wait), Sum()).add(wait)
        waited = [lock for lock in found.values() if lock.times]
        return sorted(waited, key=lambda lock: (-lock.waited, lock.label))

    def _lock(
        self, found: dict[tuple[str, int], Lock], wait: Wait, everything: bool
    ) -> Lock | None:
        if wait.object == 0 or not (everything or wait.reason in LOCKS):
            return None
        kind = "rwlock" if wait.reason in RWLOCK else wait.reason
        key = (kind, wait.object)
        if key not in found:
            name = self._places.name(wait.object)
            found[key] = Lock(kind=kind, object=wait.object, name=name)
        return found[key]

    def _stack(self, wait: Wait) -> tuple[str, ...]:
        """From the function that called the runtime outwards."""
        said = []
        number, inner = self._places.outermost(wait)
        if inner is not None:
            said.append(inner.name)
        while (one := self._nodes[number]).parent and len(said) < DEEPEST:
            if one.kind == "frame":
                function = self._symbols.before(one.function)
                said.append(shown(function.name, self._symbols.site(one.function)))
            else:
                said.append(self._symbols.called(one.function).name)
            number = one.parent
        return tuple(said)


def shown(name: str, site: str) -> str:
    return f"{name} ({site})" if name and site else name or "-"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}" if whole else "0.00"


def _numbers(one: Sum, time: int) -> list[str]:
    mean = duration(time / one.times / 1e9) if one.times else "-"
    return [f"{one.times:,}", mean, duration(one.longest / 1e9)]


def cells(rows: list[Row], most: int | None) -> list[list[str]]:
    whole = sum(row.time for row in rows)
    return [
        [
            _share(row.time, whole),
            "-" if row.what in READY else duration(row.waited / 1e9),
            duration(row.ready / 1e9),
            *_numbers(row, row.time),
            row.what,
            row.place,
        ]
        for row in rows[:most]
    ]


def lock_cells(locks: list[Lock], most: int | None) -> list[list[str]]:
    whole = sum(lock.waited for lock in locks)
    return [
        [
            _share(lock.waited, whole),
            duration(lock.waited / 1e9),
            *_numbers(lock, lock.waited),
            lock.label,
            _mostly(lock.waits),
            _mostly(lock.releases),
        ]
        for lock in locks[:most]
    ]


def _ordered(stacks: dict[tuple[str, ...], Sum]) -> list[tuple[tuple[str, ...], Sum]]:
    return sorted(stacks.items(), key=lambda item: (-item[1].waited, item[0]))


def _mostly(stacks: dict[tuple[str, ...], Sum]) -> str:
    """The heaviest place: the function that called the API."""
    for stack, _ in _ordered(stacks)[:1]:
        return next(iter(stack[1:2] or stack), "-")
    return "-"


def stack_lines(locks: Iterable[Lock]) -> Iterator[str]:
    """Of each lock all stacks that waited for it, and those that released it."""
    for lock in locks:
        times = "once" if lock.times == 1 else f"{lock.times:,} times"
        yield f"{lock.label}: waited for {times}, {duration(lock.waited / 1e9)}"
        for verb, stacks in (("waited", lock.waits), ("released", lock.releases)):
            whole = sum(one.waited for one in stacks.values())
            for stack, one in _ordered(stacks):
                share = _share(one.waited, whole)
                yield f"    {verb} here {one.times:,} times, {share}% of the time"
                yield from (f"        {name}" for name in stack)
        yield ""


def as_json(rows: list[Row]) -> dict[str, Any]:
    return {
        "waits": [{"for": row.what, "in": row.place, **row.as_json()} for row in rows],
    }


def locks_as_json(locks: list[Lock]) -> dict[str, Any]:
    def stacks(found: dict[tuple[str, ...], Sum]) -> list[dict[str, Any]]:
        return [{"stack": list(stack), **one.as_json()} for stack, one in _ordered(found)]

    return {
        "locks": [
            {
                "kind": lock.kind,
                "address": f"{lock.object:#x}",
                "name": lock.name,
                **lock.as_json(),
                "waits": stacks(lock.waits),
                "releases": stacks(lock.releases),
            }
            for lock in locks
        ],
    }
