# SPDX-License-Identifier: MIT
"""`pirn bench figures cache-aware`: the policies gate, groups and fair, each with and without, on a
model of caches, beside a thesis' survey of the policies that they follow.

tests/sim/model/aware.c has the cases and prints what each thread did; this module makes the page.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from pirn_tools import machine, paths
from pirn_tools.errors import UserError
from pirn_tools.figures import markdown, on_chip
from pirn_tools.figures.affinity_survey import run
from pirn_tools.figures.affinity_words import Claim, claims, judged

PROGRAM = Path("tests") / "sim" / "model" / "pirn-sim-aware"
SEEDS, SHORT_SEEDS = 10, 2
JOBS, DEADLINES, THREE, PRIVATE, SHARED = "jobs", "deadlines", "three", "private", "shared"
MODEST, HUNGRY = "modest", "hungry"
EQUAL, FAIR = "equal", "fair"
CASES = (
    *(JOBS, DEADLINES, THREE, PRIVATE, SHARED),
    *(f"{beside}, {slices}" for beside in (MODEST, HUNGRY) for slices in (EQUAL, FAIR)),
)


@dataclass(frozen=True)
class Row:
    """What one thread did in a run. Times in ns; n: jobs or rounds that were counted."""

    thread: str
    n: int
    late: int
    sum_ns: float
    squares: float
    worst_ns: float
    lines: int
    misses: int
    l2_misses: int
    first_ns: int
    end_ns: int
    run_ns: int


@dataclass(frozen=True)
class Found:
    """Rows by case, way and seed, in the program's order."""

    runs: Mapping[tuple[str, str, int], Sequence[Row]]

    def ways(self, case: str) -> list[str]:
        return list(dict.fromkeys(way for one, way, _ in self.runs if one == case))

    def seeds(self, case: str, way: str) -> list[Sequence[Row]]:
        return [rows for (one, by, _), rows in self.runs.items() if (one, by) == (case, way)]

    def of(self, case: str, way: str, thread: str) -> list[Row]:
        """A thread's row of each seed."""
        each = self.seeds(case, way)
        return [row for rows in each for row in rows if row.thread == thread]

    def threads(self, case: str) -> list[str]:
        return [row.thread for row in self.seeds(case, self.ways(case)[0])[0]]


def parse(text: str) -> Found:
    runs: dict[tuple[str, str, int], list[Row]] = {}
    for line in csv.DictReader(text.splitlines()):
        row = Row(
            thread=line["thread"],
            sum_ns=float(line["sum_ns"]),
            squares=float(line["squares"]),
            worst_ns=float(line["worst_ns"]),
            n=int(line["n"]),
            late=int(line["late"]),
            lines=int(line["lines"]),
            misses=int(line["misses"]),
            l2_misses=int(line["l2_misses"]),
            first_ns=int(line["first_ns"]),
            end_ns=int(line["end_ns"]),
            run_ns=int(line["run_ns"]),
        )
        runs.setdefault((line["case"], line["way"], int(line["seed"])), []).append(row)
    missing = [case for case in CASES if case not in {one for one, _, _ in runs}]
    if missing:
        raise UserError(f"{PROGRAM.name} printed nothing of: {', '.join(missing)}")
    return Found(runs)


# ---- values, over all seeds ----


def mean(rows: Sequence[Row]) -> float:
    """Of a job or round, in microseconds."""
    return sum(row.sum_ns for row in rows) / sum(row.n for row in rows) / 1000


def sigma(rows: Sequence[Row]) -> float:
    n = sum(row.n for row in rows)
    average = sum(row.sum_ns for row in rows) / n
    return math.sqrt(max(0.0, sum(row.squares for row in rows) / n - average**2)) / 1000


def worst(rows: Sequence[Row]) -> float:
    return max(row.worst_ns for row in rows) / 1000


def by_job(rows: Sequence[Row], value: Callable[[Row], int]) -> float:
    return sum(value(row) for row in rows) / sum(row.n for row in rows)


def misses(row: Row) -> int:
    return row.misses


def l2_misses(row: Row) -> int:
    return row.l2_misses


def ends(found: Found, case: str, way: str) -> float:
    """When the last thread ended, mean of the seeds, in ms."""
    each = found.seeds(case, way)
    return sum(max(row.end_ns for row in rows) for rows in each) / len(each) / 1e6


