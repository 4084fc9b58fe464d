# SPDX-License-Identifier: MIT
"""Runs of pirn-sim-model for `pirn bench figures affinity`: which, and what they printed."""

from __future__ import annotations

import csv
import hashlib
import statistics
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from rich.console import Console

from pirn_tools.chip.sweep import at_once
from pirn_tools.errors import UserError
from pirn_tools.figures.affinity_thesis import BUFFERS, TOPOLOGIES, Serial

SECONDS = 3600  # for all seeds of a case, on a loaded machine
PROGRAM = Path("tests") / "sim" / "model" / "pirn-sim-model"
SERIAL = "serial"
PLAIN, OLD, DECLARED, AUTO = (
    "steal",
    "steal:affinity=old",
    "steal:affinity=declared",
    "steal:affinity=auto",
)
BOTH = "steal:affinity=auto, declared too"
PIN_WAVES, PIN_ALL = "--pin waves", "--pin all"

# Title: arguments. Where a rule uses declarations, the tasks declare their inputs.
WAYS: Mapping[str, tuple[str, ...]] = {
    PLAIN: ("--sched", "steal"),
    OLD: ("--sched", OLD, "--affinity"),
    DECLARED: ("--sched", DECLARED, "--affinity"),
    AUTO: ("--sched", AUTO),
    BOTH: ("--sched", AUTO, "--affinity"),
    "single": ("--sched", "single"),
    "single:affinity=declared": ("--sched", "single:affinity=declared", "--affinity"),
    "single:affinity=auto": ("--sched", "single:affinity=auto"),
    "dist": ("--sched", "dist"),
    "dist:affinity=declared": ("--sched", "dist:affinity=declared", "--affinity"),
    "dist:affinity=auto": ("--sched", "dist:affinity=auto"),
    PIN_WAVES: ("--pin", "waves"),
    PIN_ALL: ("--pin", "all"),
    SERIAL: ("--serial",),
}
# On a machine with two nodes also without the runtime's knowledge of them, as in the thesis.
TWO_NODES = "xeon"
FLAT = ", nodes=off"
FLAT_FAMILIES: Mapping[str, tuple[str, ...]] = {
    f"{plain}{FLAT}": tuple(f"{way}{FLAT}" for way in rules)
    for plain, rules in (("steal", (OLD, DECLARED)), ("single", ("single:affinity=declared",)))
}
# A plain policy, and its rules.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "steal": (OLD, DECLARED, AUTO),
    "single": ("single:affinity=declared",),
    "dist": ("dist:affinity=declared",),
}
TASKS = ("wave0", "wave1", "wave2", "wave3", "mixer0", "mixer1", "mixer2")
WAVEMIX_WAYS = tuple(
    way for way in WAYS if way not in ("single:affinity=auto", "dist:affinity=auto")
)
PAIRS_WAYS = tuple(
    f"{policy}{rule}"
    for policy in ("steal", "single", "dist")
    for rule in ("", ":affinity=declared", ":affinity=auto")
)
# Without the runtime's knowledge of nodes, to see what it gains: the rules, and those policies
# whose CPUs take threads from each other.
PAIRS_FLAT = (PLAIN, DECLARED, AUTO, "single:affinity=declared")
PAIRS = (32, 64)
PAIRS_BUFFER, PAIRS_SAMPLES, PAIRS_SEEDS = (
    16,
    50,
    3,
)  # 3 seeds at most: a run takes long, and all agree


