# SPDX-License-Identifier: MIT
"""`pirn bench figures starvation`: how long sleeping and ready threads wait for a CPU while other
threads spend all of their time in one function, with Pirn and with the C library's threads."""

from __future__ import annotations

import math
import os
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from pirn_tools import machine, paths
from pirn_tools.errors import UserError
from pirn_tools.figures import markdown, on_chip
from pirn_tools.figures.affinity_model import execute
from pirn_tools.figures.affinity_real import alternating, environment

ROUNDS, SHORT_ROUNDS = 4, 2
SAMPLES, SHORT_SAMPLES = 52, 5  # of a round
THREADS = 2  # that compute, for each CPU
TICK_MS = 4  # the default of PIRN_TICK
KERNEL_TICK_MS = 4  # often
BOUND_MS = 2 * (TICK_MS + KERNEL_TICK_MS)
PIRN, NPTL = "Pirn", "NPTL"
PROGRAMS = {PIRN: "starvation-pirn", NPTL: "starvation-nptl"}
SLEEPER, READY = "sleeper", "ready"
TITLES = {SLEEPER: "A thread that sleeps", READY: "A thread that another one makes ready"}
SAID = re.compile(
    r" late_us=(?P<late>[0-9.,]+) cpu_us=(?P<cpu>[0-9.,]+) "
    r"calls=(?P<calls>[0-9]+) cpu_seconds=(?P<seconds>[0-9.]+)$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Case:
    function: str
    kind: str
    cpus: int
    counted: bool  # CPU time is known: its calls end

    def words(self, way: str, samples: int, build: Path) -> list[str]:
        program = str(build / "bench" / PROGRAMS[way])
        processors = sorted(os.sched_getaffinity(0))[: self.cpus]
        pinned = ["taskset", "-c", ",".join(map(str, processors))]
        what = [f"--kind={self.kind}", f"--samples={samples}"]
        threads = f"--threads={THREADS * self.cpus}"
        return [*environment(), *pinned, program, *what, threads, self.function]


@dataclass(frozen=True)
class Run:
    """Milliseconds of each sample; the CPU time is each CPU's."""

    late: Sequence[float]
    cpu: Sequence[float]
    speed: float  # calls in a second of CPU time


def functions(build: Path) -> list[tuple[str, list[str]]]:
    """Each function, and its kinds."""
    said = execute([str(build / "bench" / PROGRAMS[NPTL]), "--list"], "starvation --list")
    return [(name, kinds) for name, *kinds in (line.split() for line in said.splitlines())]


def cases(known: Sequence[tuple[str, list[str]]], cpus: Sequence[int]) -> list[Case]:
    return [
        Case(name, kind, n, READY in kinds)
        for kind in (SLEEPER, READY)
        for n in cpus
        for name, kinds in known
        if kind in kinds
    ]


def run(case: Case, way: str, samples: int, build: Path) -> Run:
    title = f"starvation, {case.function}, {case.kind}, {case.cpus} CPUs, {way}"
    found = SAID.search(execute(case.words(way, samples, build), title))
    if found is None:
        raise UserError(f"{title}: it did not say how late its threads were")
    late = [float(one) / 1e3 for one in found["late"].split(",")]
    cpu = [float(one) / 1e3 / case.cpus for one in found["cpu"].split(",")]
    return Run(late, cpu, int(found["calls"]) / float(found["seconds"]))


# ---- the page ----

Runs = Mapping[tuple[Case, str], Sequence[Run]]


def pooled(runs: Sequence[Run], of: Callable[[Run], Sequence[float]]) -> list[float]:
    """The samples of all rounds, in order."""
    return sorted(one for run in runs for one in of(run))


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The smallest one that so many are not above."""
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def three(ordered: Sequence[float]) -> list[str]:
    return [f"{value:.2f}" for value in (percentile(ordered, 50), percentile(ordered, 99))] + [
        f"{ordered[-1]:.2f}"
    ]


def above(found: Runs, case: Case, way: str) -> int:
    return sum(one > BOUND_MS for one in pooled(found[case, way], lambda run: run.cpu))


def work(found: Runs, case: Case) -> float:
    """Pirn's calls in a second of CPU time against NPTL's: the median of the rounds."""
    pairs = zip(found[case, PIRN], found[case, NPTL], strict=True)
    return statistics.median(pirn.speed / nptl.speed for pirn, nptl in pairs)


def marked(found: Runs, case: Case, way: str) -> list[str]:
    """The CPU time: its maximum, and how often it is above the bound."""
    if not case.counted:
        return ["-", "-"]
    most = pooled(found[case, way], lambda run: run.cpu)[-1]
    over = above(found, case, way)
    bold = "**" if over else ""
    return [f"{bold}{most:.2f}{bold}", str(over)]


def row(found: Runs, case: Case) -> list[str]:
    cells = [f"`{case.function}`"]
    for way in (NPTL, PIRN):
        cells += three(pooled(found[case, way], lambda run: run.late))
    for way in (NPTL, PIRN):
        cells += marked(found, case, way)
    return [*cells, f"{work(found, case):.2f}" if case.counted else "-"]


HEADINGS = [
    "computes in",
    *(f"{way} {what}" for way in (NPTL, PIRN) for what in ("p50", "p99", "max")),
    *(f"{way} {what}" for way in (NPTL, PIRN) for what in ("CPU max", "above")),
    "work",
]


def of_kind(found: Runs, kind: str, cpus: int) -> list[Case]:
    every = dict.fromkeys(case for case, _ in found)
    return [case for case in every if (case.kind, case.cpus) == (kind, cpus)]


def section(found: Runs, kind: str, cpus: int) -> str:
    some = of_kind(found, kind, cpus)
    title = f"## {TITLES[kind]}: {markdown.counted(cpus, 'CPU')}, {THREADS * cpus} threads compute"
    return f"{title}\n\n{markdown.table(HEADINGS, [row(found, case) for case in some])}"


def share_above(cpu: Sequence[Sequence[float]]) -> float:
    every = [one for ordered in cpu for one in ordered]
    return sum(one > BOUND_MS for one in every) / len(every)


def summary(found: Runs, groups: Sequence[tuple[str, int]]) -> str:
    """Of all functions: the medians of p50 and p99, and the worst maximum."""
    rows = []
    for kind, cpus in groups:
        some = of_kind(found, kind, cpus)
        for way in (NPTL, PIRN):
            late = [pooled(found[case, way], lambda run: run.late) for case in some]
            counted = [case for case in some if case.counted]
            cpu = [pooled(found[case, way], lambda run: run.cpu) for case in counted]
            rows.append(
                [
                    kind,
                    str(cpus),
                    way,
                    f"{statistics.median(percentile(one, 50) for one in late):.2f}",
                    f"{statistics.median(percentile(one, 99) for one in late):.2f}",
                    f"{max(one[-1] for one in late):.2f}",
                    f"{statistics.median(percentile(one, 50) for one in cpu):.2f}",
                    f"{statistics.median(percentile(one, 99) for one in cpu):.2f}",
                    f"{max(one[-1] for one in cpu):.2f}",
                    f"{100 * share_above(cpu):.2f} %",
                ]
            )
    numbers = [f"{what}{of}" for of in ("", " of CPU time") for what in ("p50", "p99", "max")]
    return markdown.table(["thread", "CPUs", "", *numbers, "above"], rows, left=(0, 2))


def words(found: Runs, groups: Sequence[tuple[str, int]]) -> str:
    """The functions above the bound."""
    said = []
    for kind, cpus in groups:
        counted = (case for case in of_kind(found, kind, cpus) if case.counted)
        some = [case for case in counted if above(found, case, PIRN)]
        some.sort(key=lambda case: -above(found, case, PIRN))
        names = [f"`{case.function}` ({above(found, case, PIRN)})" for case in some]
        of = f"{kind}, {markdown.counted(cpus, 'CPU')}"
        said.append(f"- {of}: {markdown.joined(names) if names else 'none'}.")
    return "\n".join(said)


HEAD = f"""\
Threads compute in a loop of calls of one function: {THREADS} for each CPU. `own-code` is a loop
that calls no library; the others are in the C library and its system calls, in that of C++
(`throw`: an exception is thrown and caught), or where a thread cannot be switched
(`locked-file`, `other-stack`, `handler`: `tests/starve`). Meanwhile one thread waits, and it is
measured how much later it runs than it could:

- *sleeper*: it sleeps for 5 to 20 ms until a point in time (`clock_nanosleep`). It is late by the
  time from that point until it runs.
- *ready*: it waits for a semaphore. After 5 to 20 ms one of the computing threads posts it, and
  goes on. It is late by the time from the post until it runs.

`bench/micro/starvation.c` is linked with Pirn's library, at its default settings, and with the C
library's threads. Both have the same CPUs. In each of {{rounds}} rounds both take turns for each
function; all samples count: {{samples}} in each row for each of both. Times are milliseconds.

Other programs that run on the machine make both later, and so does the host of a virtual machine.
So the page also gives the program's CPU time in the same periods, divided by the number of CPUs:
about what it would have taken on an empty machine. *Above* is how many samples exceed {BOUND_MS} ms
of CPU time: two ticks, each of which the kernel may round up by one of its own. *Work* is how many
calls the computing threads make in a second of CPU time with Pirn, against NPTL's.

NPTL's threads are scheduled by the kernel, which lets a thread that has slept preempt one that
computes, as soon as it may run. Pirn interrupts a computing thread only at a tick of {TICK_MS} ms,
and the first tick after a switch does not count
([preemption](../internals/design.md#preemption)). The kernel looks at timers of CPU time only at
ticks of its own, often {KERNEL_TICK_MS} ms. In the C library a thread loses its CPU
instead, and goes on beside the workers; its CPU time is in these figures.
`make starvation` measures again."""


def facts(root: Path, build: Path, short: bool, load: str) -> dict[str, str]:
    return {
        "command": f"`pirn bench figures starvation{' --short' if short else ''}`",
        "commit": machine.commit(root),
        "machine": machine.processor(),
        "kernel": machine.first_line("uname", "-r"),
        "C library": machine.c_library(),
        "compiler": machine.compiler(build),
        "load averages before and after": load,
        "nice value of the programs": str(os.nice(0)),
    }


def page(found: Runs, known: Mapping[str, str]) -> str:
    runs = next(iter(found.values()))
    cpus = sorted({case.cpus for case, _ in found})
    groups = [(kind, n) for kind in TITLES for n in cpus]
    parts = [
        markdown.begin("Starvation", "starvation", "/starvation.py"),
        HEAD.format(rounds=len(runs), samples=sum(len(one.late) for one in runs)),
        markdown.facts(known),
        "## All functions\n\nThe median of the functions' p50 and p99, and the worst maximum.",
        summary(found, groups),
        f"With Pirn, functions with samples above {BOUND_MS} ms of CPU time, and how many:",
        words(found, groups),
        *(section(found, *group) for group in groups),
    ]
    return "\n\n".join(parts) + "\n"


def reproduce(root: Path, folder: Path, _jobs: int, short: bool, console: Console) -> None:
    """One run at a time."""
    build = paths.build_dir(root)
    missing = [name for name in PROGRAMS.values() if not (build / "bench" / name).exists()]
    if missing:
        raise UserError(f"{build}/bench/{missing[0]} does not exist: build first")
    there = len(os.sched_getaffinity(0))
    each = cases(functions(build), [n for n in (1, 2) if n <= there])
    load = machine.load()
    keys = [(case, way) for case in each for way in (PIRN, NPTL)]
    samples = SHORT_SAMPLES if short else SAMPLES
    rounds = SHORT_ROUNDS if short else ROUNDS
    found = alternating(keys, rounds, lambda key: run(*key, samples, build))
    folder.mkdir(parents=True, exist_ok=True)
    known = facts(root, build, short, f"{load}; {machine.load()}")
    on_chip.write(folder / "starvation.md", page(found, known), console)