def total(found: Found, case: str, way: str, value: Callable[[Row], int]) -> float:
    """Over all threads, by round."""
    return by_job([row for rows in found.seeds(case, way) for row in rows], value)


def everyone(found: Found, case: str, value: Callable[[Sequence[Row]], float]) -> list[bool]:
    """Of each thread: is the value smaller with the policy than without?"""
    without, policy = found.ways(case)
    return [
        value(found.of(case, policy, thread)) < value(found.of(case, without, thread))
        for thread in found.threads(case)
    ]


# ---- the page ----


def job_table(found: Found, case: str) -> str:
    head = ["", "policy", "time of a job, µs", "sigma", "worst", "misses of a job", "late jobs"]
    rows = []
    for thread in found.threads(case):
        for way in found.ways(case):
            each = found.of(case, way, thread)
            rows.append(
                [
                    thread,
                    f"`{way}`",
                    f"{mean(each):,.0f}",
                    f"{sigma(each):,.0f}",
                    f"{worst(each):,.0f}",
                    f"{by_job(each, misses):,.0f}",
                    f"{sum(row.late for row in each) / len(each):.1f}",
                ]
            )
    return markdown.table(head, rows, left=(0, 1))


def waits_for_third(found: Found) -> Claim:
    """At time 0."""
    gate = found.ways(JOBS)[1]
    third, fourth = found.of(JOBS, gate, "T3"), found.of(JOBS, gate, "T4")
    first, second = found.of(JOBS, gate, "T1"), found.of(JOBS, gate, "T2")
    pairs = list(zip(third, fourth, first, second, strict=True))
    # The third core is idle meanwhile: T3 begins long after the others.
    order = [
        four.first_ns > three.first_ns > 100 * max(one.first_ns, two.first_ns)
        for three, four, one, two in pairs
    ]
    return Claim(
        "Figure 2.4: at time 0 J4 cannot run, because J3 has a higher priority and does not fit",
        f"J3 begins at {third[0].first_ns / 1e6:.2f} ms, when a job before it has ended, J4 at "
        f"{fourth[0].first_ns / 1e6:.2f} ms; until then one of three cores is idle (seed 1)",
        judged(order),
    )


def late(found: Found, case: str, way: str) -> float:
    each = found.seeds(case, way)
    return sum(row.late for rows in each for row in rows) / len(each)


def job_claims(found: Found, case: str) -> list[Claim]:
    without, gate = found.ways(case)
    before, after = late(found, case, without), late(found, case, gate)
    steadier = everyone(found, case, sigma)
    fewer = everyone(found, case, lambda rows: by_job(rows, misses))
    threads = found.threads(case)

    def named(each: Sequence[bool]) -> str:
        chosen = [thread for thread, true in zip(threads, each, strict=True) if true]
        return markdown.joined(chosen) if chosen else "none"

    return [
        Claim(
            "Threads find room in the cache: no thrashing",
            f"fewer misses of a job: {named(fewer)}",
            judged(fewer),
        ),
        Claim(
            "So each execution time is more nearly constant",
            f"a smaller sigma: {named(steadier)}",
            judged(steadier),
        ),
        Claim(
            "Drawback: a core may be idle, which degrades throughput",
            f"late jobs in a run: {after:.1f} with the gate, {before:.1f} without",
            judged([after > before]),
        ),
    ]


def three_claims(found: Found) -> list[Claim]:
    without, gate = found.ways(THREE)
    spread = everyone(found, THREE, sigma)
    less = everyone(found, THREE, lambda rows: by_job(rows, misses))
    return [
        Claim(
            "A beside B does not fit and thrashes; A beside C, and B beside C, do",
            f"misses of a round, A, B and C: {three_misses(found, without)} without, "
            f"{three_misses(found, gate)} with the gate",
            judged(less),
        ),
        Claim(
            "How long a task takes depends on which task runs beside it",
            f"sigma of a round, A, B and C: {three_sigma(found, without)} µs without, "
            f"{three_sigma(found, gate)} µs with the gate",
            judged(spread),
        ),
        Claim(
            "The gate may waste a core",
            f"all end after {ends(found, THREE, gate):.1f} ms with it, "
            f"{ends(found, THREE, without):.1f} ms without",
            judged([ends(found, THREE, gate) > ends(found, THREE, without)]),
        ),
    ]


