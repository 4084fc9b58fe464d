# SPDX-License-Identifier: MIT
"""`pirn bench figures asymmetric`: policies on a chip whose cores have different speeds, with and
without the use of capacities, in cycles of the chip of hw/. This module plans the runs and reads
their results; asymmetric_page.py writes the page."""

from __future__ import annotations

import csv
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from rich.console import Console

from pirn_tools.chip.config import Config, intervals
from pirn_tools.chip.sweep import Result, Run
from pirn_tools.errors import UserError
from pirn_tools.figures import mips, mips_apps, on_chip
from pirn_tools.figures.mips import BOARD, LATENCY, RAM_MIB
from pirn_tools.figures.mips_apps import App

SEEDS = (1, 2, 3)  # of arbitration
POLICIES: Mapping[str, str] = {
    "single": "single",
    "dist": "dist",
    "dist, capacity=on": "dist:capacity=on",
    "central": "central",
    "central, capacity=on": "central:capacity=on",
    "steal": "steal",
    "steal, capacity=on": "steal:capacity=on",
}
PINNED = ("dist", "central")
# Of each policy that can use capacities, with them and without.
PAIRS = tuple((f"{name}, capacity=on", name) for name in ("steal", *PINNED))


@dataclass(frozen=True)
class Chip:
    cores: int
    slow: str  # of `pirn chip run --slow`

    @property
    def title(self) -> str:
        return f"{self.cores} cores, --slow {self.slow}"

    @property
    def intervals(self) -> tuple[int, ...]:
        return intervals((self.slow,), self.cores)


@dataclass(frozen=True)
class Program:
    title: str
    threads: int  # 0: one for each CPU
    work: int  # steps of a thread
    rounds: int = 1

    def words(self, chip: Chip) -> tuple[str, ...]:
        return (
            f"--threads={self.count(chip)}",
            f"--work={self.work}",
            f"--rounds={self.rounds}",
        )

    def count(self, chip: Chip) -> int:
        return self.threads or chip.cores


CHIPS = (Chip(4, "2-3:2"), Chip(8, "2-7:4"))
PROGRAMS = (
    Program("3 long threads", 3, 30000),
    Program("a long thread for each CPU", 0, 20000),
    Program("64 short threads", 64, 1500),
    Program("16 rounds of a thread for each CPU", 0, 1500, 16),
)
# What mips_apps measures, with less to do: there are many runs.
LESS = {
    "comm": ("--items=", 100, "COMM, 12 pairs of threads, 100 items each"),
    "mjpeg": ("--pictures=", 12, "MJPEG, 12 pictures of 48 x 48"),
}


def with_less(app: App) -> App:
    option, number, title = LESS[app.name]
    words = [word for word in app.words if not word.startswith(option)]
    return replace(app, words=(f"{option}{number}", *words), title=title)


APPS = tuple(with_less(app) for app in mips_apps.APPS)
ALONE_STEPS = (20000, 40000)


@dataclass(frozen=True)
class What:
    """A point of the figures, of which there is a run for each seed."""

    chip: str
    program: str
    policy: str


@dataclass(frozen=True)
class Sample:
    """What one run has taken, and how long its CPUs slept meanwhile, in cycles."""

    seed: int
    cycles: float
    asleep_fast: float  # of all CPUs with interval 1
    asleep_slow: float  # of all others


@dataclass(frozen=True)
class Point:
    what: What
    samples: tuple[Sample, ...]

    @property
    def cycles(self) -> tuple[float, ...]:
        return tuple(one.cycles for one in self.samples)

    @property
    def median(self) -> float:
        return statistics.median(self.cycles)


Points = Mapping[What, Point]


def chip_options(each: Iterable[int], seed: int) -> tuple[str, ...]:
    return ("--intervals", ",".join(map(str, each)), "--seed", str(seed))


def settings(spec: str, cpus: int) -> tuple[str, ...]:
    return (f"PIRN_SCHED={spec}", "PIRN_PREEMPT=1", f"PIRN_CPUS={cpus}")


