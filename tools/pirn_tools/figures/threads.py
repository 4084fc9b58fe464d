# SPDX-License-Identifier: MIT
"""`pirn bench figures threads`: POSIX threads whose ready queues are in the hardware scheduler,
against policies in software, in cycles of the chip of hw/."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from pirn_tools import machine
from pirn_tools.chip.config import Config
from pirn_tools.chip.sweep import Result, Run, Sweep
from pirn_tools.figures import mips, mips_apps
from pirn_tools.figures.mips import BOARD, LATENCY, PAPER, RAM_MIB, SMALL, Count, Kernel
from pirn_tools.paths import short
from pirn_tools.plotting import figure

ENTRIES = 64
CPUS = (1, 4, 8)
LATENCIES = (8, 32, 128)
PLOTTED_CPUS = 4
APP_CPUS = 4
PICTURE = "threads-latency.png"
OPERATIONS = tuple(name for name in PAPER if "interrupt" not in name)
# In small libraries of one policy each, so that no code is measured that another one needs.
KERNELS = tuple(
    Kernel(f"small-{policy}", policy, f"`{policy}`", SMALL) for policy in ("hw", "single", "steal")
)
POLICIES: Mapping[str, str] = {**mips_apps.POLICIES, "request": "request", "hw": "hw"}


@dataclass(frozen=True)
class What:
    kernel: Kernel
    cpus: int
    latency: int


def config(cpus: int) -> Config:
    """One chip for all policies: with the scheduler, also where it is not used."""
    return Config(cores=cpus, ram_mib=RAM_MIB, scheduler=ENTRIES)


def plan(root: Path, short_: bool) -> dict[Run, What]:
    found = {}
    for kernel in KERNELS:
        path = mips.program(root, kernel)
        wanted = [(cpus, LATENCY) for cpus in (CPUS[:1] if short_ else CPUS)]
        if not short_:
            wanted += [(PLOTTED_CPUS, latency) for latency in LATENCIES if latency != LATENCY]
        for cpus, latency in wanted:
            found[Run(path, config(cpus), latency)] = What(kernel, cpus, latency)
    return found


def counts(results: Mapping[Run, Result], what: Mapping[Run, What]) -> list[Count]:
    return [
        Count(
            one.kernel.policy,
            one.cpus,
            one.latency,
            row["operation"],
            int(row["calls"]),
            float(row["cycles"]),
            int(row["most"]),
            float(row["instructions"]),
        )
        for run, one in what.items()
        for row in csv.DictReader(results[run].output.splitlines())
        if row["operation"] in OPERATIONS
    ]


def app_plan(root: Path, folder: Path) -> dict[Run, tuple[str, str, int]]:
    found = {}
    for app in mips_apps.APPS:
        for policy, spec in POLICIES.items():
            run = mips_apps.run_of(root, folder, app, spec, APP_CPUS)
            chip = Run(
                run.program,
                config(APP_CPUS),
                run.latency,
                run.options,
                run.settings,
                run.words,
                run.files,
            )
            found[chip] = (app.name, policy, APP_CPUS)
    return found


def rows(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cell(found: Mapping[tuple[str, int, str], Count], policy: str, cpus: int, name: str) -> str:
    count = found.get((policy, cpus, name))
    return "-" if count is None else f"{count.cycles:.0f} ({count.instructions:.0f})"


def at_latency(found: Sequence[Count], latency: int) -> dict[tuple[str, int, str], Count]:
    return {(c.kernel, c.cpus, c.operation): c for c in found if c.latency == latency}


def table(found: Sequence[Count], cpus: int) -> str:
    values = at_latency(found, LATENCY)
    policies = [kernel.policy for kernel in KERNELS]
    lines = [
        ["operation", *(f"`{name}`" for name in policies), "`hw` against the best of the others"]
    ]
    lines.append([":--", *["--:"] * (len(policies) + 1)])
    for name in OPERATIONS:
        best = min(values[p, cpus, name].cycles for p in policies if p != "hw")
        ratio = values["hw", cpus, name].cycles / best
        lines.append([name, *(cell(values, p, cpus, name) for p in policies), f"{ratio:.2f}"])
    return rows(lines)


def verdict(found: Sequence[Count], cpus: int) -> str:
    values = at_latency(found, LATENCY)

    def faster(than: str) -> list[str]:
        return [
            name
            for name in OPERATIONS
            if values["hw", cpus, name].cycles < 0.95 * values[than, cpus, name].cycles
        ]

    parts = [
        f"than `{than}` in {len(faster(than))} of {len(OPERATIONS)} rows"
        + (f" ({'; '.join(faster(than))})" if faster(than) else "")
        for than in ("single", "steal")
    ]
    return f"`hw` needs at least 5 % fewer cycles {', and '.join(parts)}."


def app_table(timed: Sequence[mips_apps.Timing]) -> str:
    lines = [["policy", *(app.title for app in mips_apps.APPS)]]
    lines.append([":--", *["--:"] * len(mips_apps.APPS)])
    for policy in POLICIES:
        cells = []
        for app in mips_apps.APPS:
            one = next(t for t in timed if (t.app, t.policy) == (app.name, policy))
            cells.append(f"{one.cycles / 1e6:.2f} ({one.idle:.0%})")
        lines.append([f"`{policy}`", *cells])
    return rows(lines)


def app_verdict(timed: Sequence[mips_apps.Timing]) -> str:
    parts = []
    for app in mips_apps.APPS:
        mine = {t.policy: t.cycles for t in timed if t.app == app.name}
        best = min((p for p in mine if p != "hw"), key=lambda p: mine[p])
        parts.append(
            f"{app.name}: `hw` takes {mine['hw'] / mine[best]:.2f} of the time of `{best}`"
        )
    return f"Against the best of the others, {'; '.join(parts)}."


def draw(found: Sequence[Count], path: Path) -> None:
    """hw against the better one of the others, by latency."""
    with figure(path, width=8.0, height=4.5) as axes:
        for name in OPERATIONS:
            points = []
            for latency in LATENCIES:
                values = at_latency(found, latency)
                best = min(values[k.policy, PLOTTED_CPUS, name].cycles for k in KERNELS[1:])
                points.append((latency, values["hw", PLOTTED_CPUS, name].cycles / best))
            axes.plot(*zip(*points, strict=True), marker="o", label=name)
        axes.axhline(1.0, color="black", linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.set_xticks(LATENCIES, [str(one) for one in LATENCIES])
        axes.set_xlabel("latency of the second level, cycles")
        axes.set_ylabel("cycles of hw / of the better one of single and steal")
        axes.grid(alpha=0.3)
        axes.figure.legend(fontsize="small", loc="outside right upper")


HEAD = """\
What do POSIX threads cost if the hardware holds the ready ones? Under policy `hw` a ready thread
is one word in a queue of the chip's hardware scheduler
([how](../internals/chip.md#pirn-on-it)); under `single` it is in a list in memory that all
processors share, under `steal` in a list of its processor. Everything else is the same: one chip
with {entries} entries in each queue, one hardware thread a core, a second level that answers after
{latency} cycles, and the operations of `bench/board/kernel_cycles.c`, which all processors execute
at the same time. Waits for mutexes and semaphores are software's under all policies.

A cell is the mean number of cycles of at least 1,000 calls, and in brackets the number of
instructions. The libraries are small: without tracing, statistics, cancellation and priorities."""


def page(
    found: Sequence[Count], timed: Sequence[mips_apps.Timing], facts: Mapping[str, str]
) -> str:
    parts = [
        "<!-- SPDX-License-Identifier: MIT -->\n<!-- Written by `pirn bench figures threads`: "
        "change pirn_tools/figures/threads.py. -->\n# POSIX threads on the hardware scheduler",
        HEAD.format(entries=ENTRIES, latency=LATENCY),
        rows([["", ""], ["---", "---"], *facts.items()]),
    ]
    for cpus in sorted({c.cpus for c in found if c.latency == LATENCY}):
        parts += [
            f"## {cpus} CPU{'s' if cpus > 1 else ''}",
            table(found, cpus),
            verdict(found, cpus),
        ]
    if timed:
        parts += [
            "## Against memory latency",
            f"![Ratio of cycles by latency, {PLOTTED_CPUS} CPUs](img/{PICTURE})",
            "Below the line the hardware's queues are faster. The ratios change little with the "
            "latency: a slow memory slows down the queues in memory, but also what all policies "
            "do alike with threads' descriptors and stacks.",
            "## Applications",
            f"Million cycles on {APP_CPUS} CPUs, and in brackets the share of the cycles in which "
            "processors slept. The library is whole. A processor that waits for a thread in the "
            "hardware does not count as asleep.",
            app_table(timed),
            app_verdict(timed),
        ]
    return "\n\n".join(parts) + "\n"


def reproduce(root: Path, folder: Path, jobs: int, short_: bool, console: Console) -> None:
    what = plan(root, short_)
    kept = root / "build" / "hw" / "runs"
    sweep = Sweep(root, kept, jobs)
    results = sweep.run(list(what), console)
    found = counts(results, what)
    timed: list[mips_apps.Timing] = []
    (folder / "img").mkdir(parents=True, exist_ok=True)
    if not short_:
        mips.build(root, root / "build" / BOARD, [app.name for app in mips_apps.APPS])
        sweep.run(mips_apps.measuring(root, kept), console)
        programs = app_plan(root, kept)
        timed = mips_apps.timings(sweep.run(list(programs), console), programs)
        draw(found, folder / "img" / PICTURE)
    mips.write_csv(folder / "threads.csv", found)
    facts = {
        "command": f"`pirn bench figures threads{' --short' if short_ else ''}`",
        "commit": machine.commit(root),
        "chip": f"RV32IMA, {RAM_MIB} MiB, 4 banks, hardware scheduler of {ENTRIES} entries",
        "runs": f"{len(results)}, "
        f"{sum(r.cycles for r in results.values()) / 1e6:.0f} million cycles",
    }
    (folder / "threads.md").write_text(page(found, timed, facts), encoding="utf-8")
    console.print(f"page: {short(folder / 'threads.md')}", highlight=False)
