# SPDX-License-Identifier: MIT
"""`pirn bench figures library-waits`: threads that wait inside libraries (stdio, futexes of C++ and
OpenMP, the resolver), with Pirn's library preloaded and with the C library's threads."""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from pirn_tools import machine, paths
from pirn_tools.errors import UserError
from pirn_tools.figures import markdown, on_chip
from pirn_tools.figures.affinity_model import execute
from pirn_tools.figures.affinity_real import alternating, environment

ROUNDS, SHORT_ROUNDS = 11, 2
PIRN, NPTL, PASSIVE = "Pirn", "NPTL", "NPTL, passive"
SECONDS = re.compile(r" seconds=([0-9.]+)$", re.MULTILINE)
GOAL = 1.5  # times the C library's threads

WHAT = {
    "streams": "`fgets` from connections of their own",
    "ring": "`std::atomic::wait`, one after the other",
    "gate": "`std::atomic::wait`, all for one word",
    "semaphore": "`std::counting_semaphore`, one after the other",
    "barrier": "`std::barrier`",
    "futures": "`std::future`, each for the one before it",
    "resolver": "`getaddrinfo` of `localhost`, all at once",
    "openmp-barrier": "`#pragma omp barrier`",
    "openmp-nested": "a team of 4 in each thread of a team",
}
SIZES: Mapping[str, tuple[tuple[int, int], ...]] = {  # threads, rounds
    "streams": ((100, 50), (2000, 5)),
    "ring": ((100, 50), (2000, 5)),
    "gate": ((100, 100), (2000, 5)),
    "semaphore": ((100, 50), (2000, 5)),
    "barrier": ((100, 100), (2000, 5)),
    "futures": ((100, 50), (2000, 5)),
    "resolver": ((100, 20),),
    "openmp-barrier": ((16, 5000), (100, 500)),
    "openmp-nested": ((4, 100), (16, 50)),
}


@dataclass(frozen=True)
class Case:
    kind: str
    threads: int
    rounds: int
    cpus: int

    @property
    def ways(self) -> tuple[str, ...]:
        """OpenMP's threads spin before they wait, unless they are told not to."""
        return (PIRN, NPTL, PASSIVE) if self.kind.startswith("openmp") else (PIRN, NPTL)

    def words(self, way: str, build: Path) -> list[str]:
        settings = {}
        if way == PIRN:
            settings["LD_PRELOAD"] = str(build / "lib" / "libpirn-pthread.so")
        if way in (PIRN, PASSIVE):
            settings["OMP_WAIT_POLICY"] = "passive"  # as `pirn run` does
        program = str(build / "bench" / "library-waits")
        what = [f"--kind={self.kind}", f"--threads={self.threads}", f"--rounds={self.rounds}"]
        processors = sorted(os.sched_getaffinity(0))[: self.cpus]
        pinned = ["taskset", "-c", ",".join(map(str, processors))]
        return [*environment(**settings), *pinned, program, *what]


def cases(cpus: Sequence[int]) -> list[Case]:
    return [
        Case(kind, threads, rounds, n)
        for kind, sizes in SIZES.items()
        for threads, rounds in sizes
        for n in cpus
    ]


def run(case: Case, way: str, build: Path) -> float:
    """Seconds."""
    title = f"library-waits, {case.kind}, {case.threads} threads, {case.cpus} CPUs, {way}"
    found = SECONDS.search(execute(case.words(way, build), title))
    if found is None:
        raise UserError(f"{title}: it did not say how long it took")
    return float(found[1])


# ---- the page ----


Runs = Mapping[tuple[Case, str], Sequence[float]]


def peer(found: Runs, case: Case) -> str:
    """The faster one of the C library's."""
    return min(case.ways[1:], key=lambda way: statistics.median(found[case, way]))


def ratios(found: Runs, case: Case) -> list[float]:
    """Of each round: Pirn's time against the peer's."""
    pairs = zip(found[case, PIRN], found[case, peer(found, case)], strict=True)
    return [pirn / other for pirn, other in pairs]


def table(found: Runs) -> str:
    rows = []
    for case in dict.fromkeys(case for case, _ in found):
        each = ratios(found, case)
        low, _, high = statistics.quantiles(each, n=4, method="inclusive")
        other = peer(found, case)
        rows.append(
            [
                WHAT[case.kind],
                f"{case.threads:,}",
                str(case.cpus),
                *(f"{statistics.median(found[case, way]) * 1000:.2f}" for way in (PIRN, other)),
                f"{statistics.median(each):.2f} ({low:.2f} to {high:.2f})",
                "passive" if other == PASSIVE else "",
            ]
        )
    head = ["waits in", "threads", "CPUs", "Pirn, ms", "NPTL, ms", "Pirn / NPTL", "NPTL's policy"]
    return markdown.table(head, rows, left=(0, 6))


def words(found: Runs) -> str:
    by_case = {
        case: statistics.median(ratios(found, case))
        for case in dict.fromkeys(case for case, _ in found)
    }
    above = [
        f"{case.kind}, {markdown.counted(case.threads, 'thread')}, "
        f"{markdown.counted(case.cpus, 'CPU')}: {ratio:.2f}"
        for case, ratio in by_case.items()
        if ratio > GOAL
    ]
    mean = statistics.geometric_mean(by_case.values())
    said = f"Geometric mean of the ratios: {mean:.2f}. Above {GOAL}: "
    return said + ("; ".join(above) if above else "none") + "."


HEAD = """\
A thread that waits inside a library does not call a pthread function. `library-waits`
(`bench/micro/library_waits.cpp`) knows nothing of Pirn; its library is preloaded. Both systems have
the same CPUs. In each of {rounds} rounds all ways take turns; times are medians, and ratios are
within rounds: the median, and the quartiles. Below 1, Pirn is faster.

With Pirn, and for the last column's rows with NPTL, `OMP_WAIT_POLICY=passive`: OpenMP's threads do
not spin before they wait. `pirn run` sets it, too. NPTL has the faster one of both policies.

Each program's run is short, so the time in which the runtime learns how gcc's OpenMP waits
([how](../internals/design.md#calls-that-block)) counts: about 20 ms, once.
`make library-waits-doc` measures again."""


def page(found: Runs, facts: Mapping[str, str]) -> str:
    rounds = len(next(iter(found.values())))
    parts = [
        markdown.begin("Waits inside libraries", "library-waits", "/library_waits.py"),
        HEAD.format(rounds=rounds),
        markdown.facts(facts),
        table(found),
        words(found),
    ]
    return "\n\n".join(parts) + "\n"


def reproduce(root: Path, folder: Path, _jobs: int, short: bool, console: Console) -> None:
    """One run at a time."""
    build = paths.build_dir(root)
    if not (build / "bench" / "library-waits").exists():
        raise UserError(f"{build}/bench/library-waits does not exist: build with gcc first")
    there = len(os.sched_getaffinity(0))
    each = cases([n for n in (1, 2) if n <= there])
    load = machine.load()
    keys = [(case, way) for case in each for way in case.ways]
    found = alternating(keys, SHORT_ROUNDS if short else ROUNDS, lambda key: run(*key, build))
    folder.mkdir(parents=True, exist_ok=True)
    facts = {
        "command": f"`pirn bench figures library-waits{' --short' if short else ''}`",
        "commit": machine.commit(root),
        "machine": f"{machine.processor()}, {markdown.counted(there, 'CPU')}",
        "C library": machine.c_library(),
        "compiler": machine.compiler(build),
        "load averages": load,
    }
    on_chip.write(folder / "library-waits.md", page(found, facts), console)
