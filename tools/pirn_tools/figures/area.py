# SPDX-License-Identifier: MIT
"""`pirn bench figures area`: what the chip's hardware scheduler costs in area and clock."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from pirn_tools import machine
from pirn_tools.chip import design, gates, place
from pirn_tools.chip.config import SCHEDULER_STAGES, Config
from pirn_tools.chip.design import Design
from pirn_tools.chip.gates import Gates
from pirn_tools.chip.sweep import PROGRESS
from pirn_tools.errors import UserError
from pirn_tools.figures import area_cycles, hw, on_chip
from pirn_tools.figures import area_page as page
from pirn_tools.paths import short
from pirn_tools.plotting import figure

CORES, THREADS = 8, 4  # the processor of the paper
ENTRIES = (16, 64, 256, 1024)
PLACED_ENTRIES = (16, 64, 256)
TSAU_CORES = (1, 4, 8)
CHIP_THREADS = (2, 4)
CHIP_SCHEDULERS = ((0, 1), (16, 1), (64, 1), (64, 2))  # entries, 0: none; stages
RAM_KIB = 64
SEEDS = (1, 2, 3)
CHIP_SEEDS = (1,)  # a run takes long
KEPT = "area-kept.json"
PICTURE = "area-parts.png"


@dataclass(frozen=True)
class Plan:
    """What is measured. The short one is a first look."""

    entries: tuple[int, ...] = ENTRIES
    placed: tuple[int, ...] = PLACED_ENTRIES
    tsau_cores: tuple[int, ...] = TSAU_CORES
    chip_threads: tuple[int, ...] = CHIP_THREADS
    seeds: tuple[int, ...] = SEEDS
    chip_seeds: tuple[int, ...] = CHIP_SEEDS
    cycles: area_cycles.Plan = field(default_factory=area_cycles.Plan)

    def gates(self) -> list[Design]:
        found = [design.context_unit(), design.tsau(CORES, THREADS)]
        for entries in self.entries:
            found += [design.rtu(entries), design.dtu(entries), design.dtu(entries, 1)]
        return found + list(self.divided())

    def divided(self) -> dict[Design, tuple[str, str]]:
        """Units of two stages, and what the page calls them: not for all sizes."""
        found = {design.tsau(CORES, THREADS, 2): ("TSAU, two stages", "any")}
        if hw.QUEUE in self.entries:
            found[design.dtu(hw.QUEUE, stages=2)] = ("DTU, two stages", str(hw.QUEUE))
        return found

    def units(self) -> list[Design]:
        found = [design.rtu(entries) for entries in self.placed]
        for stages in SCHEDULER_STAGES:
            found += [design.dtu(entries, stages=stages) for entries in self.placed]
        for stages in SCHEDULER_STAGES:
            found += [design.tsau(cores, THREADS, stages) for cores in self.tsau_cores]
        return found

    def chips(self, root: Path) -> list[Design]:
        configs = [
            Config(cores=1, threads=threads, scheduler=queue, scheduler_stages=stages)
            for threads in self.chip_threads
            for queue, stages in CHIP_SCHEDULERS
        ]
        return [design.chip(root, config, RAM_KIB) for config in configs]

    def placements(self, root: Path) -> dict[Design, tuple[int, ...]]:
        """What is placed, with which seeds."""
        seeds = dict.fromkeys(self.units(), self.seeds)
        return seeds | dict.fromkeys(self.chips(root), self.chip_seeds)


SHORT = Plan((16,), (16,), (1,), (), (1,), cycles=area_cycles.Plan(workloads=()))


def all_gates(
    root: Path, designs: Sequence[Design], folder: Path, console: Console, kept: bool
) -> dict[Design, Gates]:
    """Without new ones if `kept`."""
    if kept:
        found = {one: gates.kept(root, folder, one) for one in designs}
        return {one: count for one, count in found.items() if count is not None}
    with Progress(*PROGRESS, console=console) as progress:
        return {
            one: gates.measure(root, folder, one)
            for one in progress.track(designs, description="gates")
        }


def complete(found: Mapping[Design, Gates], entries: Sequence[int]) -> list[int]:
    """Sizes of which all gates have been counted."""
    parts = (design.rtu, design.dtu, lambda n: design.dtu(n, 1))
    return [n for n in entries if all(make(n) in found for make in parts)]


def missing(
    plan: Plan,
    counted: Mapping[Design, Gates],
    wanted: Mapping[Design, Sequence[int]],
    placed: Mapping[Design, place.Result],
) -> list[str]:
    """What the plan has and the results have not."""
    found = [f"gates of {one.title}" for one in plan.gates() if one not in counted]
    for one, seeds in wanted.items():
        if one not in placed:
            found.append(f"synthesis of {one.title}")
        elif len(placed[one].placed) < len(seeds):
            todo = len(seeds) - len(placed[one].placed)
            found.append(f"{todo} of {len(seeds)} seeds of {one.title}")
    return found


def unpack(file: Path, builds: Path) -> None:
    """Results of other machines, which are in the repository, become files in `builds`. The names
    have a hash of the RTL and of the tools, so that results of others are never looked at."""
    if not file.exists():
        return
    for name, result in json.loads(file.read_text()).items():
        path = builds / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(result, indent=1))


def pack(file: Path, builds: Path, paths: Iterable[Path]) -> None:
    """The other way round, of results that are there."""
    found = {
        str(path.relative_to(builds)): json.loads(path.read_text())
        for path in sorted(paths)
        if path.exists()
    }
    file.write_text(json.dumps(found, indent=1) + "\n")


def budgets(found: Mapping[Design, Gates], entries: Sequence[int]) -> list[page.Budget]:
    """The scheduler of the paper's processor, for each size of its queues."""
    return [
        page.Budget(
            entries=n,
            cores=CORES,
            rtu=found[design.rtu(n)],
            dtu=found[design.dtu(n)],
            dtu_without_cam=found[design.dtu(n, 1)],
            tsau=found[design.tsau(CORES, THREADS)],
            context_unit=found[design.context_unit()],
        )
        for n in entries
    ]


