# SPDX-License-Identifier: MIT
"""Runs of pirn-sim-scaling for `pirn bench figures scaling`: which, and what they printed."""

from __future__ import annotations

import csv
import hashlib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pirn_tools.binary.elf import File
from pirn_tools.binary.symbols import Symbol
from pirn_tools.errors import UserError
from pirn_tools.figures.affinity_model import execute

PROGRAM = Path("tests") / "sim" / "model" / "pirn-sim-scaling"
WORKLOADS = ("fib", "create", "wake", "yield", "barrier", "mutex")
POLICIES = ("steal", "single", "central", "dist", "request")
CPUS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
# What all CPUs share costs the model so many steps that larger machines take long.
MOST = {
    "fib": 128,
    "create": 128,
    "barrier": 64,
    "mutex": 64,
    "single": 64,
    "central": 64,
    "dist": 128,
    "request": 128,
}
COLUMNS = (
    *("workload", "policy", "work_ns", "cpus", "seeds"),
    *("rate", "least", "most", "idle", "memory"),
)

FINE, COARSE = 1000, 10000  # ns of work in an operation
ROUNDS, SEEDS, LINES = 60, 2, 8


@dataclass(frozen=True)
class Case:
    """A workload on so many CPUs under a policy."""

    workload: str
    policy: str
    cpus: int
    work: int

    @property
    def title(self) -> str:
        return f"{self.workload}, {self.policy}, {self.cpus} CPUs, {self.work} ns"


@dataclass(frozen=True)
class Line:
    """What cache lines of one kind cost in a run."""

    name: str
    ps: int
    accesses: int
    misses: int


@dataclass(frozen=True)
class Run:
    """With one seed. Times in ns over the run; idle and memory are sums over the CPUs."""

    operations: int
    ns: int
    idle: int
    memory: float
    kicks: int
    steals: int
    far: int
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Point:
    """What the runs of a case have found: means over the seeds."""

    case: Case
    runs: tuple[Run, ...]

    @property
    def rate(self) -> float:
        """Operations in a microsecond."""
        return statistics.mean(1000 * run.operations / run.ns for run in self.runs)

    @property
    def spread(self) -> tuple[float, float]:
        rates = [1000 * run.operations / run.ns for run in self.runs]
        return min(rates), max(rates)

    def share(self, name: str) -> float:
        """Of all CPUs' time: `idle` or `memory`."""
        total = sum(float(getattr(run, name)) / (run.ns * self.case.cpus) for run in self.runs)
        return total / len(self.runs)

    def lines(self) -> list[tuple[str, float]]:
        """Shares of the time that the runtime's accesses take, the largest first."""
        sums: dict[str, float] = {}
        for run in self.runs:
            for line in run.lines:
                sums[line.name] = sums.get(line.name, 0) + line.ps / (1000 * run.memory)
        return sorted(
            ((name, share / len(self.runs)) for name, share in sums.items()),
            key=lambda pair: -pair[1],
        )


Points = Mapping[Case, Point]


def plan(cpus: Sequence[int]) -> list[Case]:
    """The longest first."""
    found = []
    for workload in WORKLOADS:
        for policy in POLICIES:
            most = min(MOST.get(workload, CPUS[-1]), MOST.get(policy, CPUS[-1]))
            for work in (FINE, COARSE) if policy == POLICIES[0] else (COARSE,):
                found += [Case(workload, policy, n, work) for n in cpus if n <= most]
    return sorted(found, key=lambda case: -case.cpus)


@dataclass(frozen=True)
class Symbols:
    """Names of the program's static data, by their addresses from its beginning."""

    program: Path

    @cached_property
    def data(self) -> list[Symbol]:
        """Relative to the program's beginning."""
        file = File(str(self.program))
        low = min((one.address for one in file.segments), default=0)
        return [Symbol(one.start - low, one.end - low, one.name) for one in file.table.data.all]

    def at(self, address: int) -> str:
        """Of the last object in the cache line."""
        for one in reversed(self.data):
            if one.start < address + 64 and address < one.end:
                return f"`{one.name}`"
        return "static data"

    def name(self, printed: str) -> str:
        kind, _, address = printed.partition(" 0x")
        return self.at(int(address, 16)) if kind == "static" else printed


def parse(case: Case, text: str, symbols: Symbols) -> Point:
    runs: dict[str, dict[str, str]] = {}
    lines: dict[str, list[Line]] = {}
    for row in csv.DictReader(text.splitlines()):
        if row["row"] == "run":
            runs[row["seed"]] = row
            continue
        name = symbols.name(row["name"])
        costs = (int(row["memory_ps"]), int(row["accesses"]), int(row["misses"]))
        lines.setdefault(row["seed"], []).append(Line(name, *costs))
    if not runs:
        raise UserError(f"{case.title}: the model printed no run")
    return Point(
        case,
        tuple(
            Run(
                operations=int(row["operations"]),
                ns=int(row["ns"]),
                idle=int(row["idle_ns"]),
                memory=int(row["memory_ps"]) / 1000,
                kicks=int(row["kicks"]),
                steals=int(row["steals"]),
                far=int(row["far"]),
                lines=tuple(lines.get(seed, ())),
            )
            for seed, row in runs.items()
        ),
    )


@dataclass(frozen=True)
class Runner:
    """Runs cases, and keeps what they print: the model prints the same each time."""

    program: Path
    seeds: int
    kept: Path
    symbols: Symbols

    def run(self, case: Case) -> Point:
        words = ["--workload", case.workload, "--sched", case.policy, "--cpus", str(case.cpus)]
        words += ["--work", str(case.work), "--rounds", str(ROUNDS)]
        words += ["--seeds", str(self.seeds), "--lines", str(LINES)]
        key = hashlib.sha256(f"{self.digest} {' '.join(words)}".encode()).hexdigest()[:24]
        file = self.kept / f"{key}.csv"
        if not file.exists():
            made = file.with_suffix(".new")
            made.write_text(execute([str(self.program), *words], case.title), encoding="utf-8")
            made.replace(file)
        return parse(case, file.read_text(encoding="utf-8"), self.symbols)

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.program.read_bytes()).hexdigest()


def write_csv(path: Path, points: Points) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for case in sorted(points, key=lambda c: (c.workload, c.policy, c.work, c.cpus)):
            point = points[case]
            numbers = (point.rate, *point.spread, point.share("idle"), point.share("memory"))
            writer.writerow(
                [
                    *(case.workload, case.policy, case.work, case.cpus, len(point.runs)),
                    *(f"{number:.4f}" for number in numbers),
                ]
            )


def read_rates(path: Path) -> dict[Case, float]:
    """Of write_csv's file; empty if there is none."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8") as file:
        return {
            Case(row["workload"], row["policy"], int(row["cpus"]), int(row["work_ns"])): float(
                row["rate"]
            )
            for row in csv.DictReader(file)
        }
