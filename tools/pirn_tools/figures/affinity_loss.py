# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures affinity`: where affinity does not help, and why.

A case loses if A2S, mean + 2 sigma, is larger than without affinity. If the mean is larger, the
cause is where the time goes. If only sigma is, it is looked for in what is counted of the slowest
and of the fastest samples; what is not seen there is not guessed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pirn_tools.figures import markdown
from pirn_tools.figures.affinity_model import (
    DECLARED,
    FAMILIES,
    OLD,
    PLAIN,
    Point,
    Points,
    wavemix,
)
from pirn_tools.figures.affinity_thesis import BUFFERS, NEW_IMPROVEMENT, TOPOLOGIES
from pirn_tools.figures.affinity_words import a2s_gain, signed, sizes

LOSS = -0.005
UNKNOWN = "cause not found"

# ---- samples that differ ----

PARTS = 4  # the slowest quarter of the samples, and the fastest one
# A difference between these that counts: so many events by sample, and so many standard errors of
# its mean over the seeds.
LEAST, ERRORS = 0.25, 4.0
EVENTS = {
    "affinity-standard": "consumers that the policy places",
    "affinity-late": "consumers taken late",
    "affinity-pulls": "pulls",
    "affinity-pushes": "pushes",
}
MIGRATIONS = "migrations"  # counts if none of these does


@dataclass(frozen=True)
class Quarters:
    """Of a value: means of the slowest and of the fastest samples, for each seed."""

    slow: Sequence[float]
    fast: Sequence[float]

    @property
    def differences(self) -> list[float]:
        return [one - other for one, other in zip(self.slow, self.fast, strict=True)]

    @property
    def mean(self) -> float:
        return statistics.mean(self.differences)

    @property
    def clear(self) -> bool:
        each = self.differences
        if len(each) < 3 or abs(self.mean) < LEAST:
            return False
        error = statistics.stdev(each) / math.sqrt(len(each))
        return abs(self.mean) >= ERRORS * error

    @property
    def words(self) -> str:
        if not self.slow:
            return "-"
        slow, fast = statistics.mean(self.slow), statistics.mean(self.fast)
        return f"{slow:.2f} / {fast:.2f}"


