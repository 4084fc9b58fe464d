# SPDX-License-Identifier: MIT
"""Part of `pirn bench figures hw`: its workloads with threads of Pirn, under Pirn's policies."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from pirn_tools.chip.config import Config
from pirn_tools.chip.sweep import Result, Run, Sweep
from pirn_tools.errors import UserError
from pirn_tools.figures import hw, markdown, mips
from pirn_tools.figures.hw_results import quotient, ratio, with_error

PROGRAM = "many_threads"
POLICIES = ("steal", "single", "central", "dist", "request", "hw")
HARTS = (4, 32)  # those of the plan; of a short one, the fewest
THREADS = 100  # few, for a thread takes thousands of cycles to create
STACK_KIB = 16  # the smallest of the board's library
SEEDS = 1  # of arbitration: all runs of one seed take half an hour of one CPU


@dataclass(frozen=True)
class Work:
    """What threads do, and who creates them."""

    workload: str
    units: int
    tree: bool = False

    @property
    def title(self) -> str:
        by = ", threads create threads" if self.tree else ""
        return f"Workload {self.workload.upper()}, unit {self.units}{by}"

    @property
    def references(self) -> tuple[str, ...]:
        """Schedulers of bench/chip. Those in software have no conditional accesses."""
        names = ("hard-tree", "deque-tree") if self.tree else ("hard", "deque-spawner")
        return names[:1] if self.workload == "b" else names


WORKS = (
    Work("a", 1),
    Work("a", 1, tree=True),
    Work("a", 50),
    Work("a", 50, tree=True),
    Work("b", 50),
    Work("c", 50),
)


@dataclass(frozen=True)
class What:
    """policy: of Pirn's."""

    work: Work
    policy: str
    harts: int


@dataclass(frozen=True)
class Count:
    """What a run has printed, in cycles: of the first round, the second, and a thread."""

    seed: int
    first: int
    cycles: int
    mean: int
    cores: tuple[int, ...]  # threads that each has run


@dataclass(frozen=True)
class Found:
    pirn: Mapping[What, Sequence[Count]]  # a run for each seed
    bare: hw.Points  # of bench/chip
    seconds: float  # of the simulation

    def harts(self) -> list[int]:
        return sorted({what.harts for what in self.pirn})

    def cycles(self, what: What) -> float:
        return statistics.fmean(count.cycles for count in self.pirn[what])

    def error(self, what: What) -> float:
        return hw.interval([count.cycles for count in self.pirn[what]])

    def ratio(self, what: What, name: str) -> tuple[float, float]:
        """To a scheduler of bench/chip, with its interval."""
        base = reference(what.work, name, what.harts)
        errors = self.error(what), self.bare.error(base)
        return quotient(self.cycles(what), errors[0], self.bare.cycles(base), errors[1])

    def by_policy(self, work: Work, harts: int) -> dict[str, float]:
        return {
            what.policy: self.cycles(what)
            for what in self.pirn
            if (what.work, what.harts) == (work, harts)
        }

    def fastest(self, work: Work, harts: int) -> What:
        policies = self.by_policy(work, harts)
        return What(work, min(policies, key=lambda name: policies[name]), harts)


def harts_of(plan: hw.Plan) -> tuple[int, ...]:
    both = tuple(n for n in HARTS if n in plan.harts)
    return both if plan.most == HARTS[-1] else both[:1]


def seeds_of(plan: hw.Plan) -> range:
    return range(1, min(plan.seeds, SEEDS) + 1)


def plan_of(harts: Sequence[int]) -> list[What]:
    return [What(work, policy, n) for work in WORKS for policy in POLICIES for n in harts]


def references(harts: Sequence[int]) -> list[hw.Case]:
    return [reference(work, name, n) for work in WORKS for name in work.references for n in harts]


def reference(work: Work, name: str, harts: int) -> hw.Case:
    return hw.Case(name, work.units, harts, work.workload, threads=THREADS)


