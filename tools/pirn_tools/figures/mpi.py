# SPDX-License-Identifier: MIT
"""`pirn bench figures mpi`: messages between threads of MPI ranks, two and four on a machine, and
collective calls that have no nonblocking form, with the C library's threads, with libpirn-pthread
alone, and with libpirn-mpi."""

from __future__ import annotations

import dataclasses
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from pirn_tools import machine, paths
from pirn_tools.errors import UserError
from pirn_tools.figures import markdown, on_chip
from pirn_tools.figures.affinity_real import alternating, environment

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")

ROUNDS, SHORT_ROUNDS = 5, 1
NPTL, ALONE, BOTH = "NPTL", "libpirn-pthread", "and libpirn-mpi"
WAYS = (NPTL, ALONE, BOTH)
THREADS = (1, 8, 50, 200, 1000)
TRIPS, FEW_TRIPS = 20000, 1000  # of all threads of a rank, at least; few: NPTL with many threads
BYTES = 64  # of a message
LARGE = (1 << 16, 1 << 20, 1 << 24)
LARGE_THREADS = (1, 8)
LARGE_SUM = 1 << 29  # bytes that all threads of a rank send, at least
WINDOW = 64  # messages at once in each direction
RATE_TRIPS, FEW_RATE_TRIPS = 100000, 20000
RATE_THREADS = (1, 8, 50)
WORK = 10000  # steps of computing between two messages: tens of microseconds
WORK_TRIPS, FEW_WORK_TRIPS = 4000, 400
WORK_THREADS = (1, 8, 50)
WORK_BYTES = (64, 1 << 16)
LIMIT = 30  # seconds of a run
RANKS = (2, 4)  # of the program of round trips: even
CALLS = 20  # of each kind
STARTERS: dict[str, tuple[str, ...]] = {
    "openmpi": (
        *("mpirun.openmpi", "--oversubscribe"),
        *("--mca", "btl", "self,vader", "--mca", "pml", "ob1"),
    ),
    "mpich": ("mpirun.mpich",),
}
# Each rank to a CPU of its own; where ranks outnumber CPUs, the kernel chooses.
BIND = {"openmpi": ("--bind-to", "core"), "mpich": ("-bind-to", "core")}
FREE = {"openmpi": ("--bind-to", "none"), "mpich": ("-bind-to", "none")}
NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}
VERSIONS = {"openmpi": ("ompi_info", "--version"), "mpich": ("mpichversion", "--version")}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def started(mpi: str, ranks: int, way: str, build: Path, program: str) -> list[str]:
    """The beginning of a command, up to the program."""
    names = {NPTL: [], ALONE: ["pthread"], BOTH: ["pthread", f"mpi-{mpi}"]}[way]
    preload = " ".join(str(build / "lib" / f"libpirn-{name}.so") for name in names)
    bind = BIND if ranks <= len(os.sched_getaffinity(0)) else FREE
    return [
        *environment(**AS_ROOT, UCX_TLS="self,sm"),
        *(*STARTERS[mpi], *bind[mpi], "-n", str(ranks)),
        *("env", f"LD_PRELOAD={preload}"),
        str(build / "bench" / f"mpi-{program}-{mpi}"),
    ]