def quarters(one: Point, name: str) -> Quarters:
    slow, fast = [], []
    for samples in one.samples:
        ordered = sorted(samples, key=lambda sample: sample.ns)
        number = max(1, len(ordered) // PARTS)
        fast.append(statistics.mean(sample.value(name) for sample in ordered[:number]))
        slow.append(statistics.mean(sample.value(name) for sample in ordered[-number:]))
    return Quarters(slow, fast)


def neighbours(one: Point) -> float:
    """The correlation of a sample's time with that of the next one: near -1 long and short ones
    alternate. The mean over the seeds."""
    each = []
    for samples in one.samples:
        times = [sample.ns for sample in samples]
        if len(set(times)) > 1:
            mean = statistics.mean(times)
            moved = [time - mean for time in times]
            product = sum(a * b for a, b in pairwise(moved))
            each.append(product / sum(a * a for a in moved))
    return statistics.mean(each) if each else 0.0


def cause(one: Point) -> str:
    """Of samples that differ more: the event whose number differs most between slow and fast."""
    for events in (EVENTS, {MIGRATIONS: MIGRATIONS}):
        each = [(quarters(one, name), title) for name, title in events.items()]
        clear = [(values.mean, title) for values, title in each if values.clear]
        if clear:
            differs, title = max(clear, key=lambda found: abs(found[0]))
            return f"slow ones have {'more' if differs > 0 else 'fewer'} {title}"
    return UNKNOWN


# ---- cases ----


@dataclass(frozen=True)
class Loss:
    """A rule with which A2S is larger than without."""

    topology: str
    kb: int
    way: str
    plain: str
    gain: float
    moved: tuple[float, float, float]  # of a sample, us: program's, runtime's memory time; idling
    deviates: bool  # the mean is not longer: only sigma is
    cause: str  # why samples differ

    @property
    def title(self) -> str:
        return f"{TOPOLOGIES[self.topology]}, {self.kb} KB"

    @property
    def reason(self) -> str:
        if self.deviates:
            return f"samples differ more: {self.cause}"
        names = ("more time in memory", "more time in the runtime's memory", "CPUs idle more")
        most, name = max(zip(self.moved, names, strict=True))
        return name if most > 0 else UNKNOWN


def lost(found: Points) -> list[Loss]:
    each = []
    for topology in TOPOLOGIES:
        for plain, rules in FAMILIES.items():
            for way in rules:
                for kb in BUFFERS:
                    gain = a2s_gain(found, way, plain, topology, kb)
                    if gain < LOSS:
                        ours, before = (found[wavemix(w, topology, kb)] for w in (way, plain))
                        each.append(
                            Loss(
                                *(topology, kb, way, plain, gain, moved(ours, before)),
                                ours.mean <= before.mean,
                                cause(ours),
                            )
                        )
    return each


def moved(ours: Point, before: Point) -> tuple[float, float, float]:
    program, runtime, idle = (
        (ours.by_sample(name) - before.by_sample(name)) / 1000
        for name in ("memory_ns", "runtime_memory_ns", "idle_ns")
    )
    return program, runtime, idle


def cases() -> int:
    return len(TOPOLOGIES) * len(BUFFERS) * sum(len(rules) for rules in FAMILIES.values())


# ---- the section ----


def losses(found: Points) -> list[str]:
    each = lost(found)
    rows = [
        [
            one.title,
            f"`{one.way}`",
            signed(one.gain),
            *(f"{value:+.1f}" for value in one.moved),
            one.reason,
        ]
        for one in each
    ]
    head = ["", "", "A2S", "memory", "runtime's memory", "idle", "mostly"]
    parts = [
        "## Where affinity does not help",
        "Cases of the model in which A2S is worse by at least 0.5 % than under the policy without "
        "affinity; and what "
        "changed, in microseconds of a sample, summed over the CPUs: time of the program's "
        "accesses, of the runtime's, and without work.",
        markdown.table(head, rows, left=(0, 1, 6)) if rows else "There is none.",
        f"That is {len(each)} of {cases()} cases.",
        *differing(found, [one for one in each if one.deviates]),
        xeon_words(found),
    ]
    if any(one.way == OLD for one in each):
        parts.append(
            "The old rule binds a consumer to a CPU whatever that CPU runs, and no other CPU may "
            "take it: CPUs idle while it waits."
        )
    parts.append(
        "Affinity does not help either where the plain policy already runs consumers behind their "
        "producers (pairs under `steal`), and where data is larger than the caches that a "
        "producer leaves behind."
    )
    return parts


def differing(found: Points, each: Sequence[Loss]) -> list[str]:
    """The slow and the fast samples of cases in which samples differ more."""
    if not each:
        return []
    rows = []
    for one in each:
        ours = found[wavemix(one.way, one.topology, one.kb)]
        time, idle, memory = (
            quarters(ours, name) for name in ("mean_ns", "idle_ns", "memory_ns")
        )  # fmt: skip
        cells = [f"{value.mean / 1000:+.1f}" for value in (time, idle, memory)]
        cells += [quarters(ours, name).words for name in (*EVENTS, MIGRATIONS)]
        rows.append([one.title, f"`{one.way}`", *cells, f"{neighbours(ours):+.2f}"])
    head = ["", "", "time", "idle", "memory", "standard", "late", "pulls", "pushes", "migrations"]
    unknown = [one for one in each if one.cause == UNKNOWN]
    parts = [
        f"In {len(each)} of them the mean is no longer, but samples differ more. For these the "
        "table has the slowest quarter of a run's samples beside the fastest one. Time of a "
        "sample, time without work and of the program's accesses, both summed over the CPUs: how "
        "much more in the slow ones, microseconds. Counts of a sample: slow / fast. A count is "
        f"taken for the cause if it differs by at least {LEAST} and by {ERRORS:.0f} standard "
        "errors over the seeds. The last column is the correlation of a sample's time with the "
        "next one's: near -1 long and short samples alternate, so what one loses the next one "
        "gains.",
        markdown.table([*head, "next sample"], rows, left=(0, 1)),
    ]
    if unknown:
        parts.append(
            f"In {len(unknown)} of them no count differs clearly: what is recorded does not say "
            "why samples differ."
        )
    return parts


def xeon_words(found: Points) -> str:
    kb = BUFFERS[0]
    here = [
        (way, a2s_gain(found, way, plain, "xeon", kb))
        for way, plain in ((DECLARED, PLAIN), ("single:affinity=declared", "single"))
    ]
    said = ", ".join(f"`{way}` {signed(gain)}" for way, gain in here)
    fewer = [way for way, gain in here if gain < 0]
    close = (
        f"`{markdown.joined(fewer)}` shows such a loss."
        if fewer
        else "The model shows no such loss."
    )
    return (
        f"The thesis' case is the Xeon with {sizes([kb])}: {signed(NEW_IMPROVEMENT['xeon'][kb])}. "
        "Its reasons are that a mixer which changes dies warms up another cache, and that pulls "
        f"take long beside so little work. Here: {said}. {close}"
    )
