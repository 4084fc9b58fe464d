# SPDX-License-Identifier: MIT
"""Groups of threads that `pirn dump` shows as one: the same back trace, the same kind of wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pirn_tools.live.snapshot import Thread
from pirn_tools.live.waits import Wait, left_text

MOST_OBJECTS = 3  # threads that wait for more different ones are one group nevertheless
SHOWN = 5  # ids of a group


@dataclass(frozen=True)
class Trace:
    """The frames of a thread, or why there are none."""

    frames: tuple[int, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class Found:
    """A thread, its back trace and what it does; wait: if it waits."""

    thread: Thread
    trace: Trace
    does: str
    wait: Wait | None


@dataclass(frozen=True)
class Group:
    """Threads that are equal; the first one stands for all."""

    members: tuple[Found, ...]

    @property
    def first(self) -> Found:
        """The one with the lowest number."""
        return self.members[0]

    @property
    def head(self) -> str:
        """A line above the back trace."""
        label = self.first.thread.label
        if len(self.members) == 1:
            return f"Thread {label}: {self.first.does}"
        return f"{len(self.members):,} threads like {label}: {self._do()}"

    def _do(self) -> str:
        waits = [one.wait for one in self.members if one.wait is not None]
        if len(waits) < len(self.members):
            return self.first.does
        left = left_text(*(one.left for one in waits))
        if self.first.does.startswith("sleeps"):
            return ", ".join(part for part in ("sleep", left) if part)
        objects = {_object(one) for one in waits}
        what = replace(waits[0], left=None).text
        if len(objects) > 1:
            what = f"{waits[0].reason} ({len(objects):,} different ones)"
        return ", ".join(part for part in (f"wait for {what}", left) if part)

    @property
    def others(self) -> str:
        """The other threads; empty: there are none."""
        if len(self.members) == 1:
            return ""
        ids = [one.thread.id for one in self.members[1 : SHOWN + 1]]
        more = len(self.members) - 1 - len(ids)
        return f"also {', '.join(ids)}" + (f" and {more:,} more" if more else "")


def _object(wait: Wait) -> tuple[str, str]:
    return wait.object, wait.owner


def groups(found: Iterable[Found]) -> Iterator[Group]:
    """All of them, in the order of their first threads."""
    kinds: dict[tuple[object, ...], list[Found]] = {}
    for one in found:
        kind = one.wait.reason if one.wait is not None else one.does
        kinds.setdefault((one.trace, kind, one.wait is None), []).append(one)
    made = [Group(tuple(part)) for same in kinds.values() for part in _parts(same)]
    return iter(sorted(made, key=lambda group: group.first.thread.index))


def _parts(same: list[Found]) -> list[list[Found]]:
    """By the object that they wait for, unless those are many."""
    objects = Counter(_object(one.wait) if one.wait is not None else ("", "") for one in same)
    if len(objects) > MOST_OBJECTS:
        return [same]
    parts: dict[tuple[str, str], list[Found]] = {one: [] for one in objects}
    for one in same:
        parts[_object(one.wait) if one.wait is not None else ("", "")].append(one)
    return list(parts.values())