def three_misses(found: Found, way: str) -> str:
    each = [by_job(found.of(THREE, way, one), misses) for one in found.threads(THREE)]
    return markdown.joined([f"{one:,.0f}" for one in each])


def three_sigma(found: Found, way: str) -> str:
    each = [sigma(found.of(THREE, way, one)) for one in found.threads(THREE)]
    return markdown.joined([f"{one:,.0f}" for one in each])


def progress(found: Found, beside: str, slices: str) -> list[int]:
    """Lines that A went through, of each seed."""
    return [row.lines for row in found.of(f"{beside}, {slices}", "fair", "A")]


def losses(found: Found, slices: str) -> list[float]:
    """Of each seed, percent: what a hungry neighbour costs A."""
    pairs = zip(progress(found, MODEST, slices), progress(found, HUNGRY, slices), strict=True)
    return [100 * (1 - hungry / modest) for modest, hungry in pairs]


def fair_table(found: Found) -> str:
    rows = []
    for slices in (EQUAL, FAIR):
        for beside in (MODEST, HUNGRY):
            each = found.of(f"{beside}, {slices}", "fair", "A")
            n = len(each)
            rows.append(
                [
                    f"{slices} slices",
                    beside,
                    f"{sum(row.lines for row in each) / n / 1000:,.0f}",
                    f"{100 * sum(row.misses for row in each) / sum(row.lines for row in each):.1f}",
                    f"{sum(row.run_ns for row in each) / n / 1e6:.0f}",
                ]
            )
    head = ["A has", "neighbour", "lines, thousands", "misses, %", "time on CPUs, ms"]
    return markdown.table(head, rows, left=(0, 1))


def fair_claims(found: Found) -> list[Claim]:
    equal, fair = losses(found, EQUAL), losses(found, FAIR)
    average = [sum(each) / len(each) for each in (equal, fair)]
    longer = [
        hungry.run_ns > modest.run_ns
        for hungry, modest in zip(
            found.of(f"{HUNGRY}, {FAIR}", "fair", "A"),
            found.of(f"{MODEST}, {FAIR}", "fair", "A"),
            strict=True,
        )
    ]
    smaller = [one < other for one, other in zip(fair, equal, strict=True)]
    as_fast = average[1] < 5
    return [
        Claim(
            "Figure 2.7 c: the task that gets too little of the cache gets more time",
            f"A runs for longer beside the hungry neighbour in {sum(longer)} of {len(longer)} runs",
            judged(longer),
        ),
        Claim(
            "So it makes progress as with a fair share, whoever is beside it",
            f"the hungry neighbour costs {average[1]:.1f} % of A's progress ({min(fair):.1f} to "
            f"{max(fair):.1f}), with equal slices {average[0]:.1f} % ({min(equal):.1f} to "
            f"{max(equal):.1f}); it is yes below 5 %",
            "yes" if as_fast else "in part" if all(smaller) else judged(smaller),
        ),
    ]


def group_table(found: Found) -> str:
    rows = []
    for case, what in ((PRIVATE, "4 groups of 4"), (SHARED, "8 groups of 3")):
        for way in found.ways(case):
            each = [row for run_ in found.seeds(case, way) for row in run_]
            rows.append(
                [
                    what,
                    f"`{way}`",
                    f"{total(found, case, way, l2_misses):,.0f}" if case == PRIVATE else "",
                    f"{total(found, case, way, misses):,.0f}",
                    f"{mean(each):.1f}",
                    f"{ends(found, case, way):.2f}",
                ]
            )
    head = ["", "policy", "L2 misses of a round", "LLC misses", "time of a round, µs", "end, ms"]
    return markdown.table(head, rows, left=(0, 1))


def group_claims(found: Found) -> list[Claim]:
    plain, home = found.ways(PRIVATE)
    single, none = found.ways(SHARED)
    by_l2 = [total(found, PRIVATE, way, l2_misses) for way in (plain, home)]
    by_llc = [total(found, SHARED, way, misses) for way in (single, none)]
    end = [ends(found, PRIVATE, way) for way in (plain, home)]
    return [
        Claim(
            "Tasks that share data run on one CPU: more reuse in private caches",
            f"L2 misses of a round: {by_l2[1]:,.0f}, {by_l2[0]:,.0f} without; all end after "
            f"{end[1]:.2f} ms, {end[0]:.2f} ms without",
            judged([by_l2[1] < by_l2[0], end[1] < end[0]]),
        ),
        Claim(
            "Tasks of different groups that fit run at once: more reuse in the shared cache",
            f"LLC misses of a round: {by_llc[1]:,.0f}, {by_llc[0]:,.0f} without",
            judged([by_llc[1] < by_llc[0]]),
        ),
    ]


