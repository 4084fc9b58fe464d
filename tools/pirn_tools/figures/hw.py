# SPDX-License-Identifier: MIT
"""`pirn bench figures hw`: fine-grained threads under hardware and software schedulers.

Haddad and Cook, "Hardware-based scheduling and synchronization for light-weight, fine-grained
multi-threading". This module plans the runs and reads their results; hw_page.py writes the page,
hw_claims.py the verdicts on what the paper says, hw_differs.py what the paper's chip has otherwise.
"""

from __future__ import annotations

import csv
import itertools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from pirn_tools.chip import bare
from pirn_tools.chip.config import Config
from pirn_tools.chip.sweep import Result, Run
from pirn_tools.errors import UserError
from pirn_tools.figures import on_chip

THREADS_A_CORE = 4
QUEUE = 64
LATENCY = 32
COUNT = 1000
UNIT = 10  # instructions of a work unit
SEEDS, SEEDS_MOST = 5, 10
CYCLES = 60_000_000  # only for a scheduler that hangs
COST = 1000  # of a runtime, for each thread that enters or leaves its queue
HARTS = (4, 8, 12, 16, 20, 24, 28, 32)  # those of the paper

# The sweep that no paper has.
SWEPT_HARTS = (4, 8, 16, 32)
SWEPT_LATENCIES = (8, 32, 200)
SWEPT_UNITS = (1, 10, 50, 100, 300, 1000, 10_000)
HARDWARE = ("hard", "hard-tree")
SOFTWARE = ("deque-spawner", "deque-tree")
# Workloads that access a shared line, and their work units.
FIGURE3 = (("b", 50), ("c", 50), ("d", 100), ("e", 100))
# One queue for all workers: so slow that fewer threads have to do, but for the paper's baseline.
SLOW = ("lifo-backoff", "lifo-look", "lifo-look-backoff", "lifo-ticket", "lifo-mcs")
FEW = 200
FEWER_SEEDS = 3  # of one queue for all workers, whose runs are long
# Threads that all find room in the DTB.
ROOMY = (20, 60)

INSTRUCTIONS_A_RUN = 2_000_000
LEAST_COUNT = 64

# Student's t, two-sided, 95 %, by degrees of freedom.
T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


@dataclass(frozen=True)
class Case:
    """What is measured, once for each seed."""

    scheduler: str
    units: int
    harts: int
    workload: str = "a"
    threads: int = COUNT
    latency: int = LATENCY
    cost: int = 0
    each: int = THREADS_A_CORE  # hardware threads of a core


@dataclass(frozen=True)
class Point:
    """A run's results."""

    case: Case
    seed: int
    cycles: int
    mean: int  # cycles of a thread
    cores: tuple[int, ...]  # threads that each has run
    inlined: int
    rtu_overflows: int
    dtb_overflows: int
    recruits: int
    blocked: int
    # Cycles by what hardware threads did (--counters), over the whole program, its start included.
    parent_pipe: int  # of hart 0: an instruction in the pipeline, or it is another thread's turn
    parent_load: int  # of hart 0: waits for data
    lock: int  # of all: wait for a test-and-set lock
    device: int  # of all: wait for another device, as for the scheduler's registers
    atomic: int  # of all: wait for an atomic instruction


# What the program prints, besides `cores`.
PRINTED = (
    "cycles",
    "mean",
    "inlined",
    "rtu_overflows",
    "dtb_overflows",
    "recruits",
    "blocked",
)


def interval(values: Sequence[float]) -> float:
    """Half of the 95 % confidence interval of the mean; 0 for a single value."""
    if len(values) < 2:
        return 0.0
    quantile = T95[min(len(values) - 2, len(T95) - 1)]
    return quantile * statistics.stdev(values) / math.sqrt(len(values))


@dataclass
class Points:
    """All results, by case."""

    of: dict[Case, list[Point]] = field(default_factory=dict)

    def __contains__(self, case: Case) -> bool:
        return case in self.of

    def cycles(self, case: Case) -> float:
        return statistics.fmean(point.cycles for point in self.of[case])

    def error(self, case: Case) -> float:
        return interval([point.cycles for point in self.of[case]])

    def mean(self, case: Case, name: str) -> float:
        return float(statistics.fmean(getattr(point, name) for point in self.of[case]))

    def select(self, wanted: Iterable[Case]) -> list[Case]:
        return [case for case in wanted if case in self.of]