@dataclass(frozen=True)
class Case:
    """Round trips."""

    mpi: str
    threads: int
    ranks: int = 2
    bytes: int = BYTES
    window: int = 1
    work: int = 0
    silent: bool = False  # only work
    errors_return: bool = False

    def title(self) -> str:
        threads = markdown.counted(self.threads, "thread")
        return f"{self.mpi}, {self.ranks} ranks, {threads}, {self.bytes} bytes"

    def trips(self, way: str) -> int:
        few = way == NPTL and self.threads > 1
        if self.work:
            return FEW_WORK_TRIPS if few else WORK_TRIPS
        if self.window > 1:
            return FEW_RATE_TRIPS if few else RATE_TRIPS
        if self.bytes > BYTES:
            return LARGE_SUM // self.bytes
        return FEW_TRIPS if few else TRIPS

    def words(self, way: str, build: Path) -> list[str]:
        rounds = -(-self.trips(way) // (self.threads * self.window))
        return [
            *started(self.mpi, self.ranks, way, build, "round-trips"),
            *(["--silent"] if self.silent else []),
            *(["--errors-return"] if self.errors_return else []),
            *(f"--window={self.window}", f"--work={self.work}"),
            *(f"--bytes={self.bytes}", f"--threads={self.threads}", f"--rounds={rounds}"),
        ]


@dataclass(frozen=True)
class Calls:
    """Collective calls, each by one thread of a rank."""

    mpi: str
    ranks: int

    def title(self) -> str:
        return f"{self.mpi}, {self.ranks} ranks, collective calls"

    def words(self, way: str, build: Path, folder: Path) -> list[str]:
        program = started(self.mpi, self.ranks, way, build, "slow-calls")
        return [*program, f"--calls={CALLS}", str(folder / "file")]


def output(title: str, words: Sequence[str], limit: float) -> tuple[str, UserError] | None:
    """What a program prints, and the error if that is not what was expected; None: it took longer
    than the limit."""
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
    last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
    return done.stdout, UserError("\n".join([f"{title}: it did not say how long it took", *last]))


def run(case: Case, way: str, build: Path, limit: float = LIMIT) -> float | None:
    """Microseconds a round trip; None: the run took longer than the limit."""
    said = output(f"mpi, {case.title()}, {way}", case.words(way, build), limit)
    if said is None:
        return None
    try:
        return float(said[0].split()[-1])
    except (IndexError, ValueError):
        raise said[1] from None


def run_calls(case: Calls, way: str, build: Path, limit: float = LIMIT) -> dict[str, float] | None:
    """Microseconds a call, by name; None: the run took longer than the limit."""
    with tempfile.TemporaryDirectory() as folder:
        words = case.words(way, build, Path(folder))
        said = output(f"mpi, {case.title()}, {way}", words, limit)
    if said is None:
        return None
    try:
        pairs = [line.rsplit(":", 1) for line in said[0].splitlines()]
        found = {name: float(text) for name, text in pairs}
    except ValueError:
        raise said[1] from None
    if not found:
        raise said[1]
    return found


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
        [
            *(NAMES[case.mpi], str(case.ranks), f"{case.threads:,}"),
            *(cell(found[case, way]) for way in WAYS),
        ]
        for case in cases
    ]
    return markdown.table(["MPI", "ranks", "threads a rank", *WAYS], rows)


def megabytes(case: Case, each: Sequence[float | None]) -> list[float | None]:
    """A second, in both directions together: of microseconds a round trip."""
    return [None if one is None else 2 * case.bytes / one for one in each]


def large_table(found: Runs) -> str:
    cases = dict.fromkeys(case for case, _ in found)
    rows = [
        [
            *(NAMES[case.mpi], f"{case.bytes:,}", f"{case.threads:,}"),
            "returned" if case.errors_return else "fatal",
            *(cell(megabytes(case, found[case, way])) for way in WAYS),
        ]
        for case in cases
    ]
    return markdown.table(["MPI", "bytes", "threads a rank", "errors", *WAYS], rows)


def rate_table(found: Runs) -> str:
    """Thousands of messages a second, both directions together."""
    cases = dict.fromkeys(case for case, _ in found)
    rows = [
        [
            *(NAMES[case.mpi], f"{case.threads:,}"),
            *(
                cell([None if one is None else 2000 / one for one in found[case, way]])
                for way in WAYS
            ),
        ]
        for case in cases
    ]
    return markdown.table(["MPI", "threads a rank", *WAYS], rows)


def hidden(one_thread: float, threads: float, work: float) -> str:
    """The share of the time that one thread adds to its work by messages, which more threads do
    not add."""
    if one_thread <= work:
        return "one thread adds nothing"
    return f"{100 * (one_thread - threads) / (one_thread - work):.0f} %"


def overlap_table(found: Runs) -> str:
    cases = dict.fromkeys(case for case, _ in found)
    middle = {
        key: None if None in each else statistics.median(one for one in each if one is not None)
        for key, each in found.items()
    }
    rows = []
    for case in cases:
        if case.silent:
            continue
        cells = []
        for way in WAYS:
            work = middle[dataclasses.replace(case, threads=1, bytes=BYTES, silent=True), way]
            first, both = middle[dataclasses.replace(case, threads=1), way], middle[case, way]
            text = cell(found[case, way])
            if case.threads > 1 and work is not None and first is not None and both is not None:
                text += f", {hidden(first, both, work)}"
            cells.append(text)
        rows.append([NAMES[case.mpi], f"{case.bytes:,}", f"{case.threads:,}", *cells])
    for case in cases:
        if case.silent:
            cells = [cell(found[case, way]) for way in WAYS]
            rows.append([NAMES[case.mpi], "none", "1", *cells])
    return markdown.table(["MPI", "bytes", "threads a rank", *WAYS], rows)


