# SPDX-License-Identifier: MIT
"""`pirn bench figures incoherent`: operations of POSIX threads and two applications on the chip,
with caches that are coherent, and with caches that are not and data that are not cached."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console

from pirn_tools.chip.sweep import Result, Run
from pirn_tools.figures import markdown, mips, mips_apps, on_chip
from pirn_tools.figures.markdown import counted
from pirn_tools.figures.mips import LATENCY, PAPER, RAM_MIB, SMALL, Count, Kernel, What
from pirn_tools.plotting import figure

CPUS = mips.CPUS  # and those of applications: so runs with coherent caches are shared
APP_CPUS = mips_apps.CPUS
KERNELS = (
    Kernel("small-single", "single", "One queue for all CPUs", SMALL),
    Kernel("small-dist", "dist", "A queue for each CPU, threads stay where they are", SMALL),
    Kernel("small-steal", "steal", "A queue for each CPU, from which others steal", SMALL),
)
POLICIES = tuple(mips_apps.POLICIES)  # of the applications
APPS = tuple(sorted(mips_apps.APPS, key=lambda app: app.name))


@dataclass(frozen=True)
class Memory:
    """A chip, and the board whose images run on it."""

    name: str
    board: str
    options: tuple[str, ...]


MEMORIES = (
    Memory("coherent", "pirn-soc", ()),
    Memory("uncached", "pirn-soc-incoherent", ("--incoherent",)),
)
LABELS = {"cycles": "million cycles", "idle_cycles": "million cycles asleep, of all CPUs"}
# Of a hardware thread's cycles, by what it waits for (docs/internals/chip.md, --counters).
DATA = ("load", "store", "atomic", "fence")


@dataclass(frozen=True)
class Row:
    """Of the CSV."""

    memory: str
    kernel: str
    cpus: int
    operation: str
    calls: int
    cycles: float
    most: int
    instructions: float


@dataclass(frozen=True)
class Time:
    memory: str
    app: str
    policy: str
    cpus: int
    cycles: float
    idle: float
    waits: float  # of the cycles of all CPUs, those that wait for data

    @property
    def idle_cycles(self) -> float:
        """Of all CPUs, while the application ran."""
        return self.idle * self.cycles * self.cpus


Plan = dict[Run, tuple[Memory, What]]
AppPlan = dict[Run, tuple[Memory, str, str, int]]


def plan(root: Path, short_: bool) -> Plan:
    found: Plan = {}
    for memory in MEMORIES:
        for kernel in KERNELS[:1] if short_ else KERNELS:
            path = mips.program(root, kernel, memory.board)
            for cpus in CPUS[:1] if short_ else CPUS:
                what = What(kernel, cpus, LATENCY)
                found[mips.run_of(path, what, options=memory.options)] = (memory, what)
    return found


def app_plan(root: Path, folder: Path) -> AppPlan:
    return {
        mips_apps.run_of(
            root,
            folder,
            app,
            mips_apps.POLICIES[policy],
            cpus,
            board=memory.board,
            options=memory.options,
        ): (memory, app.name, policy, cpus)
        for app in APPS
        for memory in MEMORIES
        for policy in POLICIES
        for cpus in APP_CPUS
    }


def row_of(memory: Memory, count: Count) -> Row:
    fields = {name: value for name, value in asdict(count).items() if name != "latency"}
    return Row(memory.name, **fields)


def counts(results: Mapping[Run, Result], what: Plan) -> list[Row]:
    return [
        row_of(memory, count)
        for run, (memory, one) in what.items()
        for count in mips.read(results[run].output, one.kernel.name, one)
    ]


def timings(results: Mapping[Run, Result], what: AppPlan) -> list[Time]:
    """Every run of an application must have the same checksum, with either memory."""
    plain = mips_apps.timings(results, {run: one[1:] for run, one in what.items()})
    return [
        Time(memory.name, t.app, t.policy, t.cpus, t.cycles, t.idle, waits(results[run]))
        for t, (run, (memory, *_)) in zip(plain, what.items(), strict=True)
    ]


def waits(result: Result) -> float:
    harts = len(result.counters["harts"])
    return sum(result.total(cause) for cause in DATA) / (result.cycles * harts)


Values = dict[tuple[str, int, str], Row]


def values(found: Sequence[Row], kernel: Kernel) -> Values:
    return {(r.memory, r.cpus, r.operation): r for r in found if r.kernel == kernel.name}


def sizes(of: Values) -> list[int]:
    return sorted({cpus for _, cpus, _ in of})


def growth(of: Values, cpus: int) -> dict[str, float]:
    """Operation → how many times as many cycles it takes when data are not cached."""
    return {
        name: of["uncached", cpus, name].cycles / of["coherent", cpus, name].cycles
        for name in PAPER
    }


def table(found: Sequence[Row], kernel: Kernel) -> str:
    of = values(found, kernel)
    head = ["operation"]
    for cpus in sizes(of):
        head += [f"{counted(cpus, 'CPU')}, coherent", "not cached", "ratio"]
    rows = []
    for name in PAPER:
        line = [name]
        for cpus in sizes(of):
            line += [f"{of[memory.name, cpus, name].cycles:.0f}" for memory in MEMORIES]
            line.append(f"{growth(of, cpus)[name]:.1f}")
        rows.append(line)
    return markdown.table(head, rows)


def verdict(found: Sequence[Row], kernel: Kernel) -> str:
    of = values(found, kernel)
    parts = []
    for cpus in sizes(of):
        ratios = growth(of, cpus)
        most = max(ratios, key=lambda name: ratios[name])
        least = min(ratios, key=lambda name: ratios[name])
        parts.append(
            f"On {counted(cpus, 'CPU')} operations take {ratios[least]:.1f} "
            f'("{least}") to {ratios[most]:.1f} ("{most}") times as long.'
        )
    if len(parts) > 1:
        parts.append(f"{scaling(of)}.")
    return " ".join(parts)


def scaling(of: Values) -> str:
    """How operations grow with the number of CPUs, for each memory."""
    last = sizes(of)[-1]
    ranges = []
    for memory in MEMORIES:
        by = [of[memory.name, last, n].cycles / of[memory.name, 1, n].cycles for n in PAPER]
        ranges.append(f"{min(by):.1f} to {max(by):.1f} times")
    return f"From 1 to {last} CPUs they grow {ranges[0]} with coherent caches, {ranges[1]} without"


def measured(timed: Sequence[Time]) -> list[mips_apps.App]:
    """Applications of which there are all runs."""
    runs = len(MEMORIES) * len(POLICIES) * len(APP_CPUS)
    return [app for app in APPS if sum(t.app == app.name for t in timed) == runs]


Times = dict[tuple[str, str, str, int], Time]


def by_run(timed: Sequence[Time]) -> Times:
    return {(t.memory, t.app, t.policy, t.cpus): t for t in timed}


def app_table(timed: Sequence[Time]) -> str:
    head = ["application", "policy", "CPUs", "coherent", "not cached", "ratio"]
    rows = []
    of = by_run(timed)
    for app in measured(timed):
        for policy in POLICIES:
            for cpus in APP_CPUS:
                both = [of[memory.name, app.name, policy, cpus] for memory in MEMORIES]
                cells = [f"{t.cycles / 1e6:.2f} ({t.idle:.0%}, {t.waits:.0%})" for t in both]
                ratio = f"{both[1].cycles / both[0].cycles:.1f}"
                rows.append([app.name, f"`{policy}`", str(cpus), *cells, ratio])
    return markdown.table(head, rows, left=(0, 1))


def pictures(app: mips_apps.App) -> dict[str, str]:
    """What is drawn of an application, and the files: the paper's Figures 5 to 7."""
    found = {"cycles": f"incoherent-{app.name}.png"}
    if app == mips_apps.APPS[0]:
        found["idle_cycles"] = f"incoherent-{app.name}-idle.png"
    return found


