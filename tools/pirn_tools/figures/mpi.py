# SPDX-License-Identifier: MIT
"""`pirn bench figures mpi`: messages between threads of two MPI ranks, with the C library's
threads, with libpirn-pthread alone, and with libpirn-mpi."""

from __future__ import annotations

import os
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from pirn_tools import machine, paths
from pirn_tools.errors import UserError
from pirn_tools.figures import markdown, on_chip
from pirn_tools.figures.affinity_real import alternating, environment

ROUNDS, SHORT_ROUNDS = 5, 1
NPTL, ALONE, BOTH = "NPTL", "libpirn-pthread", "and libpirn-mpi"
WAYS = (NPTL, ALONE, BOTH)
THREADS = (1, 8, 50, 200, 1000)
TRIPS, FEW_TRIPS = 20000, 1000  # of all threads of a rank, at least; few: NPTL with many threads
LIMIT = 30  # seconds of a run
STARTERS: dict[str, tuple[str, ...]] = {
    "openmpi": (
        *("mpirun.openmpi", "--oversubscribe", "--bind-to", "core"),
        *("--mca", "btl", "self,vader", "--mca", "pml", "ob1", "-n", "2"),
    ),
    "mpich": ("mpirun.mpich", "-bind-to", "core", "-n", "2"),
}
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}
VERSIONS = {"openmpi": ("ompi_info", "--version"), "mpich": ("mpichversion", "--version")}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclass(frozen=True)
class Case:
    mpi: str
    threads: int

    def words(self, way: str, build: Path) -> list[str]:
        names = {NPTL: [], ALONE: ["pthread"], BOTH: ["pthread", f"mpi-{self.mpi}"]}[way]
        preload = " ".join(str(build / "lib" / f"libpirn-{name}.so") for name in names)
        trips = FEW_TRIPS if way == NPTL and self.threads > 1 else TRIPS
        rounds = -(-trips // self.threads)
        return [
            *environment(**AS_ROOT, UCX_TLS="self,sm"),
            *STARTERS[self.mpi],
            *("env", f"LD_PRELOAD={preload}"),
            str(build / "bench" / f"mpi-round-trips-{self.mpi}"),
            *(f"--threads={self.threads}", f"--rounds={rounds}"),
        ]


def run(case: Case, way: str, build: Path, limit: float = LIMIT) -> float | None:
    """Microseconds a round trip; None: the run took longer than the limit."""
    title = f"mpi, {case.mpi}, {markdown.counted(case.threads, 'thread')}, {way}"
    words = case.words(way, build)
    try:
        # mpirun ends its ranks when it is told to end.
        done = subprocess.run(
            ["timeout", "--kill-after=10", str(limit), *words],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise UserError(f"cannot run {words[0]}: {error.strerror}") from None
    if done.returncode in (124, 137):
        return None
    try:
        return float(done.stdout.split()[-1])
    except (IndexError, ValueError):
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise UserError("\n".join([f"{title}: it did not say how long it took", *last])) from None


# ---- the page ----

Runs = Mapping[tuple[Case, str], Sequence[float | None]]


def cell(each: Sequence[float | None]) -> str:
    """The median and the range; if a run did not end, how many did."""
    ended = [one for one in each if one is not None]
    if len(ended) < len(each):
        return f"{len(ended)} of {len(each)} runs ended"
    return f"{statistics.median(ended):.2f} ({min(ended):.2f} to {max(ended):.2f})"


def table(found: Runs) -> str:
    cases = dict.fromkeys(case for case, _ in found)
    rows = [
        [NAMES[case.mpi], f"{case.threads:,}", *(cell(found[case, way]) for way in WAYS)]
        for case in cases
    ]
    return markdown.table(["MPI", "threads a rank", *WAYS], rows)


HEAD = """\
Two ranks on one machine, each bound to one CPU. Thread i of one rank sends 64 bytes to thread i of
the other and receives its answer, by `MPI_Send` and `MPI_Recv`. The program
(`bench/mpi/round_trips.c`) knows nothing of Pirn, whose libraries are preloaded: none (NPTL, the C
library's threads), `libpirn-pthread`, or that and [libpirn-mpi](../guide/mpi.md). Microseconds a
round trip: elapsed time, with the creation of the threads, by the round trips of all threads of a
rank. Median of {rounds} rounds, and the range; in each round all take turns.

A run makes {trips:,} round trips; with NPTL and more than one thread {few:,}, because there one can
take milliseconds. A run that takes longer than {limit} s is stopped. While other programs use the
CPUs (load averages), a rank now and then waits for its CPU, and the other one for its message.
`make mpi-doc` measures again."""


def page(found: Runs, facts: Mapping[str, str]) -> str:
    rounds = len(next(iter(found.values())))
    parts = [
        markdown.begin("Messages between threads of MPI ranks", "mpi", "/mpi.py"),
        HEAD.format(rounds=rounds, limit=LIMIT, trips=TRIPS, few=FEW_TRIPS),
        markdown.facts(facts),
        table(found),
    ]
    return "\n\n".join(parts) + "\n"


def version(mpi: str) -> str:
    """As the MPI library says it: "MPICH Version: 4.0.2"."""
    return " ".join(machine.first_line(*VERSIONS[mpi]).split())


def present(build: Path) -> list[str]:
    found = [mpi for mpi in STARTERS if (build / "bench" / f"mpi-round-trips-{mpi}").exists()]
    if not found:
        raise UserError(
            f"{build}/bench has no program mpi-round-trips-...: "
            "install MPI (tools/setup --group mpi) and build"
        )
    return found


def reproduce(root: Path, folder: Path, _jobs: int, short: bool, console: Console) -> None:
    """One run at a time."""
    build = paths.build_dir(root)
    mpis = present(build)
    before = machine.load()
    keys = [(Case(mpi, n), way) for mpi in mpis for n in THREADS for way in WAYS]
    found = alternating(keys, SHORT_ROUNDS if short else ROUNDS, lambda key: run(*key, build))
    folder.mkdir(parents=True, exist_ok=True)
    cpus = markdown.counted(len(os.sched_getaffinity(0)), "CPU")
    facts = {
        "command": f"`pirn bench figures mpi{' --short' if short else ''}`",
        "commit": machine.commit(root),
        "machine": f"{machine.processor()}, {cpus}",
        "C library": machine.c_library(),
        "compiler": machine.compiler(build),
        "MPI": "; ".join(version(mpi) for mpi in mpis),
        "load averages": f"{before} before, {machine.load()} afterwards",
    }
    on_chip.write(folder / "mpi.md", page(found, facts), console)