CallRuns = Mapping[tuple[Calls, str], Sequence[dict[str, float] | None]]


def calls_table(found: CallRuns) -> str:
    rows = []
    for case in dict.fromkeys(case for case, _ in found):
        names = dict.fromkeys(
            name for way in WAYS for one in found[case, way] for name in one or ()
        )
        for name in names:
            cells = [
                cell([None if one is None else one[name] for one in found[case, way]])
                for way in WAYS
            ]
            rows.append([NAMES[case.mpi], str(case.ranks), f"`{name}`", *cells])
    return markdown.table(["MPI", "ranks", "calls", *WAYS], rows)


HEAD = """\
Two and four ranks on one machine, in pairs, each bound to one CPU if there are as many. Thread i of
one rank sends 64 bytes to thread i of the other and receives its answer, by `MPI_Send` and
`MPI_Recv`. The program
(`bench/mpi/round_trips.c`) knows nothing of Pirn, whose libraries are preloaded: none (NPTL, the C
library's threads), `libpirn-pthread`, or that and [libpirn-mpi](../guide/mpi.md). Microseconds a
round trip: elapsed time, with the creation of the threads, by the round trips of all threads of a
rank. Median of {rounds} rounds, and the range; in each round all take turns.

A run makes {trips:,} round trips; with NPTL and more than one thread {few:,}, because there one can
take milliseconds. A run that takes longer than {limit} s is stopped, and not tried again in later
rounds. While other programs use the CPUs (load averages), a rank now and then waits for its CPU,
and the other one for its message.
`make mpi-doc` measures again."""


LARGE_HEAD = """\
## Large messages

The same program with two ranks and larger messages, at least {total} MiB in each direction.
Megabytes (10^6 bytes) a second, both directions together; median of the same rounds, and the range.
*errors*: MPI's default, or an error handler that returns them, as mpi4py sets it. Then the threads
complete their requests themselves ([why](../guide/mpi.md#what-waits-how))."""


RATE_HEAD = """\
## Message rate

Two ranks. Each thread sends {window} messages of 64 bytes and receives as many, all at once
(`MPI_Isend`, `MPI_Irecv`), and waits for all (`MPI_Waitall`). A run exchanges {trips:,} messages in
each direction; with NPTL and more than one thread {few:,}. Thousands of messages a second, both
directions together; median of the same rounds, and the range."""


OVERLAP_HEAD = """\
## Computing while messages travel

Two ranks. After each round trip a thread computes {work:,} steps. Microseconds a round trip with
its work, median of the same rounds, and the range. The rows without bytes are the work alone. The
share is that of the ideal, in which messages cost no time: how much of what messages add to the
work of one thread is gone with more threads, because others compute meanwhile. It is negative if
they make it slower. Moving data takes CPU time here, since both ranks are on one machine, so 100 %
cannot be reached."""


PUBLISHED = """\
## Other systems

[TAMPI](https://github.com/bsc-pm/tampi) (Sala and others, [arXiv
1901.03271](https://arxiv.org/abs/1901.03271)) lets blocking calls of MPI suspend tasks of OmpSs-2
or of a changed OpenMP, and *MPI+ULT* (Lu, Seo, Balaji, HPCC 2015) user-level threads in a changed
MPICH over Argobots. Both publish times of applications on clusters (TAMPI a heat equation by
Gauss-Seidel, MPI+ULT conjugate gradients and a genome assembly), and report that hiding
communication in that way makes them faster. They give no round trips between threads of two ranks
of one machine, so no figure of theirs stands beside these. Both need programs of their own tasks
or threads; here any program with POSIX threads and any MPI library do."""


CALLS_HEAD = """\
## Calls without a nonblocking form

Collective calls that wait within the MPI library
([why](../guide/mpi.md#what-waits-how)), by the only thread of each rank
(`bench/mpi/slow_calls.c`): as many ranks as CPUs, and one more. Microseconds a call, or a pair of
calls, of {calls} in a run; median of the same rounds, and the range."""


