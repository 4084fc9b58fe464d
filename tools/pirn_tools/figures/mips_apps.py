# SPDX-License-Identifier: MIT
"""Figures 5 to 7 of `pirn bench figures mips`: two applications under three organizations."""

from __future__ import annotations

import re
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rich.console import Console

from pirn_tools.chip.config import Config
from pirn_tools.chip.sweep import Result, Run, Sweep
from pirn_tools.errors import UserError
from pirn_tools.figures import markdown
from pirn_tools.figures.mips import BOARD, LATENCY, RAM_MIB, build
from pirn_tools.plotting import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
IDLE_PICTURE = "mips-mjpeg-idle.png"
APPS = (
    App(
        "mjpeg",
        ("--graph=stages", "--slices=4", "{clip}"),
        "task",
        "mips-mjpeg.png",
        f"MJPEG, {PICTURES} pictures of 48 x 48",
        "single and central are more than 10 % faster than dist",
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
    spent: Mapping[str, float]  # cycles of all CPUs by cause (SPENT), most in the whole run
    asleep: tuple[float, ...]  # of the cycles of each CPU, the share asleep

    @property
    def idle_cycles(self) -> float:
        """Of all CPUs, while the application ran."""
        return self.idle * self.cycles * self.cpus


SAME = 0.05  # a smaller difference of times is none
# What CPUs do with their cycles, and the counters that say so (docs/internals/chip.md, --counters).
ASLEEP = "sleep"
ATOMIC = "waits for atomic instructions"
SPENT: Mapping[str, tuple[str, ...]] = {
    "instructions": ("retire",),
    "pipeline": ("pipe", "divide"),
    "waits for code": ("fetch",),
    "waits for data": ("load", "store", "fence", "device", "lock"),
    ATOMIC: ("atomic",),
    ASLEEP: ("wfi",),
}


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


def measure(sweep: Sweep, programs: Sequence[Run], console: Console) -> dict[Run, Result]:
    """Runs the applications, first those runs that measure the loads which others read."""
    root = sweep.root
    build(root, BOARD, [app.name for app in APPS])
    measured = sweep.run(measuring(root, sweep.folder), console)
    return measured | sweep.run(programs, console)


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
        found.append(timing(results[run], (app, policy, cpus), float(said[1]) * CLOCK_HZ))
    return found


def timing(result: Result, what: tuple[str, str, int], cycles: float) -> Timing:
    """cycles: of the application. Before it begins and after its end CPU 0 works, and the others
    sleep, which is not counted."""
    outside = result.cycles - cycles
    asleep = [
        max(0.0, hart["wfi"] - (outside if cpu > 0 else 0.0))
        for cpu, hart in enumerate(result.counters["harts"])
    ]
    spent: dict[str, float] = {
        name: sum(map(result.total, causes)) for name, causes in SPENT.items()
    }
    spent[ASLEEP] = sum(asleep)
    shares = tuple(one / cycles for one in asleep)
    return Timing(*what, cycles, statistics.fmean(shares), spent, shares)


def draw(found: Sequence[Timing], app: App, path: Path) -> None:
    """Execution times: Figures 5 and 7."""
    with figure(path, width=8.0, height=4.5) as axes:
        lines(axes, app, {policy: of(found, app, policy) for policy in POLICIES}, "cycles")
        axes.set_ylabel("million cycles")


def draw_idle(found: Sequence[Timing], app: App, path: Path) -> None:
    """Cycles of all CPUs asleep, with the share of all cycles at each point: Figure 6."""
    with figure(path, width=8.0, height=4.5) as axes:
        lines(axes, app, {policy: of(found, app, policy) for policy in POLICIES}, "idle_cycles")
        for t in (t for policy in POLICIES for t in of(found, app, policy)):
            at = (t.cpus, t.idle_cycles / 1e6)
            axes.annotate(f"{t.idle:.0%}", at, (4, 4), textcoords="offset points", fontsize="small")
        axes.set_ylabel("million cycles asleep, of all CPUs")


def of(found: Sequence[Timing], app: App, policy: str) -> list[Timing]:
    return [t for t in found if (t.app, t.policy) == (app.name, policy)]


class Point(Protocol):
    """What is drawn: cycles or idle_cycles, by CPUs."""

    @property
    def cpus(self) -> int: ...
    @property
    def cycles(self) -> float: ...
    @property
    def idle_cycles(self) -> float: ...


def lines(axes: Axes, app: App, timed: Mapping[str, Sequence[Point]], name: str) -> None:
    """One line for each policy, in millions."""
    for policy, mine in timed.items():
        axes.plot(
            [t.cpus for t in mine],
            [getattr(t, name) / 1e6 for t in mine],
            marker="o",
            label=f"{policy} ({PAPER_NAMES[policy]})",
        )
    axes.set_xlabel("processors")
    axes.set_ylim(bottom=0)
    axes.set_title(app.title, fontsize="medium")
    axes.grid(alpha=0.3)
    axes.legend()


def draw_all(found: Sequence[Timing], folder: Path) -> None:
    for app in APPS:
        draw(found, app, folder / app.picture)
    draw_idle(found, APPS[0], folder / IDLE_PICTURE)


def cell(one: Timing) -> str:
    return f"{one.cycles / 1e6:.2f} ({one.idle:.0%})"


def table(found: Sequence[Timing], app: App) -> str:
    rows = []
    for policy in POLICIES:
        rows.append([f"`{policy}`", PAPER_NAMES[policy], *map(cell, of(found, app, policy))])
    head = ["policy", "in the paper", *(markdown.counted(n, "CPU") for n in CPUS)]
    return markdown.table(head, rows, left=(0, 1))


def verdict(found: Sequence[Timing], app: App) -> str:
    """The paper's finding, and the same ratios here, on 6 CPUs."""
    at = most_cpus(found, app)
    best = min(at.values(), key=lambda t: t.cycles)
    ratios = ", ".join(
        f"`{name}` {at['dist'].cycles / t.cycles:.2f}" for name, t in at.items() if name != "dist"
    )
    idle = ", ".join(f"`{name}` {t.idle:.0%}" for name, t in at.items())
    return (
        f"The paper: {app.paper}. Here, on {CPUS[-1]} processors, `{best.policy}` is fastest. The "
        f"time of `dist`, divided by that of the others: {ratios}. Idle: {idle}."
    )


def most_cpus(found: Sequence[Timing], app: App) -> dict[str, Timing]:
    """By policy."""
    return {t.policy: t for t in found if (t.app, t.cpus) == (app.name, CPUS[-1])}


def idle_table(found: Sequence[Timing], app: App) -> str:
    rows = [
        [
            f"`{policy}`",
            PAPER_NAMES[policy],
            *(f"{t.idle_cycles / 1e6:.2f} ({t.idle:.0%})" for t in of(found, app, policy)),
        ]
        for policy in POLICIES
    ]
    head = ["policy", "in the paper", *(markdown.counted(n, "CPU") for n in CPUS)]
    return markdown.table(head, rows, left=(0, 1))


def idle_verdict(found: Sequence[Timing], app: App) -> str:
    at = most_cpus(found, app)
    ratios = [at[name].idle_cycles / at["single"].idle_cycles for name in ("central", "dist")]
    if min(ratios) > 10:
        said = "reproduced"
    elif min(ratios) > 1:
        said = "more, as in the paper, but not ten times"
    else:
        said = "not reproduced"
    times = markdown.joined([f"{ratio:.1f}" for ratio in ratios])
    return (
        "The paper: `single` idles less than a tenth as long as the others. Here, on "
        f"{CPUS[-1]} processors, `central` and `dist` idle "
        f"{times} times as long as `single`: {said}."
    )


def spent_table(found: Sequence[Timing], app: App) -> str:
    """What the CPUs did, on the most of them."""
    rows = [
        [
            f"`{policy}`",
            *(f"{cycles / 1e6:.2f}" for cycles in t.spent.values()),
            f"{min(t.asleep):.0%} to {max(t.asleep):.0%}",
        ]
        for policy, t in most_cpus(found, app).items()
    ]
    return markdown.table(["policy", *SPENT, "asleep, by CPU"], rows)


def why(found: Sequence[Timing], app: App) -> str:
    """Where a queue for each CPU (dist) and one for all (single) differ, on the most CPUs."""
    at = most_cpus(found, app)
    fast, slow = sorted((at["dist"], at["single"]), key=lambda t: t.cycles)
    more = {name: slow.spent[name] - fast.spent[name] for name in SPENT}
    ordered = sorted(more, key=lambda name: -abs(more[name]))
    parts = ", ".join(f"{more[name] / 1e6:+.2f} {name}" for name in ordered)
    text = (
        f"Why: on {CPUS[-1]} processors `{slow.policy}` takes {slow.cycles / fast.cycles:.2f} "
        f"times as long as `{fast.policy}`. In million cycles of all CPUs the difference is: "
        f"{parts}. "
    )
    if slow.cycles < (1 + SAME) * fast.cycles:
        saved, lost = (choose(more, key=lambda name: more[name]) for choose in (min, max))
        return text + f"So what `{slow.policy}` saves in {saved} it loses in {lost}."
    if more[ASLEEP] < sum(more.values()) / 2:
        first = max(more, key=lambda name: more[name])
        return text + f"So most of the difference is not sleep, but {first}."
    spreads = [max(t.asleep) - min(t.asleep) for t in (slow, fast)]
    text += (
        "So sleep is most of the difference. Asleep were, by CPU, "
        f"{min(slow.asleep):.0%} to {max(slow.asleep):.0%} under `{slow.policy}`, "
        f"{min(fast.asleep):.0%} to {max(fast.asleep):.0%} under `{fast.policy}`: "
    )
    text += (
        "the CPUs are unevenly loaded, and one without work cannot take that of another."
        if spreads[0] > 2 * spreads[1]
        else "all CPUs sleep more, because a CPU whose threads all wait cannot run others."
    )
    lock = fast.spent[ATOMIC] - slow.spent[ATOMIC]
    return text + (
        f" Waits for atomic instructions, those for the queues' locks among them, are "
        f"{lock / 1e6:+.2f} million cycles under `{fast.policy}` against `{slow.policy}`"
        + (": a lock that CPUs share costs less than this sleep." if lock < more[ASLEEP] else ".")
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
    for app, title in zip(APPS, ("Figure 5: MJPEG", "Figure 7: COMM"), strict=True):
        parts += [
            f"### {title}",
            markdown.picture(app.picture, f"Execution time of {app.name}"),
            "Million cycles, and in brackets the share of the cycles in which processors slept:",
            table(found, app),
            verdict(found, app),
            f"What all {CPUS[-1]} CPUs did, in million cycles. Sleep is counted while the "
            "application runs; the other columns also have the start and the end of the program, "
            "on CPU 0. The last column has the smallest and the largest share of sleep of a CPU:",
            spent_table(found, app),
            why(found, app),
        ]
        if app == APPS[0]:
            parts += [
                "### Figure 6: MJPEG, idle cycles",
                markdown.picture(IDLE_PICTURE, f"Idle cycles of {app.name}"),
                "Million cycles asleep of all CPUs, and in brackets their share:",
                idle_table(found, app),
                idle_verdict(found, app),
            ]
    return parts
