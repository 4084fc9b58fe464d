# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures asymmetric`: times by policy, and what the use of capacities
changes: whether it is a gain or a loss, and which CPUs' sleep or work it comes from."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pirn_tools.figures import markdown
from pirn_tools.figures.asymmetric import (
    APPS,
    CHIPS,
    PAIRS,
    POLICIES,
    PROGRAMS,
    Chip,
    Point,
    Points,
    What,
    ideal,
)

MARGIN = 0.02  # a smaller change is none


@dataclass(frozen=True)
class Change:
    """From a policy without capacities to the same with them, in a program on a chip. The parts, in
    cycles of the program's time, add up to the difference of the means of all seeds."""

    chip: str
    program: str
    policy: str
    ratio: float  # of the medians, with capacities and without
    verdict: str  # gain, loss, none
    fast: float  # by the sleep of fast CPUs
    slow: float  # by the sleep of slow CPUs
    awake: float  # by cycles in which CPUs do not sleep

    @property
    def reason(self) -> str:
        """The largest part that has the direction of the verdict."""
        if self.verdict == "none":
            return "-"
        sign = -1 if self.verdict == "gain" else 1
        parts = {
            "fast CPUs sleep": self.fast,
            "slow CPUs sleep": self.slow,
            "CPUs are awake": self.awake,
        }
        most = max(parts, key=lambda part: sign * parts[part])
        return f"{most} {'less' if sign < 0 else 'longer'}"


def mean(point: Point, name: str) -> float:
    return statistics.fmean(getattr(one, name) for one in point.samples)


def verdict_of(with_: Point, without: Point) -> str:
    """A gain or a loss is larger than the margin, and than the differences between seeds."""
    ratio = with_.median / without.median
    if ratio < 1 - MARGIN and max(with_.cycles) < min(without.cycles):
        return "gain"
    if ratio > 1 + MARGIN and min(with_.cycles) > max(without.cycles):
        return "loss"
    return "none"


def change(with_: Point, without: Point, chip: Chip, speeds: Mapping[int, float]) -> Change:
    """Time, multiplied by the speeds of all CPUs, is what they have slept and been awake."""
    each = chip.intervals
    all_ = sum(speeds[interval] for interval in each)

    def more(name: str) -> float:
        return mean(with_, name) - mean(without, name)

    fast = more("asleep_fast") / all_
    slow = more("asleep_slow") * speeds[max(each)] / all_
    return Change(
        chip.title,
        with_.what.program,
        without.what.policy,
        with_.median / without.median,
        verdict_of(with_, without),
        fast,
        slow,
        more("cycles") - fast - slow,
    )


def changes(
    found: Points, chip: Chip, titles: Sequence[str], speeds: Mapping[int, float]
) -> list[Change]:
    return [
        change(
            found[What(chip.title, title, policy)],
            found[What(chip.title, title, before)],
            chip,
            speeds,
        )
        for policy, before in PAIRS
        for title in titles
    ]


def cell(point: Point, least: float | None) -> str:
    low, high = (f"{bound / 1e3:.0f}" for bound in (min(point.cycles), max(point.cycles)))
    text = f"{point.median / 1e3:.0f}"
    if len(point.cycles) > 1:
        text += f" ({low} to {high})"
    return text if least is None else f"{text}, {least / point.median:.0%}"


def table(
    found: Points, chip: Chip, titles: Sequence[str], least: Mapping[tuple[str, str], float]
) -> str:
    rows = [
        [
            f"`{policy}`",
            *(
                cell(found[What(chip.title, title, policy)], least.get((chip.title, title)))
                for title in titles
            ),
        ]
        for policy in POLICIES
    ]
    return markdown.table(["policy", *titles], rows)


def change_table(all_: Sequence[Change]) -> str:
    head = ["policy", "program", "with capacities / without", "", "fast asleep", "slow asleep"]
    rows = [
        [
            f"`{one.policy}`",
            one.program,
            f"{one.ratio:.2f}",
            one.verdict,
            *(f"{part / 1e3:+.0f}" for part in (one.fast, one.slow, one.awake)),
            one.reason,
        ]
        for one in all_
    ]
    return markdown.table([*head, "awake", "why"], rows, left=(0, 1, 3, 7))


def of_verdict(mine: Sequence[Change], verdict: str) -> str:
    """gains in 2 of 8 cases (it needs 0.58 to 0.90 of the time, because fast CPUs sleep less)"""
    some = [one for one in mine if one.verdict == verdict]
    does = "gains" if verdict == "gain" else "loses"
    if not some:
        return f"{does} in none"
    low, high = (f"{bound(one.ratio for one in some):.2f}" for bound in (min, max))
    times = low if low == high else f"{low} to {high}"
    (why, most) = Counter(one.reason for one in some).most_common(1)[0]
    how = "because" if most == len(some) else "mostly because"
    cases = f"{len(some)} of {len(mine)} cases"
    return f"{does} in {cases} (it needs {times} of the time, {how} {why})"