def draw(timed: Sequence[Time], app: mips_apps.App, name: str, path: Path) -> None:
    """Without coherent caches, by CPUs."""
    of = by_run(timed)
    with figure(path, width=8.0, height=4.5) as axes:
        by_policy = {
            policy: [of["uncached", app.name, policy, cpus] for cpus in APP_CPUS]
            for policy in POLICIES
        }
        mips_apps.lines(axes, app, by_policy, name)
        axes.set_ylabel(LABELS[name])


def speedup(of: Times, memory: str, app: str, policy: str) -> float:
    """How many times as fast the most CPUs are as one."""
    first, last = (of[memory, app, policy, cpus] for cpus in (APP_CPUS[0], APP_CPUS[-1]))
    return first.cycles / last.cycles


def ranking(of: Times, memory: str, app: str, cpus: int) -> str:
    """Policies, the fastest first, with their time as a multiple of its."""
    cycles = {policy: of[memory, app, policy, cpus].cycles for policy in POLICIES}
    order = sorted(cycles, key=lambda policy: cycles[policy])
    others = ", ".join(f"`{name}` {cycles[name] / cycles[order[0]]:.2f}" for name in order[1:])
    return f"`{order[0]}` (the others take, as multiples of its time: {others})"


def app_verdict(timed: Sequence[Time]) -> str:
    of = by_run(timed)
    last = APP_CPUS[-1]
    parts = []
    for app in measured(timed):
        by = "; ".join(
            f"`{policy}` {speedup(of, 'coherent', app.name, policy):.1f} and "
            f"{speedup(of, 'uncached', app.name, policy):.1f}"
            for policy in POLICIES
        )
        ratios = [
            of["uncached", app.name, policy, cpus].cycles
            / of["coherent", app.name, policy, cpus].cycles
            for policy in POLICIES
            for cpus in APP_CPUS
        ]
        parts.append(
            f"{app.name}: without coherent caches it takes {min(ratios):.1f} to {max(ratios):.1f} "
            f"times as long. {last} CPUs are faster than one by these factors, with coherent "
            f"caches and without: {by}. On {last} CPUs the fastest policy with coherent caches is "
            f"{ranking(of, 'coherent', app.name, last)}; without, "
            f"{ranking(of, 'uncached', app.name, last)}."
        )
    return "\n\n".join(parts)


