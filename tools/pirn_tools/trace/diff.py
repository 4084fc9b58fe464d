# SPDX-License-Identifier: MIT
"""`pirn trace diff`: what differs between two traces.

Numbers of events, times of each CPU and of each thread's name, distributions, and for each CPU
the first switch that is another one: reason, the thread that stops, the thread that runs next.
Two runs of the same program differ there soon, unless the scheduler's choices are the same, as in
the simulator.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from pirn_tools.paths import distinct
from pirn_tools.terminal import printable
from pirn_tools.trace.model import Model
from pirn_tools.trace.show import Cells, duration
from pirn_tools.trace.show import draw as draw_table
from pirn_tools.trace.stat import Stat, ThreadStat, compute

Array = NDArray[Any]


@dataclass(frozen=True)
class Pair:
    """One number in both traces."""

    name: str
    first: float
    second: float
    is_time: bool = False  # nanoseconds

    @property
    def ratio(self) -> float | None:
        return self.second / self.first if self.first else None


@dataclass(frozen=True)
class Switch:
    """One switch, in words."""

    number: int  # of its CPU, from 1
    ns: int
    why: str
    previous: str
    next: str

    def __str__(self) -> str:
        return f"{self.previous} -> {self.next} ({self.why}) at {duration(self.ns)}"


@dataclass(frozen=True)
class Parting:
    """Where the switches of a CPU begin to differ; None: one trace has no more."""

    cpu: int
    same: int  # switches before that
    first: Switch | None
    second: Switch | None


@dataclass(frozen=True)
class Difference:
    """All of it."""

    names: tuple[str, str]
    counts: list[Pair]
    cpus: list[Pair]
    threads: list[Pair]
    distributions: list[Pair]
    partings: list[Parting]  # of the CPUs whose switches differ

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def compare(first: Model, second: Model) -> Difference:
    """Both traces' numbers beside each other."""
    one, two = compute(first), compute(second)
    return Difference(
        names=(str(first.trace.path), str(second.trace.path)),
        counts=_counts(one, two),
        cpus=_cpus(one, two),
        threads=_threads(one, two),
        distributions=_distributions(one, two),
        partings=partings(first, second),
    )


def _counts(one: Stat, two: Stat) -> list[Pair]:
    names = sorted({*one.counts, *two.counts})
    found = [Pair(name, one.counts.get(name, 0), two.counts.get(name, 0)) for name in names]
    threads = Pair("(threads)", len(one.threads), len(two.threads))
    lost = Pair("(lost)", one.lost, two.lost)
    return [threads, lost, *found]


def _cpus(one: Stat, two: Stat) -> list[Pair]:
    found = [Pair("whole trace", one.duration, two.duration, True)]
    for number in range(max(len(one.cpus), len(two.cpus))):
        left = one.cpus[number] if number < len(one.cpus) else None
        right = two.cpus[number] if number < len(two.cpus) else None
        for name, field in (
            ("idle", "idle_time"),
            ("interrupts", "interrupt_time"),
        ):
            times = [float(getattr(cpu, field)) if cpu else 0.0 for cpu in (left, right)]
            found.append(Pair(f"CPU {number} {name}", times[0], times[1], True))
        switches = [cpu.switches if cpu else 0 for cpu in (left, right)]
        found.append(Pair(f"CPU {number} switches", switches[0], switches[1]))
    return found


