# SPDX-License-Identifier: MIT
"""Threads by their lives: an index is used again when its thread is gone, and events name indexes.

Events that tell a life (spawn, thread, start, exit, name, carry) are marks on the time line of
their index. Other events with the index mean the life of the latest mark; those in front of the
first one mean its life, or the one before if it is a spawn.

Idle threads are the lives of the indexes below the number of CPUs, and others, of spare carriers
and in children of fork: what a `thread` of state `idle` or a `carry` names, what a switch of reason
`idle` leaves, and what runs where a CPU begins or ends to idle or to sleep.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pirn_tools.trace.read import NO_THREAD, Trace

Array = NDArray[Any]
MARKS = {
    "spawn": "thread",
    "thread": "thread",
    "start": "thread",
    "exit": "thread",
    "name": "thread",
    "carry": "idle",
}
IDLING = ("idle_in", "idle_out", "sleep_in", "sleep_out")
SHIFT = 32


@dataclass
class Thread:
    """One life of an index."""

    key: int  # place in Lives.threads
    index: int
    life: int
    name: str
    idle: bool

    @property
    def number(self) -> str:
        return f"{self.index}.{self.life}"

    @property
    def label(self) -> str:
        """As it is shown: 5.2 "worker"."""
        return f'{self.number} "{self.name}"' if self.name else self.number


@dataclass(frozen=True)
class Reference:
    """Lives that events mean by indexes: of the latest mark, or guessed where there is none."""

    mark: Array
    early: Array  # those in front of the first mark
    guess: Array  # their lives, packed


class Lives:
    """All lives of a trace, and which of them an index means at an event."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        marks, lives, births = [], [], []
        for name, which in MARKS.items():
            if not tells_life(trace, name, which):
                continue
            rows = trace.which(name)
            index = trace.values(name, which, rows)
            marks.append((index << SHIFT) | rows)
            lives.append(trace.values(name, "life", rows))
            births.append(np.full(len(rows), name == "spawn"))
        every = np.concatenate(marks)
        order = np.argsort(every, kind="stable")
        self._marks = every[order]
        self._indexes = self._marks >> SHIFT
        self._rows = self._marks & 0xFFFFFFFF
        self._lives = np.concatenate(lives)[order]
        self._births = np.concatenate(births)[order]
        self._known = np.empty(0, np.int64)
        self._mark_keys = np.empty(0, np.int64)
        self.threads: list[Thread] = []

    def refer(self, index: Array, rows: Array) -> Reference:
        """Which lives the events in these rows mean by these indexes; for meant(), when settled."""
        index = index.astype(np.int64)
        if not len(self._marks):
            guess = self._guess(index, np.zeros(len(index), np.int64))
            return Reference(np.zeros(len(index), np.int32), np.arange(len(index)), guess)
        place = np.searchsorted(self._marks, (index << SHIFT) | rows, side="right") - 1
        near = np.maximum(place, 0)
        early = np.flatnonzero(
            (place < 0) | (self._indexes[near] != index) | self._hidden(place, rows)
        )
        guess = self._guess(index[early], place[early])
        return Reference(near.astype(np.int32), early, guess)

    def _hidden(self, place: Array, rows: Array) -> Array:
        """Whether the trace was paused since the mark, and the index has one more behind."""
        gaps = self._trace.gaps
        if not len(gaps):
            return np.zeros(len(place), bool)
        near, after = np.maximum(place, 0), np.minimum(place + 1, len(self._marks) - 1)
        since = np.searchsorted(gaps.last, self._rows[near], side="right")
        now = np.searchsorted(gaps.last, rows, side="right")
        known = (self._indexes[after] == self._indexes[near]) & (after > near)
        return np.asarray((since != now) & known)

    def _guess(self, index: Array, place: Array) -> Array:
        """Without a mark in front of it (at place): as the next one says."""
        life = np.zeros(len(index), np.int64)
        if len(self._marks):
            after = np.minimum(place + 1, len(self._marks) - 1)
            early = np.maximum(self._lives[after] - self._births[after], 0)
            life = np.where(self._indexes[after] == index, early, 0)
        return np.where(index == NO_THREAD, -1, pack(index, life))

    def settle(self, used: list[Array]) -> None:
        """Says which lives occur; from then on keys() and at() work."""
        marked = pack(self._indexes, self._lives)
        known = np.unique(np.concatenate([marked, *used]))
        self._known = known[known >= 0]
        self._mark_keys = self.keys(marked)
        index, life = self._known >> SHIFT, self._known & 0xFFFFFFFF
        self.threads = [
            Thread(key, number, born, "", number < self._trace.cpus)
            for key, (number, born) in enumerate(zip(index.tolist(), life.tolist(), strict=True))
        ]
        self._name()

    def keys(self, packed: Array) -> Array:
        """Places in `threads` of lives that events tell; -1 for no thread."""
        if not len(self._known):
            return np.full(len(packed), -1, np.int64)
        place = np.searchsorted(self._known, packed)
        return np.where(packed < 0, -1, np.minimum(place, len(self._known) - 1))

    def meant(self, reference: Reference) -> Array:
        """Places in `threads`; -1 for no thread."""
        if not len(self._marks):
            return self.keys(reference.guess)
        found = self._mark_keys[reference.mark]
        found[reference.early] = self.keys(reference.guess)
        return np.asarray(found)

    def at(self, index: Array, rows: Array) -> Array:
        """The same at once, for what settle() knows."""
        return self.meant(self.refer(index, rows))

    def idle(self, keys: Array) -> None:
        """These are idle threads, too; -1 is none."""
        for key in np.unique(keys[keys >= 0]).tolist():
            self.threads[key].idle = True

    def _name(self) -> None:
        """The names that spawn, thread and name give, the last one counts."""
        trace = self._trace
        for event in ("spawn", "thread", "name", "carry"):
            which = MARKS[event]
            if not tells_life(trace, event, which):
                continue
            rows = trace.which(event)
            marked = pack(trace.values(event, which, rows), trace.values(event, "life", rows))
            for key, row in zip(self.keys(marked).tolist(), rows.tolist(), strict=True):
                self.threads[key].name = trace.text(row) or self.threads[key].name


def tells_life(trace: Trace, name: str, which: str) -> bool:
    """Whether an event says the life of the thread that this field names."""
    event = trace.table.named(name)
    if event is None or MARKS.get(name) != which:
        return False
    return event.field(which) is not None and event.field("life") is not None


def pack(index: Array, life: Array) -> Array:
    """Index and life as one number."""
    return (index.astype(np.int64) << SHIFT) | (life.astype(np.int64) & 0xFFFFFFFF)