def run_of(
    image: Path,
    chip: Chip,
    words: Sequence[str],
    spec: str,
    seed: int,
    files: tuple[Path, ...] = (),
) -> Run:
    return Run(
        program=image,
        config=Config(cores=chip.cores, ram_mib=RAM_MIB),
        latency=LATENCY,
        options=chip_options(chip.intervals, seed),
        settings=settings(spec, chip.cores),
        words=tuple(words),
        files=files,
    )


Plan = dict[Run, tuple[What, int]]  # with the seed


def plan(image: Path, short_: bool) -> Plan:
    found: Plan = {}
    for chip in CHIPS[:1] if short_ else CHIPS:
        for program in PROGRAMS[:1] if short_ else PROGRAMS:
            for policy, spec in POLICIES.items():
                for seed in SEEDS[:1] if short_ else SEEDS:
                    run = run_of(image, chip, program.words(chip), spec, seed)
                    found[run] = (What(chip.title, program.title, policy), seed)
    return found


def alone(image: Path) -> dict[Run, tuple[int, int]]:
    """One thread on a CPU of each speed: its interval, and the steps. Two amounts of work: their
    difference has no creation of a thread in it."""
    cores = CHIPS[0].cores
    return {
        Run(
            program=image,
            config=Config(cores=cores, ram_mib=RAM_MIB),
            latency=LATENCY,
            options=chip_options([interval] * cores, SEEDS[0]),
            settings=settings("steal", 1),
            words=("--threads=1", f"--work={steps}", "--rounds=1"),
        ): (interval, steps)
        for interval in sorted({one for chip in CHIPS for one in chip.intervals})
        for steps in ALONE_STEPS
    }


def measuring(root: Path, folder: Path) -> list[Run]:
    """Of the loads by which pinned threads of applications are placed."""
    return [mips_apps.run_of(root, folder, app, mips_apps.MEASURE, 1) for app in APPS]


def app_spec(app: App, policy: str, place: Path) -> str:
    """Pinned threads are placed by measured loads."""
    spec = POLICIES[policy]
    name, _, _ = spec.partition(":")
    if name not in PINNED:
        return spec
    return f"{spec}{',' if ':' in spec else ':'}unit={app.unit},place={place}"


def app_plan(root: Path, folder: Path) -> Plan:
    stream = mips_apps.clip(folder)
    found: Plan = {}
    for app in APPS:
        image = root / "build" / BOARD / "apps" / f"{app.name}.elf"
        place = folder / f"{app.name}.place"
        words = [word.format(clip=stream) for word in app.words]
        for chip in CHIPS:
            for policy in POLICIES:
                spec = app_spec(app, policy, place)
                files = (stream, place) if str(place) in spec else (stream,)
                for seed in SEEDS:
                    run = run_of(image, chip, words, spec, seed, files)
                    found[run] = (What(chip.title, app.title, policy), seed)
    return found


def said(run: Run, result: Result) -> tuple[float, str]:
    """The cycles and the checksum that a program has printed."""
    text = result.output
    cycles = re.search(r"cycles=(\d+) checksum=([0-9a-f]+)", text)
    if cycles is not None:
        return float(cycles[1]), cycles[2]
    seconds = re.search(r" seconds=([0-9.]+) checksum=([0-9a-f]+)", text)
    if seconds is not None:
        return float(seconds[1]) * mips_apps.CLOCK_HZ, seconds[2]
    raise UserError(f"{run.title}: there is no time in: {text}")


def asleep(result: Result, cycles: float, each: Sequence[int]) -> tuple[float, float]:
    """Of fast CPUs and of slow ones. Outside of the measured cycles only the main thread runs, on
    a fast CPU, and the others sleep, but while they start: so the numbers are too low by that time,
    and only differences between policies say something. each: of the cores, cycles from an
    instruction to the next."""
    outside = result.cycles - cycles
    fast = slow = 0.0
    for hart, interval in zip(result.counters["harts"], each, strict=True):
        if interval == 1:
            fast += int(hart["wfi"])
        else:
            slow += int(hart["wfi"]) - outside
    return fast - (each.count(1) - 1) * outside, slow