@dataclass(frozen=True)
class Plan:
    """Cases of each part of the page, and how many seeds."""

    harts: tuple[int, ...] = HARTS
    seeds: int = SEEDS
    swept_harts: tuple[int, ...] = SWEPT_HARTS
    latencies: tuple[int, ...] = SWEPT_LATENCIES
    swept_units: tuple[int, ...] = SWEPT_UNITS

    @property
    def most(self) -> int:
        return self.harts[-1]

    def figure2(self) -> list[Case]:
        return [Case("hard", u, h) for u, h in itertools.product((1, 10, 50), self.harts)]

    def parent(self) -> list[Case]:
        """The parent of the finest threads, with hardware threads beside it in its core, and
        without. The difference between two numbers of threads leaves out the start of the
        program."""
        return [
            self.lone(latency, each, threads)
            for latency, each in self.parents()
            for threads in (FEW, COUNT)
        ]

    def parents(self) -> list[tuple[int, int]]:
        """Latencies and hardware threads of a core. With a slow memory the few hardware threads of
        the other cores could not keep up with a parent that is alone in its core."""
        return [
            (latency, each)
            for latency in self.latencies
            for each in (THREADS_A_CORE, 1)
            if each > 1 or latency <= LATENCY
        ]

    def lone(self, latency: int, each: int, threads: int) -> Case:
        harts = self.most // THREADS_A_CORE * each
        return Case("hard", 1, harts, threads=threads, latency=latency, each=each)

    def passes(self) -> list[Case]:
        """A line goes from thread to thread: many parents, no work to speak of, room in the DTB."""
        return [Case("hard-tree", 1, self.most, "b", threads=threads) for threads in ROOMY]

    def figure3(self) -> list[Case]:
        """Conditional and ordinary accesses before the work, and after it."""
        return [
            Case("hard", units, harts, workload)
            for (workload, units), harts in itertools.product(FIGURE3, self.harts)
        ]

    def figure4(self) -> list[Case]:
        return [Case("mts", u, h) for u, h in itertools.product((1, 10, 50), self.harts)]

    def figure5(self) -> list[Case]:
        return [Case("mts", u, h) for u, h in itertools.product((400, 600), self.harts)]

    def comparison(self) -> list[Case]:
        """Every scheduler at the work unit of the paper's ratio."""
        every = [self.compared(name) for name in bare.SCHEDULERS]
        return [*every, self.modelled(), *(self.reference(case) for case in every)]

    def compared(self, name: str) -> Case:
        return Case(name, 50, self.most, threads=FEW if name in SLOW else COUNT)

    def reference(self, case: Case) -> Case:
        """The hardware scheduler with the same threads."""
        return Case("hard", case.units, case.harts, threads=case.threads)

    def modelled(self) -> Case:
        return Case("mts", 50, self.most, threads=FEW, cost=COST)

    def equal_time(self) -> list[Case]:
        """At twice the units a thread takes as long as the paper's."""
        return [Case(name, 100, self.most) for name in ("hard", "hard-tree", "mts", "deque-tree")]

    def fine(self) -> list[Case]:
        """The finest threads."""
        names = ("hard", "hard-tree", "take", "mts", "deque-spawner", "deque-tree")
        return [Case(name, u, self.most) for name, u in itertools.product(names, (1, 10))]

    def swept(self) -> list[Case]:
        """One seed each."""
        return [
            Case(name, units, harts, threads=count(units), latency=latency)
            for name, latency, harts, units in itertools.product(
                (*HARDWARE, *SOFTWARE), self.latencies, self.swept_harts, self.swept_units
            )
        ]

    def parts(self) -> dict[str, list[Case]]:
        """Of the page."""
        return {
            "Figure 2": [*self.figure2(), *self.parent()],
            "Figure 3": [*self.figure3(), *self.passes()],
            "Figure 4": self.figure4(),
            "Figure 5": self.figure5(),
            "hardware against software": [*self.comparison(), *self.equal_time()],
            "finest threads": self.fine(),
            "where hardware stops paying": self.swept(),
        }

    def seeded(self) -> list[Case]:
        parts = (self.figure2(), self.figure3(), self.comparison(), self.equal_time(), self.fine())
        return list(dict.fromkeys(itertools.chain(*parts, self.figure4())))

    def runs(self) -> list[tuple[Case, int]]:
        """Each case with each of its seeds, the first seed of all before the second."""
        every = [
            (case, seed)
            for case in (*self.seeded(), *self.figure5())
            for seed in range(1, min(self.seeds, FEWER_SEEDS if is_long(case) else SEEDS_MOST) + 1)
        ]
        every += [(case, 1) for case in (*self.swept(), *self.parent(), *self.passes())]
        return sorted(dict.fromkeys(every), key=lambda one: one[1])


def is_long(case: Case) -> bool:
    return case.scheduler in ("mts", *SLOW)


FULL = Plan()
SHORT = Plan((4, 8), 2, (4, 8), (8, 32), (1, 100))


