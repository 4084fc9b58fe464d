# SPDX-License-Identifier: MIT
"""`pirn bench figures asymmetric`: policies on a chip whose cores have different speeds, with and
without the use of capacities, in cycles of the chip of hw/."""

from __future__ import annotations

import csv
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from pirn_tools.chip.config import Config, intervals
from pirn_tools.chip.sweep import Result, Run
from pirn_tools.errors import UserError
from pirn_tools.figures import mips, mips_apps, on_chip
from pirn_tools.figures.mips import BOARD, LATENCY, RAM_MIB

SEEDS = (1, 2, 3)  # of arbitration; on the large chip, whose runs take minutes, the first
POLICIES: Mapping[str, str] = {
    "single": "single",
    "dist": "dist",
    "dist, capacity=on": "dist:capacity=on",
    "steal": "steal",
    "steal, capacity=on": "steal:capacity=on",
}
PAIRS = (("steal, capacity=on", "steal"), ("dist, capacity=on", "dist"))


@dataclass(frozen=True)
class Chip:
    cores: int
    slow: str  # of `pirn chip run --slow`
    seeds: tuple[int, ...]

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


CHIPS = (Chip(4, "2-3:2", SEEDS), Chip(8, "2-7:4", SEEDS[:1]))
PROGRAMS = (
    Program("3 long threads", 3, 30000),
    Program("a long thread for each CPU", 0, 20000),
    Program("64 short threads", 64, 1500),
    Program("16 rounds of a thread for each CPU", 0, 1500, 16),
)
APP_CHIP = CHIPS[0]
APPS = tuple(app for app in mips_apps.APPS if app.name == "comm")
ALONE_STEPS = (20000, 40000)


@dataclass(frozen=True)
class What:
    """A point of the figures, of which there is a run for each seed."""

    chip: str
    program: str
    policy: str


@dataclass(frozen=True)
class Point:
    what: What
    cycles: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.cycles)

    @property
    def spread(self) -> float:
        return (max(self.cycles) - min(self.cycles)) / self.median


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


def plan(image: Path, short_: bool) -> dict[Run, What]:
    found = {}
    for chip in CHIPS[:1] if short_ else CHIPS:
        for program in PROGRAMS[:1] if short_ else PROGRAMS:
            for policy, spec in POLICIES.items():
                for seed in SEEDS[:1] if short_ else chip.seeds:
                    run = run_of(image, chip, program.words(chip), spec, seed)
                    found[run] = What(chip.title, program.title, policy)
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


def app_plan(root: Path, folder: Path) -> dict[Run, What]:
    stream = mips_apps.clip(folder)
    found = {}
    for app in APPS:
        for policy, spec in POLICIES.items():
            words = [word.format(clip=stream) for word in app.words]
            image = root / "build" / BOARD / "apps" / f"{app.name}.elf"
            run = run_of(image, APP_CHIP, words, spec, 1, (stream,))
            found[run] = What(APP_CHIP.title, app.title, policy)
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


def points(results: Mapping[Run, Result], what: Mapping[Run, What]) -> dict[What, Point]:
    """Of all seeds; every run of a program on a chip must have the same checksum."""
    cycles: dict[What, list[float]] = {}
    checksums: dict[tuple[str, str], str] = {}
    for run, one in what.items():
        took, checksum = said(run, results[run])
        wanted = checksums.setdefault((one.chip, one.program), checksum)
        if checksum != wanted:
            raise UserError(f"{run.title}: checksum {checksum}, {wanted} in other runs")
        cycles.setdefault(one, []).append(took)
    return {one: Point(one, tuple(found)) for one, found in cycles.items()}


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