def _by_name(threads: list[ThreadStat]) -> dict[str, tuple[int, int, int]]:
    """Run, ready, blocked of all threads of a name."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for thread in threads:
        own = sums[thread.name or "(no name)"]
        for place, value in enumerate((thread.run, thread.ready, thread.blocked)):
            own[place] += value
    return {name: (own[0], own[1], own[2]) for name, own in sums.items()}


def _threads(one: Stat, two: Stat) -> list[Pair]:
    left, right = _by_name(one.threads), _by_name(two.threads)
    names = sorted(
        {*left, *right}, key=lambda name: -max(left.get(name, (0,))[0], right.get(name, (0,))[0])
    )
    nothing = (0, 0, 0)
    return [
        Pair(f"{name}: {what}", left.get(name, nothing)[at], right.get(name, nothing)[at], True)
        for name in names
        for at, what in enumerate(("run", "ready", "blocked"))
    ]


def _distributions(one: Stat, two: Stat) -> list[Pair]:
    found = []
    for name, field in (
        ("wake-up to running", "latency"),
        ("ready before running", "ready"),
        ("one turn on a CPU", "run"),
    ):
        left, right = getattr(one, field), getattr(two, field)
        found.append(Pair(f"{name}: count", left.count, right.count))
        found += [
            Pair(f"{name}: {share}", getattr(left, share), getattr(right, share), True)
            for share in ("p50", "p90", "p99", "max")
        ]
    return found


class _Switches:
    """The switches of a trace, CPU by CPU, as numbers that can be compared."""

    def __init__(self, model: Model) -> None:
        self.model = model
        rows = model.trace.which("switch")
        rows = rows[model.trace.rows["cpu"][rows] >= 0]
        self.rows = rows[np.argsort(model.trace.rows["cpu"][rows], kind="stable")]
        self.next = model.keys_at("switch", "next", self.rows)
        self.previous = model.keys_at("switch", "previous", self.rows)
        self.why = model.trace.values("switch", "why", self.rows)
        codes, place = np.unique(self.why, return_inverse=True)
        names = [model.trace.table.enum_name("switch", code) for code in codes.tolist()]
        self.reason = np.array(names, np.str_)[place] if names else np.empty(0, np.str_)
        cpu = model.trace.rows["cpu"][self.rows]
        self.bounds = np.searchsorted(cpu, np.arange(model.trace.cpus + 1))
        threads = model.threads
        self.who = np.array([t.index << 32 | t.life for t in threads] + [-1], np.int64)

    def own(self, cpu: int) -> slice:
        if cpu >= self.model.trace.cpus:
            return slice(0, 0)
        return slice(int(self.bounds[cpu]), int(self.bounds[cpu + 1]))

    def switch(self, cpu: int, number: int) -> Switch | None:
        place = self.own(cpu).start + number
        if place >= self.own(cpu).stop:
            return None
        labels = [thread.label for thread in self.model.threads] + ["-"]
        return Switch(
            number=number + 1,
            ns=int(self.model.ns[self.rows[place]]),
            why=self.model.trace.table.enum_name("switch", int(self.why[place])),
            previous=labels[int(self.previous[place])],
            next=labels[int(self.next[place])],
        )


def partings(first: Model, second: Model) -> list[Parting]:
    """For each CPU the first switch that differs."""
    left, right = _Switches(first), _Switches(second)
    found = []
    for cpu in range(max(first.trace.cpus, second.trace.cpus)):
        one, two = left.own(cpu), right.own(cpu)
        length = min(one.stop - one.start, two.stop - two.start)
        a, b = slice(one.start, one.start + length), slice(two.start, two.start + length)
        differs = left.who[left.next[a]] != right.who[right.next[b]]
        differs |= left.who[left.previous[a]] != right.who[right.previous[b]]
        differs |= left.reason[a] != right.reason[b]
        places = np.flatnonzero(differs)
        at = int(places[0]) if len(places) else length
        parting = Parting(cpu, at, left.switch(cpu, at), right.switch(cpu, at))
        if parting.first is not None or parting.second is not None:
            found.append(parting)
    return found


def draw(console: Console, found: Difference, most: int = 45) -> None:
    """For a terminal: where the switches part, then tables."""
    heads = [printable(name) for name in distinct(*map(Path, found.names))]
    for line in story(found):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    for title, pairs in (
        ("Events", found.counts),
        ("CPUs", found.cpus),
        ("Distributions", found.distributions),
        ("Threads by name", found.threads),
    ):
        rows = [_row(pair) for pair in pairs[:most]]
        hidden = len(pairs) - len(rows)
        note = f"{hidden:,} more rows: --json has all" if hidden else ""
        draw_table(console, Cells(title, ["", *heads, "second/first"], rows, note))


def _row(pair: Pair) -> list[str]:
    values = [
        duration(value) if pair.is_time else f"{value:,.0f}" for value in (pair.first, pair.second)
    ]
    return [pair.name, *values, "-" if pair.ratio is None else f"{pair.ratio:.3f}"]


def story(found: Difference) -> list[str]:
    """Where the switches part, in sentences."""
    if not found.partings:
        return ["The switches of all CPUs are the same."]
    heads = [printable(name) for name in distinct(*map(Path, found.names))]
    lines = ["The switches differ:"]
    for parting in found.partings:
        lines.append(f"  CPU {parting.cpu}: the first {parting.same:,} are the same, then")
        for name, switch in zip(heads, (parting.first, parting.second), strict=True):
            lines.append(f"    {name}: {switch if switch is not None else 'no more'}")
    return lines