HEAD = """\
Three policies choose threads by what they demand of a cache that CPUs share
([guide](../guide/cache-aware.md)). A [thesis](../STATUS.md#a-task-affinity) surveys, in chapter 2,
the policies of others that they follow. It has no measurements of them, only what they do and what
that is good for. Here its examples run with each policy and without, on a
[model of caches](../internals/model.md) with latencies of a Core i7 870. The text's statements are
beside what was found. `make cache-aware-doc` makes the page again; the model gives the same figures
for the same build, and slightly others for another build, whose data has other addresses."""

GATE = """\
## gate: Table 2.1 on fixed priorities

Four tasks with periods of 3, 4, 5 and 8 ms, costs of 2, 3, 3 and 3 ms and working sets of 1, 2, 2
and 1 units of 56 KB, on three cores with a shared cache of 256 KB, of which `gate` gives out four
units. A job goes through its data again and again, as often as fills its cost if all of it is in
the cache. {horizon} ms; a task's first job is not counted. Times are those on CPUs.

A gate keeps apart what runs at the same time. It does not keep what a job has left in the cache for
the task's next job: all four tasks together use six units. A job whose data others have evicted
meanwhile brings it back first."""

DEADLINES_HEAD = """\
## gate: the same tasks by deadlines

`order=edf`: late threads by deadline, the others by their working sets. Without the policy threads
go by arrival."""

THREE_HEAD = """\
## gate: three tasks on two cores

The example of the thesis' summary: A, B and C use 512, 768 and 256 KB of a cache of 1 MB, on two
cores. Here they use 112, 168 and 56 KB of 256. Each goes through its data eight times, yields, and
so on, 30 times."""

FAIR_HEAD = """\
## fair: Figure 2.7

A goes through up to 192 KB, on two cores with a shared cache of 256 KB, beside a modest neighbour
(32 KB) or a hungry one (512 KB), and two threads that only compute pay for longer slices. Ticks of
1 ms, slices of 4 ms, 300 ms."""

GROUPS_HEAD = """\
## groups: Figures 2.9 and 2.10

Four cores; the threads of a group read the same 48 KB, 30 times, and yield in between. First with
private L2 caches of 64 KB and a shared one of 1 MB; then with a shared cache of 256 KB alone."""


def page(found: Found, facts: Mapping[str, str]) -> str:
    parts = [
        markdown.begin("Cache-aware policies", "cache-aware", "/cache_aware.py"),
        HEAD,
        markdown.facts(facts),
        GATE.format(horizon=40),
        job_table(found, JOBS),
        claims([waits_for_third(found), *job_claims(found, JOBS)]),
        DEADLINES_HEAD,
        job_table(found, DEADLINES),
        claims(job_claims(found, DEADLINES)),
        THREE_HEAD,
        claims(three_claims(found)),
        FAIR_HEAD,
        fair_table(found),
        claims(fair_claims(found)),
        GROUPS_HEAD,
        group_table(found),
        claims(group_claims(found)),
    ]
    return "\n\n".join(parts) + "\n"


def reproduce(root: Path, folder: Path, jobs: int, short: bool, console: Console) -> None:
    """One program, so `jobs` does not matter."""
    del jobs
    build = paths.build_dir(root)
    program = build / PROGRAM
    if not os.access(program, os.X_OK):
        raise UserError(f"not built: {program.name}; build first (make build-release)")
    seeds = SHORT_SEEDS if short else SEEDS
    done = run(program, f"--seeds={seeds}")
    if done.returncode != 0:
        raise UserError(f"status {done.returncode}: {program.name}\n{done.stderr.strip()}")
    folder.mkdir(parents=True, exist_ok=True)
    facts = {
        "command": f"`pirn bench figures cache-aware{' --short' if short else ''}`",
        "commit": machine.commit(root),
        "model": f"`{program.name}`, seeds 1 to {seeds}",
        "compiler": machine.compiler(build),
    }
    on_chip.write(folder / "cache-aware.md", page(parse(done.stdout), facts), console)
