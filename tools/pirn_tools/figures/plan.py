# SPDX-License-Identifier: MIT
"""The parts of a set of figures: programs that run, and the figures of each run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pirn_tools.trace.model import Model

TIMELINE, LOAD, TICKS = "timeline", "load", "ticks"


@dataclass(frozen=True)
class Run:
    """An application of apps/ under a scheduler, with its trace on."""

    name: str
    program: str  # build/.../apps/PROGRAM-pirn
    args: tuple[str, ...]
    short: tuple[str, ...]  # the same with less work
    cpus: int
    sched: str
    tries: int = 1  # the shortest of so many runs: one in which the machine did little else

    def arguments(self, is_short: bool) -> tuple[str, ...]:
        return self.short if is_short else self.args


@dataclass(frozen=True)
class Picture:
    """The drawing of a run."""

    file: str
    kind: str  # TIMELINE or LOAD of the run; TICKS: `run` is the start= of pirn-latecomers
    run: str
    events: tuple[str, ...] = ()  # that get dots
    begin: str = ""  # from the first event of this name
    end: str = ""  # up to the last event of this name
    alt: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the publication, beside the same numbers of a run."""

    title: str
    run: str
    rows: Mapping[str, tuple[str, ...]]  # by row of trace/show.py: a cell for each core


@dataclass(frozen=True)
class Item:
    """A figure or table, or both where they are about one run."""

    title: str
    shown: str  # what the publication's text says of it
    here: Callable[[Model], str] | str  # what our run shows, from its trace
    picture: Picture | None = None
    table: Table | None = None
    remark: str = ""


@dataclass(frozen=True)
class Set:
    """All figures of a publication."""

    name: str
    source: str
    head: str  # of the page
    tick: int  # microseconds
    runs: tuple[Run, ...]
    items: tuple[Item, ...]

    def run(self, name: str) -> Run:
        return next(run for run in self.runs if run.name == name)