@dataclass(frozen=True)
class Found:
    """By kind of runs."""

    trips: Runs
    rates: Runs
    overlap: Runs
    large: Runs
    calls: CallRuns


def page(found: Found, facts: Mapping[str, str]) -> str:
    rounds = len(next(iter(found.trips.values())))
    parts = [
        markdown.begin("Messages between threads of MPI ranks", "mpi", "/mpi.py"),
        HEAD.format(rounds=rounds, limit=LIMIT, trips=TRIPS, few=FEW_TRIPS),
        markdown.facts(facts),
        table(found.trips),
        RATE_HEAD.format(window=WINDOW, trips=RATE_TRIPS, few=FEW_RATE_TRIPS),
        rate_table(found.rates),
        OVERLAP_HEAD.format(work=WORK),
        overlap_table(found.overlap),
        LARGE_HEAD.format(total=LARGE_SUM >> 20),
        large_table(found.large),
        CALLS_HEAD.format(calls=CALLS),
        calls_table(found.calls),
        PUBLISHED,
    ]
    return "\n\n".join(parts) + "\n"


def version(mpi: str) -> str:
    """As the MPI library says it: "MPICH Version: 4.0.2"."""
    return " ".join(machine.first_line(*VERSIONS[mpi]).split())


def present(build: Path) -> list[str]:
    programs = ("round-trips", "slow-calls")
    found = [
        mpi
        for mpi in STARTERS
        if all((build / "bench" / f"mpi-{program}-{mpi}").exists() for program in programs)
    ]
    if not found:
        raise UserError(
            f"{build}/bench has no programs mpi-round-trips-... and mpi-slow-calls-...: "
            "install MPI (tools/setup --group mpi) and build"
        )
    return found


def patiently(run_one: Callable[[Key], Result | None]) -> Callable[[Key], Result | None]:
    """What has not ended once does not run again."""
    lost: set[Key] = set()

    def run_or_not(key: Key) -> Result | None:
        found = run_one(key) if key not in lost else None
        if found is None:
            lost.add(key)
        return found

    return run_or_not


def reproduce(root: Path, folder: Path, _jobs: int, short: bool, console: Console) -> None:
    """One run at a time."""
    build = paths.build_dir(root)
    mpis = present(build)
    before = machine.load()
    rounds = SHORT_ROUNDS if short else ROUNDS
    count = len(os.sched_getaffinity(0))
    cases = [Case(mpi, n, ranks) for mpi in mpis for ranks in RANKS for n in THREADS]
    rates = [Case(mpi, n, window=WINDOW) for mpi in mpis for n in RATE_THREADS]
    works = [
        Case(mpi, n, bytes=size, work=WORK)
        for mpi in mpis
        for size in WORK_BYTES
        for n in WORK_THREADS
    ]
    works += [Case(mpi, 1, work=WORK, silent=True) for mpi in mpis]
    sizes = [Case(mpi, n, bytes=size) for mpi in mpis for size in LARGE for n in LARGE_THREADS]
    sizes += [Case(mpi, max(LARGE_THREADS), bytes=max(LARGE), errors_return=True) for mpi in mpis]
    trips, rate, overlap, large = (
        alternating(
            [(case, way) for case in some for way in WAYS],
            rounds,
            patiently(lambda key: run(*key, build)),
        )
        for some in (cases, rates, works, sizes)
    )
    calls = alternating(
        [(Calls(mpi, n), way) for mpi in mpis for n in (count, count + 1) for way in WAYS],
        rounds,
        patiently(lambda key: run_calls(*key, build)),
    )
    folder.mkdir(parents=True, exist_ok=True)
    facts = {
        "command": f"`pirn bench figures mpi{' --short' if short else ''}`",
        "commit": machine.commit(root),
        "machine": machine.processor(),
        "C library": machine.c_library(),
        "compiler": machine.compiler(build),
        "MPI": "; ".join(version(mpi) for mpi in mpis),
        "load averages": f"{before} before, {machine.load()} afterwards",
    }
    on_chip.write(
        folder / "mpi.md", page(Found(trips, rate, overlap, large, calls), facts), console
    )