@dataclass(frozen=True)
class Case:
    """A workload on a machine, scheduled in one way; a run for each seed."""

    topology: str
    way: str
    buffer: int  # KB
    pairs: int = 0  # 0: wavemix
    samples: int = 100

    @property
    def title(self) -> str:
        what = f"{self.pairs} pairs" if self.pairs else "wavemix"
        return f"{what}, {self.topology}, {self.buffer} KB, {self.way}"

    def words(self) -> list[str]:
        what = ["--workload", self.workload, "--pairs", str(self.pairs)] if self.pairs else []
        machine = ["--topology", self.topology, "--buffer", str(self.buffer)]
        flat = ["--one-node"] if self.way.endswith(FLAT) else []
        way = WAYS[self.way.removesuffix(FLAT)]
        each = ["--each-sample"] if self.each_sample else []
        return [*what, *machine, "--samples", str(self.samples), *way, *flat, *each]

    @property
    def workload(self) -> str:
        """Of which there are `pairs`."""
        return "pairs"

    @property
    def each_sample(self) -> bool:
        """Whether its samples are looked at one by one (affinity_loss.py)."""
        return not self.pairs and any(self.way in rules for rules in FAMILIES.values())


Row = Mapping[str, str]


@dataclass(frozen=True)
class Sample:
    """What is known of one sample of a run."""

    values: Mapping[str, float]

    @property
    def ns(self) -> float:
        return self.values["mean_ns"]

    def value(self, name: str) -> float:
        """0: the policy does not count that."""
        return self.values.get(name, 0.0)


SAMPLE = "sample"  # and a number: the row of a sample, in place of a thread's
OF_SAMPLES = (
    *("mean_ns", "migrations", "memory_ns", "idle_ns"),
    *(f"affinity-{name}" for name in ("standard", "late", "pulls", "pushes")),
)


@dataclass(frozen=True)
class Point:
    """What the runs of a case printed: for each seed, the rows of the threads, and of all; and its
    samples, if the case has them."""

    case: Case
    seeds: tuple[Mapping[str, Row], ...]
    samples: tuple[Sequence[Sample], ...] = ()

    def values(self, column: str, thread: str = "all") -> list[float]:
        return [float(rows[thread][column]) for rows in self.seeds]

    def us(self, column: str, thread: str = "all") -> float:
        """A column of nanoseconds: the mean over the seeds."""
        return statistics.mean(self.values(column, thread)) / 1000

    def by_sample(self, column: str) -> float:
        """A column of counts."""
        return statistics.mean(self.values(column)) / self.case.samples

    def moves(self, task: str) -> float:
        """Times in a sample that a task came to another CPU than before."""
        return statistics.mean(self.values("migrations", task)) / self.case.samples

    def misses(self, level: str) -> float:
        return self.by_sample(f"{level}_read_misses") + self.by_sample(f"{level}_write_misses")

    @property
    def mean(self) -> float:
        return self.us("mean_ns")

    @property
    def sigma(self) -> float:
        return self.us("sigma_ns")

    @property
    def variance(self) -> float:
        """Of a run, square microseconds: the mean over the seeds."""
        return statistics.mean((one / 1000) ** 2 for one in self.values("sigma_ns"))

    @property
    def a2s(self) -> float:
        return self.us("a2s_ns")

    @property
    def spread(self) -> tuple[float, float]:
        """The least and the largest mean of a seed, microseconds."""
        values = self.values("mean_ns")
        return min(values) / 1000, max(values) / 1000

    def serial(self) -> Serial:
        """Of a serial run: the tasks' times."""
        each = [self.us("mean_ns", task) for task in TASKS]
        waves, mixers = each[:4], each[4:]
        return Serial(statistics.mean(waves), statistics.mean(mixers[:2]), mixers[2])


Points = Mapping[Case, Point]


def wavemix(way: str, topology: str, buffer: int) -> Case:
    return Case(topology, way, buffer)


def pairs(way: str, number: int) -> Case:
    return Case("numa64", way, PAIRS_BUFFER, number, PAIRS_SAMPLES)


def flat_ways() -> list[str]:
    return [way for plain, rules in FLAT_FAMILIES.items() for way in (plain, *rules)]


def plan() -> list[Case]:
    """The longest first, so that none is left to run alone at the end."""
    flat = [f"{way}{FLAT}" for way in PAIRS_FLAT]
    found = [pairs(way, number) for number in PAIRS for way in (*PAIRS_WAYS, *flat)]
    found += [
        wavemix(way, topology, buffer)
        for buffer in BUFFERS
        for topology in TOPOLOGIES
        for way in (*WAVEMIX_WAYS, *(flat_ways() if topology == TWO_NODES else ()))
    ]
    return sorted(found, key=lambda case: -case.buffer * max(7, 4 * case.pairs))