HEAD = """\
Pétrot, Gomez and Hommais also had processors whose caches are not coherent; there a program
flushes the lines of shared variables, or has these variables in memory that is not cached. Here
are the operations and applications of [their figures](mips.md) on [the chip](../internals/chip.md)
with `--incoherent`: a store reaches only the cache of the core that has stored. POSIX threads may
share everything, stacks included, so everything that a program writes is in memory that is not
cached (board `pirn-soc-incoherent`), and only code and constants are in the caches. Beside them
stand the same runs with coherent caches and cached data (board `pirn-soc`).

The libraries, the programs and the second level, which answers after {latency} cycles, are the
same. Each number of an operation is the mean of at least 1,000 calls, in cycles, while all CPUs do
the same at once (`bench/board/kernel_cycles.c`); the libraries of the operations are small.

Not on this page:

- Cores of different speeds ([there](asymmetric.md)): the board `pirn-soc-incoherent` does not tell
  the runtime the speeds of its cores, so its policies refuse the option `capacity`.
- Images of `pirn-soc` on a chip with `--incoherent`: their data are cached, so they end at their
  start, with a message that names the other board.
- Programs that flush lines (`cbo.flush`) instead of leaving data out of the caches: the runtime
  cannot know which data threads share."""

APPS_HEAD = """\
Million cycles, and in brackets two shares: of the application's cycles those in which CPUs slept,
and of the whole run's those in which they waited for data (loads, room in the store buffer, atomic
instructions, fences). `central` and `dist` place threads by loads that a run on one CPU with
coherent caches has measured."""


def page(
    found: Sequence[Row],
    timed: Sequence[Time],
    facts: Mapping[str, str],
    cost: Sequence[str] = (),
) -> str:
    parts = [
        markdown.begin("Without coherent caches", "incoherent", "/incoherent.py"),
        HEAD.format(latency=LATENCY),
        markdown.facts(facts),
        "## Cycles of operations",
    ]
    for kernel in KERNELS:
        if values(found, kernel):
            parts += [f"### {kernel.what} (`{kernel.policy}`)", table(found, kernel)]
            parts.append(verdict(found, kernel))
    if timed:
        parts += ["## Applications", APPS_HEAD, app_table(timed), app_verdict(timed)]
        parts.append(
            "[With coherent caches](mips.md#applications-under-three-organizations) these "
            "are the paper's Figures 5 to 7. Without:"
        )
        for app in measured(timed):
            parts += [
                markdown.picture(picture, f"{app.name} without coherent caches, {LABELS[name]}")
                for name, picture in pictures(app).items()
            ]
        missing = [app.name for app in APPS if app not in measured(timed)]
        parts += [f"Not measured yet: {', '.join(missing)}."] if missing else []
    return "\n\n".join([*parts, *cost]) + "\n"


def write_csv(path: Path, lines: Iterable[Row | Time], of: type[Row | Time]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(list(of.__dataclass_fields__))
        writer.writerows(asdict(one).values() for one in lines)


def reproduce(root: Path, folder: Path, jobs: int, short_: bool, console: Console) -> None:
    what = plan(root, short_)
    sweep = on_chip.sweep(root, jobs)
    results = sweep.run(list(what), console)
    found = counts(results, what)
    timed: list[Time] = []
    programs: AppPlan = {}
    if not short_:
        for memory in MEMORIES:
            mips.build(root, memory.board, [app.name for app in APPS], board=memory.board)
        results |= sweep.run(mips_apps.measuring(root, sweep.folder), console)
        programs = app_plan(root, sweep.folder)
        results |= sweep.run(list(programs), console)
        timed = timings(results, programs)
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder / "incoherent.csv", found, Row)
    if timed:
        write_csv(folder / "incoherent-apps.csv", timed, Time)
        (folder / "img").mkdir(exist_ok=True)
        for app in measured(timed):
            for name, picture in pictures(app).items():
                draw(timed, app, name, folder / "img" / picture)
    facts = on_chip.facts(
        root,
        f"incoherent{' --short' if short_ else ''}",
        f"{RAM_MIB} MiB, 4 banks, one hardware thread a core",
        results.values(),
    )
    parts = {run: f"operations, {memory.name}" for run, (memory, _) in what.items()}
    parts |= {run: f"applications, {memory.name}" for run, (memory, *_) in programs.items()}
    cost = on_chip.cost_section(results, parts, "loads of the applications")
    on_chip.write(folder / "incoherent.md", page(found, timed, facts, cost), console)