def run_of(program: Path, what: What, seed: int) -> Run:
    """The chip has the hardware scheduler under all policies."""
    work = what.work
    return Run(
        program=program,
        config=Config(
            what.harts // hw.THREADS_A_CORE,
            hw.THREADS_A_CORE,
            ram_mib=mips.RAM_MIB,
            scheduler=hw.QUEUE,
        ),
        latency=hw.LATENCY,
        options=("--seed", str(seed), "--cycles", str(hw.CYCLES)),
        settings=(
            f"PIRN_SCHED={what.policy}",
            "PIRN_PREEMPT=0",
            f"PIRN_STACK={STACK_KIB * 1024}",
        ),
        words=(
            f"--workload={work.workload}",
            f"--units={work.units}",
            f"--threads={THREADS}",
            *(["--tree"] if work.tree else []),
        ),
    )


def read(what: What, seed: int, output: str) -> Count:
    rows = dict(line.split(" ", 1) for line in output.splitlines() if " " in line)
    try:
        first, cycles, mean = (int(rows[name]) for name in ("first", "cycles", "mean"))
        cores = tuple(int(word) for word in rows["cores"].split())
    except (KeyError, ValueError) as error:
        raise UserError(f"{what}: not what {PROGRAM} prints ({error}): {output}") from None
    if sum(cores) != THREADS:
        raise UserError(f"{what}: the cores have run {sum(cores)} threads")
    return Count(seed, first, cycles, mean, cores)


def measure(root: Path, bare: Path, sweep: Sweep, plan: hw.Plan, console: Console) -> Found:
    """bare: the program of bench/chip."""
    folder = mips.build(root, mips.BOARD, [PROGRAM])
    program = folder / "bench" / "board" / f"{PROGRAM}.elf"
    harts = harts_of(plan)
    seeds = seeds_of(plan)
    what = {run_of(program, one, seed): (one, seed) for one in plan_of(harts) for seed in seeds}
    cases = {hw.run_of(bare, c, seed): (c, seed) for c in references(harts) for seed in seeds}
    results: dict[Run, Result] = sweep.run([*what, *cases], console)
    counts: dict[What, list[Count]] = {}
    for run, (one, seed) in what.items():
        counts.setdefault(one, []).append(read(one, seed, results[run].output))
    seconds = sum(result.seconds for result in results.values())
    return Found(counts, hw.points(cases, results), seconds)


def write_csv(path: Path, found: Found) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        head = ["policy", "workload", "units", "tree", "harts", "threads", "seed"]
        writer.writerow([*head, "first", "cycles", "mean", "cores"])
        for what, count in ((what, one) for what, each in found.pirn.items() for one in each):
            work = what.work
            of_work = [work.workload, work.units, int(work.tree)]
            cores = " ".join(map(str, count.cores))
            values = [count.first, count.cycles, count.mean, cores]
            writer.writerow([what.policy, *of_work, what.harts, THREADS, count.seed, *values])


# ---- the page


COMPARED = Work("a", 50)


def compared(found: Found, harts: int) -> list[What]:
    """For the table of all schedulers: each policy, with one creator; and the fastest in which
    threads create threads. None if they were not measured with so many hardware threads."""
    tree = replace(COMPARED, tree=True)
    if not found.by_policy(tree, harts):
        return []
    return [*(What(COMPARED, policy, harts) for policy in POLICIES), found.fastest(tree, harts)]


def compared_verdict(found: Found, harts: int) -> str:
    """How Pirn compares with the hardware."""
    what = compared(found, harts)
    if not what:
        return ""
    one, many = found.fastest(COMPARED, harts), what[-1]
    return (
        f"Threads of Pirn, which have stacks and can wait anywhere, need at least "
        f"{with_error(*found.ratio(one, 'hard'), 1)} times the cycles of `hard` with {THREADS} "
        f"threads (policy `{one.policy}`), and {with_error(*found.ratio(many, 'hard'), 1)} times "
        f"if threads create threads (`{many.policy}`)."
    )