def verdict(all_: Sequence[Change]) -> str:
    """Of all chips and programs."""
    parts = []
    losers = []
    for _, name in PAIRS:
        mine = [one for one in all_ if one.policy == name]
        parts.append(
            f"With capacities `{name}` {of_verdict(mine, 'gain')} and {of_verdict(mine, 'loss')}."
        )
        if any(one.verdict == "loss" for one in mine):
            losers.append(f"`{name}`")
    if losers:
        parts.append(
            f"Because of the losses of {markdown.joined(losers)} capacities are not used by "
            "default."
        )
    else:
        parts.append("No policy loses in any case.")
    return " ".join(parts)


def fastest(found: Points, chips: Sequence[Chip], titles: Sequence[str]) -> str:
    """How often each policy has the least time."""
    best: Counter[str] = Counter()
    for chip in chips:
        for title in titles:
            times = {p: found[What(chip.title, title, p)].median for p in POLICIES}
            best[min(times, key=lambda policy: times[policy])] += 1
    each = markdown.joined([f"`{policy}` in {n}" for policy, n in best.most_common()])
    return f"Of {best.total()} cases the fastest policy is {each}."


HEAD = """\
This page shows what a scheduler gains that knows the speeds of the cores, on chips whose cores have
different ones ([how](../internals/chip.md#parameters)). A slow core issues an instruction only
every N-th cycle. The programs are `bench/board/fork_join.c`, whose threads only compute, COMM and
MJPEG. With `capacity=on`, `steal` wakes the fastest sleeping CPU, leaves ready threads to faster
CPUs without work, and lets these take over threads that slower ones run; `dist` and `central` place
threads in proportion to capacity. Without it, which is the default, all CPUs are treated alike.

`dist` and `central` place the threads of `fork_join` in turn, and those of the applications by
loads that a run on one CPU has measured. Threads are preempted (`PIRN_PREEMPT=1`, the default of
POSIX threads): a take-over interrupts the slower CPU. A slow core has capacity 1/N."""

TABLES = """\
A cell has thousands of cycles: the median of the seeds of arbitration, and in brackets the least
and the most. After that, for threads that only compute, comes the share of the ideal: the time in
which the CPUs that can have threads would do the work if each computed all the time, at its
measured speed.

A change is a gain if it is more than {margin:.0%} and if all seeds with capacities are faster than
all without, and a loss if all are slower. The time of a program, multiplied by the sum of the CPUs'
speeds, is the time that they sleep and are awake, each multiplied by the CPU's speed. So the change
of the time is the sum of three parts, in thousands of cycles: fast CPUs sleep, slow CPUs sleep,
CPUs are awake (they execute the program and the scheduler, or look for work). The last column is
the largest part with the sign of the verdict. The parts come from the counters of whole
runs, with the start of the program, which is the same with capacities and without."""


def page(
    found: Points,
    step: float,
    speeds: Mapping[int, float],
    facts: Mapping[str, str],
    more: Sequence[str] = (),
) -> str:
    """step: cycles of a step on a fast core. speeds: by interval, as a share of a fast core's.
    more: sections at the end."""
    slow = [f"every {n} cycles {one:.2f}" for n, one in sorted(speeds.items()) if n > 1]
    chips = [chip for chip in CHIPS if any(what.chip == chip.title for what in found)]
    least = {
        (chip.title, program.title): ideal(chip, program, step, speeds)
        for chip in chips
        for program in PROGRAMS
    }
    measured = {what.program for what in found}
    groups = [[one.title for one in group if one.title in measured] for group in (PROGRAMS, APPS)]
    titles = [title for group in groups for title in group]
    of = {chip.title: changes(found, chip, titles, speeds) for chip in chips}
    parts = [
        markdown.begin("CPUs of different speeds", "asymmetric", "/asymmetric_page.py"),
        HEAD,
        markdown.facts(facts),
        f"Speed of a core in the loop of `fork_join`, as a share of a fast one: {', '.join(slow)}. "
        "A slow core loses less than its rate says, because a wrong prediction costs it less.",
        "## Verdict",
        verdict([one for all_ in of.values() for one in all_]),
        fastest(found, chips, titles),
        "## How to read the tables",
        TABLES.format(margin=MARGIN),
    ]
    for chip in chips:
        parts.append(f"## {chip.title}")
        parts += [table(found, chip, group, least) for group in groups if group]
        parts.append(change_table(of[chip.title]))
    return "\n\n".join([*parts, *more]) + "\n"