def rows(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def table(
    found: Points, chip: Chip, titles: Sequence[str], least: Mapping[tuple[str, str], float]
) -> str:
    lines = [["", *(f"{name}" for name in POLICIES)], [":--", *["--:"] * len(POLICIES)]]
    for title in titles:
        cells = [title]
        for policy in POLICIES:
            one = found[What(chip.title, title, policy)]
            share = least.get((chip.title, title))
            part = f" ({share / one.median:.0%})" if share is not None else ""
            cells.append(f"{one.median / 1e3:.0f}{part}")
        lines.append(cells)
    return rows(lines)


def verdict(found: Points, chip: Chip, titles: Sequence[str]) -> str:
    """What capacities change, for each policy that uses them."""
    parts = []
    for policy, before in PAIRS:
        ratios = {
            title: found[What(chip.title, title, policy)].median
            / found[What(chip.title, title, before)].median
            for title in titles
        }
        best, worst = min(ratios, key=lambda t: ratios[t]), max(ratios, key=lambda t: ratios[t])
        bounds = f"{ratios[best]:.2f}" + (
            f" ({best}) to {ratios[worst]:.2f} ({worst})" if best != worst else ""
        )
        parts.append(f"With capacities, `{before}` takes {bounds} of its time without them.")
    every = [found[What(chip.title, title, policy)] for title in titles for policy in POLICIES]
    spread = max(one.spread for one in every)
    if len(every[0].cycles) > 1:
        parts.append(f"Seeds of arbitration differ by at most {spread:.1%}.")
    return " ".join(parts)


HEAD = """\
This page shows what a scheduler gains that knows the speeds of the cores, on a chip whose cores
have different ones ([how](../internals/chip.md#parameters)). A slow core issues an instruction only
every N-th cycle. The programs are `bench/board/fork_join.c`, whose threads only compute, and COMM.
With `capacity=on`, `steal` wakes the fastest sleeping CPU, leaves ready threads to faster CPUs
without work, and lets these take over threads that slower ones run; `dist` places threads in
proportion to capacity. Without it, which is the default because not every program gains, all CPUs
are treated alike.

A cell has thousands of cycles, the median of {seeds} seeds of arbitration (8 cores: one), and in
brackets the share of the ideal: the time in which the CPUs that can have threads would do the work
if each computed all the time, at its measured speed. Threads are preempted (`PIRN_PREEMPT=1`, the
default of POSIX threads): a take-over interrupts the slower CPU."""


def page(
    found: Points,
    apps: Points,
    speed: Mapping[int, float],
    least: Mapping[tuple[str, str], float],
    facts: Mapping[str, str],
) -> str:
    parts = [
        "<!-- SPDX-License-Identifier: MIT -->\n<!-- Written by `pirn bench figures asymmetric`: "
        "change pirn_tools/figures/asymmetric.py. -->\n# CPUs of different speeds",
        HEAD.format(seeds=max(len(one.cycles) for one in found.values())),
        rows([["", ""], ["---", "---"], *facts.items()]),
        "Speed of a core in this loop, as a share of a fast one: "
        + ", ".join(f"every {n} cycles {one:.2f}" for n, one in sorted(speed.items()) if n > 1)
        + ". A slow core loses less than its rate says, because a wrong prediction costs it less.",
    ]
    for chip in CHIPS:
        titles = [p.title for p in PROGRAMS if What(chip.title, p.title, "steal") in found]
        if titles:
            parts += [f"## {chip.title}", table(found, chip, titles, least)]
            parts.append(verdict(found, chip, titles))
    if apps:
        titles = [app.title for app in APPS]
        parts += [
            f"## COMM, {APP_CHIP.title}",
            "Thousands of cycles, one seed. `dist` places threads in turn, without measured loads.",
            table(apps, APP_CHIP, titles, {}),
            verdict(apps, APP_CHIP, titles),
        ]
    return "\n\n".join(parts) + "\n"


def write_csv(path: Path, found: Iterable[Point]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["chip", "program", "policy", "seed", "cycles"])
        for one in found:
            for seed, cycles in zip(SEEDS, one.cycles, strict=False):
                writer.writerow([one.what.chip, one.what.program, one.what.policy, seed, cycles])


def reproduce(root: Path, folder: Path, jobs: int, short_: bool, console: Console) -> None:
    names: list[str] = [] if short_ else [app.name for app in APPS]
    mips.build(root, BOARD, ["fork_join", *names])
    image = root / "build" / BOARD / "bench" / "board" / "fork_join.elf"
    sweep = on_chip.sweep(root, jobs)
    what = plan(image, short_)
    reference = alone(image)
    results = sweep.run([*reference, *what], console)
    found = points(results, what)
    each = steps(results, reference)
    step = each[1]
    speed = {interval: step / one for interval, one in each.items()}
    least = {
        (chip.title, program.title): ideal(chip, program, step, speed)
        for chip in CHIPS
        for program in PROGRAMS
    }
    apps: dict[What, Point] = {}
    if not short_:
        programs = app_plan(root, sweep.folder)
        done = sweep.run(list(programs), console)
        apps = points(done, programs)
        results |= done
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder / "asymmetric.csv", [*found.values(), *apps.values()])
    facts = on_chip.facts(
        root,
        f"asymmetric{' --short' if short_ else ''}",
        f"{RAM_MIB} MiB, 4 banks, one hardware thread a core, a second level that answers after "
        f"{LATENCY} cycles",
        results.values(),
    )
    on_chip.write(folder / "asymmetric.md", page(found, apps, speed, least, facts), console)