TEXT = """\
Above, Pirn is not there: a thread is a body of 8 registers, which a worker calls. Here threads are
those of Pirn's native API (`bench/board/{program}.c`, on the board `pirn-soc`), on the same chip,
with the same work. Such a thread is more:

- It has a stack of {stack} KiB, the smallest of this library, a descriptor and an id. It can wait
  anywhere, and then keeps all registers that a call keeps; to begin and to end it, its CPU
  switches stacks.
- The library is the board's whole one, which can trace, profile, cancel and preempt, although
  nothing of that is in use (`PIRN_PREEMPT=0`).

Threads are detached: nobody joins them, and a semaphore wakes the main thread after the last one.
So its hardware thread runs threads, too, as a worker's. In workload B they use a Full/Empty word
of the API, for which only policy `hw` waits in the hardware. Cycles are those of the second of two
rounds; `hw-pirn.csv` has both. A CPU keeps the stacks of threads that end on it, and a single
creator on another CPU does not get them back, so it makes most stacks anew in both rounds.

A run has {threads} threads in place of 1,000, so that the runs do not take too long, and so have
the runs of `bench/chip` beside it. Each has {seeds} of arbitration; with several, ± is the 95 %
confidence interval (Student's t).
The chips have the hardware scheduler under all policies; only `hw` uses it. Thousand cycles:"""


def rows_of(found: Found, work: Work) -> list[list[str]]:
    """The last cell: against the hardware scheduler of bench/chip, on the most hardware threads."""
    harts, base = found.harts(), work.references[0]
    rows = []
    for name in work.references:
        cases = [reference(work, name, n) for n in harts]
        to_base = ratio(found.bare, cases[-1], reference(work, base, harts[-1]))
        each = [(found.bare.cycles(case), found.bare.error(case)) for case in cases]
        rows.append(row(f"`{name}`", each, to_base))
    for policy in POLICIES:
        what = [What(work, policy, n) for n in harts]
        each = [(found.cycles(one), found.error(one)) for one in what]
        rows.append(row(f"Pirn, `{policy}`", each, found.ratio(what[-1], base)))
    return rows


def row(
    name: str, cycles: Sequence[tuple[float, float]], to_base: tuple[float, float]
) -> list[str]:
    """Cycles and the ratio have intervals."""
    cells = (with_error(value / 1000, error / 1000, 1) for value, error in cycles)
    return [name, *cells, with_error(*to_base)]


def table(found: Found, work: Work) -> str:
    harts = [f"{n} harts" for n in found.harts()]
    return markdown.table(
        ["scheduler", *harts, f"times `{work.references[0]}`"], rows_of(found, work)
    )


def verdict(found: Found, work: Work) -> str:
    few, most = found.harts()[0], found.harts()[-1]
    policies = found.by_policy(work, most)
    what = found.fastest(work, most)
    best = what.policy
    worst = max(policies, key=lambda name: policies[name])
    each = policies[best] / THREADS
    parts = [
        f"With {most} hardware threads `{best}` is the fastest policy: {each:,.0f} cycles a thread",
        *(f"{with_error(*found.ratio(what, name), 1)} times `{name}`" for name in work.references),
    ]
    text = f"{', '.join(parts)}. `{worst}`, the slowest, takes "
    text += f"{policies[worst] / policies[best]:.1f} times as long."
    if few != most:
        times = found.by_policy(work, few)[best] / policies[best]
        text += (
            f" `{best}` is {times:.1f} times as fast with {most} hardware threads as with {few}."
        )
    return text


def section(found: Found) -> str:
    parts = [
        "## Pirn's policies",
        TEXT.format(
            program=PROGRAM,
            stack=STACK_KIB,
            threads=THREADS,
            seeds=markdown.counted(len(next(iter(found.pirn.values()))), "seed"),
        ),
    ]
    for work in WORKS:
        parts += [f"### {work.title}", table(found, work), verdict(found, work)]
    runs = sum(len(each) for each in (*found.pirn.values(), *found.bare.of.values()))
    parts.append(
        f"These {runs} runs took {found.seconds / 60:.1f} minutes of simulation, the sum over all, "
        "beside other work."
    )
    return "\n" + "\n\n".join(parts) + "\n"