def count(units: int) -> int:
    """Threads of a run of the sweep: fewer if each works long."""
    return max(LEAST_COUNT, min(COUNT, INSTRUCTIONS_A_RUN // (UNIT * units)))


def run_of(program: Path, case: Case, seed: int) -> Run:
    words = [
        f"scheduler={case.scheduler}",
        f"workload={case.workload}",
        f"threads={case.threads}",
        f"units={case.units}",
        f"seed={seed}",
    ]
    if case.cost:
        words.append(f"cost={case.cost}")
    return Run(
        program=program,
        config=Config(case.harts // case.each, case.each, scheduler=QUEUE),
        latency=case.latency,
        options=("--seed", str(seed), "--cycles", str(CYCLES)),
        words=tuple(words),
    )


def read(case: Case, seed: int, result: Result) -> Point:
    """What the program has printed, and the chip has counted."""
    rows = dict(line.split(" ", 1) for line in result.output.splitlines() if " " in line)
    try:
        numbers = {name: int(rows[name]) for name in PRINTED}
        cores = tuple(int(word) for word in rows["cores"].split())
    except (KeyError, ValueError) as error:
        raise UserError(f"{case}: not what threads prints ({error}): {result.output}") from None
    if sum(cores) != case.threads:
        raise UserError(f"{case}: the cores have run {sum(cores)} threads")
    parent = result.counters["harts"][0]
    return Point(
        case,
        seed,
        cores=cores,
        **numbers,
        parent_pipe=parent["pipe"],
        parent_load=parent["load"],
        lock=result.total("lock"),
        device=result.total("device"),
        atomic=result.total("atomic"),
    )


def points(runs: Mapping[Run, tuple[Case, int]], results: Mapping[Run, Result]) -> Points:
    found = Points()
    for run, (case, seed) in runs.items():
        found.of.setdefault(case, []).append(read(case, seed, results[run]))
    return found


def write_csv(path: Path, found: Points) -> None:
    of_case = list(Case.__dataclass_fields__)
    of_point = [name for name in Point.__dataclass_fields__ if name != "case"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*of_case, *of_point])
        for case, one in ((case, one) for case, each in found.of.items() for one in each):
            values = [getattr(one, name) for name in of_point]
            cells = [" ".join(map(str, v)) if isinstance(v, tuple) else v for v in values]
            writer.writerow([*(getattr(case, name) for name in of_case), *cells])


def facts(root: Path, results: Sequence[Result], plan: Plan, words: str) -> dict[str, str]:
    seeds = (
        "1 of arbitration and of victims"
        if plan.seeds == 1
        else (
            f"{plan.seeds} of arbitration and of victims "
            f"({min(plan.seeds, FEWER_SEEDS)} with one LIFO; Pirn has its own below); "
            "± is the 95 % confidence interval (Student's t)"
        )
    )
    chip = (
        f"{THREADS_A_CORE} hardware threads a core, 4 banks, queues of {QUEUE} "
        f"threads, latency of the second level {LATENCY} cycles if not said otherwise"
    )
    return on_chip.facts(
        root, f"hw{words}", chip, results, program="`bench/chip`, without Pirn", seeds=seeds
    )


def costs(
    plan: Plan, runs: Mapping[Run, tuple[Case, int]], results: Mapping[Run, Result]
) -> dict[str, list[Result]]:
    """The runs of each part of the page. A part has all runs of its cases."""
    return {
        name: [results[run] for run, (case, _) in runs.items() if case in cases]
        for name, cases in ((name, set(cases)) for name, cases in plan.parts().items())
    }


def reproduce(
    root: Path, folder: Path, jobs: int, seeds: int | None, short_: bool, console: Console
) -> None:
    from pirn_tools.figures import hw_page, hw_pirn, hw_plots

    plan = SHORT if short_ else FULL
    if seeds is not None:
        plan = replace(plan, seeds=seeds)
    words = (" --short" if short_ else "") + ("" if seeds is None else f" --seeds {seeds}")
    program = bare.image(root)
    runs = {run_of(program, case, seed): (case, seed) for case, seed in plan.runs()}
    results = on_chip.sweep(root, jobs).run(list(runs), console)
    found = points(runs, results)
    pirn = hw_pirn.measure(root, program, on_chip.sweep(root, jobs), plan, console)
    (folder / "img").mkdir(parents=True, exist_ok=True)
    write_csv(folder / "hw.csv", found)
    hw_pirn.write_csv(folder / "hw-pirn.csv", pirn)
    hw_plots.draw(found, plan, folder / "img")
    known = facts(root, list(results.values()), plan, words)
    spent = on_chip.costs(costs(plan, runs, results))
    text = hw_page.page(found, plan, known, spent, pirn)
    on_chip.write(folder / "hw.md", text + hw_pirn.section(pirn), console)