def parse(case: Case, text: str) -> Point:
    """The CSV that the program has printed."""
    seeds: dict[str, dict[str, Row]] = {}
    samples: dict[str, list[Sample]] = {}
    for row in csv.DictReader(text.splitlines()):
        if row["thread"].startswith(SAMPLE):
            known = {name: float(row[name]) for name in OF_SAMPLES if row.get(name)}
            samples.setdefault(row["seed"], []).append(Sample(known))
        else:
            seeds.setdefault(row["seed"], {})[row["thread"]] = row
    if not seeds or any("all" not in rows for rows in seeds.values()):
        raise UserError(f"{case.title}: the model printed no row for all threads")
    return Point(case, tuple(seeds.values()), tuple(samples.values()))


def execute(words: Sequence[str], title: str) -> str:
    """The output of a program that must not fail."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise UserError(f"{title} hangs ({SECONDS} s)") from None
    except OSError as error:
        raise UserError(f"cannot run {words[0]}: {error.strerror}") from None
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise UserError("\n".join([f"status {done.returncode}: {title}", *last]))
    return done.stdout


@dataclass(frozen=True)
class Runner:
    """Runs cases, and keeps what they print: the model prints the same each time."""

    program: Path
    seeds: int
    kept: Path

    def words(self, case: Case) -> list[str]:
        seeds = min(self.seeds, PAIRS_SEEDS) if case.pairs else self.seeds
        return [*case.words(), "--seeds", str(seeds), "--counters", "--format", "csv"]

    def run(self, case: Case) -> Point:
        words = self.words(case)
        file = self.kept / f"{self.key(words)}.csv"
        if file.exists():
            return parse(case, file.read_text(encoding="utf-8"))
        text = execute([str(self.program), *words], case.title)
        point = parse(case, text)
        made = file.with_suffix(".new")
        made.write_text(text, encoding="utf-8")
        made.replace(file)
        return point

    def key(self, words: Sequence[str]) -> str:
        """Of the program's bytes and its arguments."""
        return hashlib.sha256(f"{self.digest} {' '.join(words)}".encode()).hexdigest()[:24]

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.program.read_bytes()).hexdigest()


def run_all(runner: Runner, jobs: int, console: Console) -> Points:
    runner.kept.mkdir(parents=True, exist_ok=True)
    return at_once(plan(), runner.run, "model", jobs, console)


def rows_of(case: Case) -> tuple[str, ...]:
    """The threads that the CSV has rows of. What each task takes is of interest in serial runs, and
    how often each moves under the rules of the thesis."""
    by_task = not case.pairs and case.way in (SERIAL, PLAIN, OLD, DECLARED)
    return (*TASKS, "all") if by_task else ("all",)


def write_csv(path: Path, found: Iterable[Point]) -> None:
    """A line for each case, of serial runs also for each task: means over the seeds, counts of all
    samples."""
    ordered = sorted(found, key=lambda point: point.case.title)
    columns: dict[str, None] = {}
    for point in ordered:
        known = list(point.seeds[0]["all"])
        columns |= dict.fromkeys(known[known.index("mean_ns") :])
    head = ["workload", "topology", "buffer_kb", "way", "samples", "seeds", "thread"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*head, *columns])
        for point in ordered:
            case = point.case
            what = f"pairs {case.pairs}" if case.pairs else "wavemix"
            first = [what, case.topology, case.buffer, case.way, case.samples, len(point.seeds)]
            for thread in rows_of(case):
                writer.writerow([*first, thread, *cells(point, thread, columns)])


def cells(point: Point, thread: str, columns: Iterable[str]) -> list[str]:
    """Empty: the model does not count that there."""
    known = point.seeds[0][thread]
    return [
        f"{statistics.mean(point.values(name, thread)):.1f}" if known.get(name) else ""
        for name in columns
    ]
