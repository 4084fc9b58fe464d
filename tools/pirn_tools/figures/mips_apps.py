# SPDX-License-Identifier: MIT
"""Figures 5 to 7 of `pirn bench figures mips`: two applications under three organizations."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from pirn_tools.chip.config import Config
from pirn_tools.chip.sweep import Result, Run, Sweep
from pirn_tools.errors import UserError
from pirn_tools.figures import markdown
from pirn_tools.figures.mips import BOARD, LATENCY, RAM_MIB, build
from pirn_tools.plotting import figure

CLOCK_HZ = 100_000_000  # of the board: one cycle takes 10 ns
CPUS = (1, 2, 4, 6)
# The three organizations, and the runtime's default. {place}: loads measured on one CPU.
POLICIES: Mapping[str, str] = {
    "single": "single",
    "central": "central:unit={unit},place={place}",
    "dist": "dist:unit={unit},place={place}",
    "steal": "steal",
}
MEASURE = "dist:unit={unit},measure={place}"
PAPER_NAMES = {
    "single": "SMP",
    "central": "NON_SMP_CS",
    "dist": "NON_SMP_DS",
    "steal": "not in the paper",
}


@dataclass(frozen=True)
class App:
    name: str
    words: tuple[str, ...]
    unit: str
    picture: str
    title: str
    paper: str


PICTURES = 48
APPS = (
    App(
        "mjpeg",
        ("--graph=stages", "--slices=4", "{clip}"),
        "task",
        "mips-mjpeg.png",
        f"MJPEG, {PICTURES} pictures of 48 x 48",
        "single and central are more than 10 % faster than dist; single idles more than 10 times "
        "less",
    ),
    App(
        "comm",
        ("--pairs=12", "--items=200", "--fifo=4", "--work=1"),
        "tree",
        "mips-comm.png",
        "COMM, 12 pairs of threads, 200 items each",
        "dist is fastest, and the more so the more processors there are",
    ),
)


@dataclass(frozen=True)
class Timing:
    app: str
    policy: str
    cpus: int
    cycles: float
    idle: float  # of the cycles of all CPUs, asleep


def clip(folder: Path) -> Path:
    """48 small pictures, as in the paper."""
    path = folder / "small.mjpeg"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        line = ["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=48x48:rate=25"]
        line += ["-frames:v", str(PICTURES), "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-q:v", "3"]
        line += ["-threads", "1", "-slices", "3", "-f", "mjpeg", str(path)]
        try:
            subprocess.run(line, check=True)
        except FileNotFoundError:
            raise UserError("ffmpeg is missing; tools/setup installs it") from None
    return path


def run_of(
    root: Path,
    folder: Path,
    app: App,
    spec: str,
    cpus: int,
    scheduler: int = 0,
    board: str = BOARD,
    options: tuple[str, ...] = (),
) -> Run:
    """spec: of the policy; with {place} the run reads the measured loads, or writes them.
    scheduler: entries of each queue of the hardware's. Options are those of the simulator."""
    place = folder / f"{app.name}.place"
    stream = clip(folder)
    writes = "measure=" in spec
    return Run(
        program=root / "build" / board / "apps" / f"{app.name}.elf",
        config=Config(cores=cpus, ram_mib=RAM_MIB, scheduler=scheduler),
        latency=LATENCY,
        options=options,
        settings=(f"PIRN_SCHED={spec.format(unit=app.unit, place=place)}", "PIRN_PREEMPT=0"),
        words=tuple(word.format(clip=stream) for word in app.words),
        files=(stream, *([place] if "place=" in spec else [])),
        writes=place if writes else None,
    )


def measuring(root: Path, folder: Path) -> list[Run]:
    return [run_of(root, folder, app, MEASURE, 1) for app in APPS]


def plan(root: Path, folder: Path) -> dict[Run, tuple[str, str, int]]:
    return {
        run_of(root, folder, app, spec, cpus): (app.name, policy, cpus)
        for app in APPS
        for policy, spec in POLICIES.items()
        for cpus in CPUS
    }