def points(results: Mapping[Run, Result], what: Plan) -> dict[What, Point]:
    """Of all seeds; every run of a program on a chip must have the same checksum."""
    samples: dict[What, list[Sample]] = {}
    checksums: dict[tuple[str, str], str] = {}
    each = {chip.title: chip.intervals for chip in CHIPS}
    for run, (one, seed) in what.items():
        took, checksum = said(run, results[run])
        wanted = checksums.setdefault((one.chip, one.program), checksum)
        if checksum != wanted:
            raise UserError(f"{run.title}: checksum {checksum}, {wanted} in other runs")
        sample = Sample(seed, took, *asleep(results[run], took, each[one.chip]))
        samples.setdefault(one, []).append(sample)
    return {one: Point(one, tuple(found)) for one, found in samples.items()}


def steps(results: Mapping[Run, Result], what: Mapping[Run, tuple[int, int]]) -> dict[int, float]:
    """Cycles of a step on a core with each interval."""
    took = {one: said(run, results[run])[0] for run, one in what.items()}
    few, many = ALONE_STEPS
    return {
        interval: (took[interval, many] - took[interval, few]) / (many - few)
        for interval in sorted({interval for interval, _ in took})
    }


def ideal(chip: Chip, program: Program, step: float, speed: Mapping[int, float]) -> float:
    """The least cycles: all CPUs that have threads compute all the time. step: of a fast core."""
    each = sorted((speed[one] for one in chip.intervals), reverse=True)
    threads = program.count(chip)
    work = threads * program.work * program.rounds * step
    return work / sum(each[:threads])


def write_csv(path: Path, found: Iterable[Point]) -> None:
    head = ["chip", "program", "policy", *Sample.__dataclass_fields__]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        for one in found:
            for sample in one.samples:
                what = (one.what.chip, one.what.program, one.what.policy)
                writer.writerow([*what, *(f"{value:.0f}" for value in astuple(sample))])


def parts(reference: Iterable[Run], what: Plan, programs: Plan) -> dict[Run, str]:
    """The part of the page that shows each run."""
    return (
        dict.fromkeys(reference, "speeds of cores")
        | {run: f"`fork_join`, {one.chip}" for run, (one, _) in what.items()}
        | {run: f"applications, {one.chip}" for run, (one, _) in programs.items()}
    )


def reproduce(root: Path, folder: Path, jobs: int, short_: bool, console: Console) -> None:
    from pirn_tools.figures import asymmetric_page

    names: list[str] = [] if short_ else [app.name for app in APPS]
    mips.build(root, BOARD, ["fork_join", *names])
    image = root / "build" / BOARD / "bench" / "board" / "fork_join.elf"
    sweep = on_chip.sweep(root, jobs)
    what = plan(image, short_)
    reference = alone(image)
    results = sweep.run([*reference, *what], console)
    found = points(results, what)
    each = steps(results, reference)
    programs: Plan = {}
    if not short_:
        place = sweep.folder / "asymmetric"  # loads of applications with less to do
        results |= sweep.run(measuring(root, place), console)
        programs = app_plan(root, place)
        done = sweep.run(list(programs), console)
        found |= points(done, programs)
        results |= done
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder / "asymmetric.csv", found.values())
    facts = on_chip.facts(
        root,
        f"asymmetric{' --short' if short_ else ''}",
        f"{RAM_MIB} MiB, 4 banks, one hardware thread a core, a second level that answers after "
        f"{LATENCY} cycles",
        results.values(),
    )
    speeds = {interval: each[1] / one for interval, one in each.items()}
    cost = on_chip.cost_section(
        results, parts(reference, what, programs), "loads of the applications"
    )
    text = asymmetric_page.page(found, each[1], speeds, facts, cost)
    on_chip.write(folder / "asymmetric.md", text, console)