def clocks(placed: Mapping[Design, place.Result]) -> list[page.Clock]:
    """Of the paper's processor, for each number of stages; empty unless all units are placed."""
    found = []
    for stages in SCHEDULER_STAGES:
        units = [
            placed.get(one)
            for one in (
                design.rtu(hw.QUEUE),
                design.dtu(hw.QUEUE, stages=stages),
                design.tsau(CORES, THREADS, stages),
            )
        ]
        mhz = [one.typical.mhz for one in units if one is not None and one.placed]
        if len(mhz) != len(units):
            return []
        found.append(page.Clock(stages, *mhz))
    return found


def draw(found: Sequence[page.Budget], path: Path) -> None:
    """Shares of the parts, by transistors."""
    with figure(path, width=8.0, height=4.5) as axes:
        bottom = [0.0] * len(found)
        for part in found[0].parts:
            heights = [100 * one.parts[part] / one.total for one in found]
            axes.bar([str(one.entries) for one in found], heights, bottom=bottom, label=part)
            bottom = [low + high for low, high in zip(bottom, heights, strict=True)]
        axes.set_xlabel("entries of each queue")
        axes.set_ylabel("transistors, % of the scheduler")
        axes.set_title(f"{CORES} cores, {THREADS} hardware threads each", fontsize="medium")
        axes.figure.legend(fontsize="small", loc="outside right upper")


def write_csv(
    path: Path,
    counted: Mapping[Design, Gates],
    placed: Mapping[Design, place.Result],
    cycles: Mapping[hw.Case, area_cycles.Cycles],
) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["part", "seed", "quantity", "value"])
        for one, found in counted.items():
            for name in ("memory_bits", "flip_flops", "gate_transistors", "transistors", "depth"):
                writer.writerow([one.title, "", name, getattr(found, name)])
        for one, result in placed.items():
            for name, value in result.cells.__dict__.items():
                writer.writerow([one.title, "", name, value])
            for seed, run in result.placed.items():
                for name, value in run.__dict__.items():
                    text = f"{value:.2f}" if isinstance(value, float) else value
                    writer.writerow([one.title, seed, name, text])
        writer.writerows(area_cycles.rows(cycles))


def versions(said: Sequence[str]) -> list[str]:
    """The numbers in what tools say of themselves."""
    return [found[0] for found in (re.search(r"\d+\.\d[\d.]*", one) for one in said) if found]


def minutes(placed: Mapping[Design, place.Result]) -> str:
    """How long a run of nextpnr took: it depends on what else the machine did."""
    taken = sorted(run.seconds / 60 for one in placed.values() for run in one.placed.values())
    return f"{taken[0]:.0f} to {taken[-1]:.0f} minutes for a run" if taken else "no run"


def reproduce(
    root: Path, folder: Path, jobs: int, short_: bool, console: Console, kept: bool = False
) -> None:
    """With `kept` no design is placed: the page shows what earlier runs have left."""
    plan = SHORT if short_ else Plan()
    builds = root / "build" / "hw"
    unpack(root / "docs" / "results" / KEPT, builds)
    fpga = place.Fpga(root, builds / "fpga", jobs)  # first: it fails if the tools are missing
    counted = all_gates(root, plan.gates(), builds / "gates", console, kept)
    wanted = plan.placements(root)
    if not kept:
        fpga.run(wanted, console)
    placed = fpga.kept(wanted)
    cycles = area_cycles.measure(root, jobs, plan.cycles, console)
    sizes = complete(counted, plan.entries)
    if not sizes or design.tsau(CORES, THREADS) not in counted:
        raise UserError("no gates have been counted; leave --kept out")
    found = budgets(counted, sizes)
    (folder / "img").mkdir(parents=True, exist_ok=True)
    write_csv(folder / "area.csv", counted, placed, cycles)
    counts = (gates.file_of(root, builds / "gates", one) for one in plan.gates())
    pack(folder / KEPT, builds, [*counts, *(path for one in wanted for path in fpga.files(one))])
    if not short_:
        draw(found, folder / "img" / PICTURE)
    facts = {
        "command": "`"
        + " ".join(["pirn bench figures area", *["--short"] * short_, *["--kept"] * kept])
        + "`",
        "commit": machine.commit(root),
        **on_chip.memory(root),
        "gates": machine.first_line("yosys", "-V").split(" (")[0],
        "FPGA": "Lattice ECP5, 85 k LUTs, speed grade 6; yosys and nextpnr of PyPI, "
        + ", ".join(versions(fpga.versions)),
        "place and route": f"{place.GOAL} MHz wanted; one CPU took {minutes(placed)}",
    }
    todo = missing(plan, counted, wanted, placed)
    picture = PICTURE if not short_ else None
    divided = [(*names, counted[one]) for one, names in plan.divided().items() if one in counted]
    text = page.page(found, placed, facts, picture, todo, cycles, clocks(placed), divided)
    (folder / "area.md").write_text(text, encoding="utf-8")
    console.print(f"page: {short(folder / 'area.md')}", highlight=False)