def measure(
    sweep: Sweep, programs: Mapping[Run, tuple[str, str, int]], console: Console
) -> list[Timing]:
    """Runs the applications, first those runs that measure the loads which others read."""
    root = sweep.root
    build(root, BOARD, [app.name for app in APPS])
    sweep.run(measuring(root, sweep.folder), console)
    return timings(sweep.run(list(programs), console), programs)


def timings(
    results: Mapping[Run, Result], what: Mapping[Run, tuple[str, str, int]]
) -> list[Timing]:
    """Of all runs; every run of an application must have the same checksum."""
    found: list[Timing] = []
    checksums: dict[str, str] = {}
    for run, (app, policy, cpus) in what.items():
        output = results[run].output
        said = re.search(r" seconds=([0-9.]+) checksum=([0-9a-f]+)", output)
        if said is None:
            raise UserError(f"{run.title}: there is no time in: {output}")
        if checksums.setdefault(app, said[2]) != said[2]:
            raise UserError(f"{run.title}: checksum {said[2]}, {checksums[app]} in other runs")
        harts = len(results[run].counters["harts"])
        idle = results[run].total("wfi") / (results[run].cycles * harts)
        found.append(Timing(app, policy, cpus, float(said[1]) * CLOCK_HZ, idle))
    return found


def draw(found: Sequence[Timing], app: App, path: Path) -> None:
    with figure(path, width=8.0, height=4.5) as axes:
        for policy in POLICIES:
            points = [t for t in found if (t.app, t.policy) == (app.name, policy)]
            axes.plot(
                [t.cpus for t in points],
                [t.cycles / 1e6 for t in points],
                marker="o",
                label=f"{policy} ({PAPER_NAMES[policy]})",
            )
        axes.set_xlabel("processors")
        axes.set_ylabel("million cycles")
        axes.set_ylim(bottom=0)
        axes.set_title(app.title, fontsize="medium")
        axes.grid(alpha=0.3)
        axes.legend()


def cell(one: Timing) -> str:
    return f"{one.cycles / 1e6:.2f} ({one.idle:.0%})"


def table(found: Sequence[Timing], app: App) -> str:
    rows = []
    for policy in POLICIES:
        mine = [t for t in found if (t.app, t.policy) == (app.name, policy)]
        rows.append([f"`{policy}`", PAPER_NAMES[policy], *map(cell, mine)])
    head = ["policy", "in the paper", *(markdown.counted(n, "CPU") for n in CPUS)]
    return markdown.table(head, rows, left=(0, 1))


def verdict(found: Sequence[Timing], app: App) -> str:
    """The paper's finding, and the same ratios here, on 6 CPUs."""
    at = {t.policy: t for t in found if (t.app, t.cpus) == (app.name, CPUS[-1])}
    best = min(at.values(), key=lambda t: t.cycles)
    ratios = ", ".join(
        f"`{name}` {at['dist'].cycles / t.cycles:.2f}" for name, t in at.items() if name != "dist"
    )
    idle = ", ".join(f"`{name}` {t.idle:.0%}" for name, t in at.items())
    return (
        f"The paper: {app.paper}. Here, on {CPUS[-1]} processors, `{best.policy}` is fastest. The "
        f"time of `dist`, divided by that of the others: {ratios}. Idle: {idle}."
    )


ORGANIZATIONS = """\
The paper compares three organizations of the scheduler. SMP has one queue of ready threads for all
processors (here `single`). In NON_SMP_CS each thread stays on its processor, under one central
scheduler (`central`). NON_SMP_DS is the same with a scheduler for each processor (`dist`).
`central` and `dist` place threads by loads that a run on one processor has measured. `steal` is
the runtime's default: a queue for each processor, from which others steal."""


def section(found: Sequence[Timing]) -> list[str]:
    """Of the page."""
    parts = ["## Applications under three organizations", ORGANIZATIONS]
    for app, title in zip(APPS, ("Figures 5 and 6: MJPEG", "Figure 7: COMM"), strict=True):
        parts += [
            f"### {title}",
            markdown.picture(app.picture, f"Execution time of {app.name}"),
            "Million cycles, and in brackets the share of the cycles in which processors slept:",
            table(found, app),
            verdict(found, app),
        ]
    return parts
