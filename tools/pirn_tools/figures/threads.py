# SPDX-License-Identifier: MIT
"""`pirn bench figures threads`: POSIX threads whose ready queues are in the hardware scheduler,
against policies in software, in cycles of the chip of hw/."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from pirn_tools.chip.sweep import Result, Run
from pirn_tools.figures import markdown, mips, mips_apps, on_chip
from pirn_tools.figures.mips import (
    LATENCY,
    PAPER,
    RAM_MIB,
    SMALL,
    Count,
    Kernel,
    Key,
    What,
    at_latency,
)
from pirn_tools.plotting import figure

# One chip for all policies: with the scheduler, also where it is not used.
ENTRIES = 64
CPUS = (1, 4, 8)
LATENCIES = (8, 32, 128)
PLOTTED_CPUS = 4
APP_CPUS = 4
PICTURE = "threads-latency.png"
WAITS = (
    "wait for a semaphore, to the next thread",
    "post a semaphore, a thread waits",
    "wait for a condition, to the next thread",
    "signal a condition, a thread waits",
    "take a full word",
    "write an empty word, nobody waits",
    "take an empty word, to the next thread",
    "write an empty word, a thread waits",
)
OPERATIONS = (*(name for name in PAPER if "interrupt" not in name), *WAITS)
# `steal` leaves pairs of threads on a CPU each, so that too few of these waits are counted. Not at
# other latencies: with 128 cycles they take an hour.
WITH_WAITS = ("hw", "single")
# In small libraries of one policy each, so that no code is measured that another one needs.
KERNELS = tuple(
    Kernel(f"small-{policy}", policy, f"`{policy}`", SMALL) for policy in ("hw", "single", "steal")
)
POLICIES: Mapping[str, str] = {**mips_apps.POLICIES, "request": "request", "hw": "hw"}


def plan(root: Path, short_: bool) -> dict[Run, What]:
    found = {}
    for kernel in KERNELS:
        plain = mips.program(root, kernel)
        waits = mips.program(root, kernel, target="kernel_waits")
        wanted = [(cpus, LATENCY) for cpus in (CPUS[:1] if short_ else CPUS)]
        if not short_:
            wanted += [(PLOTTED_CPUS, latency) for latency in LATENCIES if latency != LATENCY]
        for cpus, latency in wanted:
            what = What(kernel, cpus, latency)
            with_waits = kernel.policy in WITH_WAITS and latency == LATENCY
            found[mips.run_of(waits if with_waits else plain, what, ENTRIES)] = what
    return found


def counts(results: Mapping[Run, Result], what: Mapping[Run, What]) -> list[Count]:
    return [
        count
        for run, one in what.items()
        for count in mips.read(results[run].output, one.kernel.policy, one)
        if count.operation in OPERATIONS
    ]


def app_plan(root: Path, folder: Path) -> dict[Run, tuple[str, str, int]]:
    return {
        mips_apps.run_of(root, folder, app, spec, APP_CPUS, ENTRIES): (app.name, policy, APP_CPUS)
        for app in mips_apps.APPS
        for policy, spec in POLICIES.items()
    }


def cell(found: Mapping[Key, Count], policy: str, cpus: int, name: str) -> str:
    count = found.get((policy, cpus, name))
    return "-" if count is None else f"{count.cycles:.0f} ({count.instructions:.0f})"


def table(found: Sequence[Count], cpus: int) -> str:
    values = at_latency(found, LATENCY)
    policies = [kernel.policy for kernel in KERNELS]
    head = ["operation", *(f"`{name}`" for name in policies), "`hw`, divided by the best other"]
    rows = []
    for name in OPERATIONS:
        best = min(
            values[p, cpus, name].cycles
            for p in policies
            if p != "hw" and (p, cpus, name) in values
        )
        ratio = values["hw", cpus, name].cycles / best
        rows.append([name, *(cell(values, p, cpus, name) for p in policies), f"{ratio:.2f}"])
    return markdown.table(head, rows)


def verdict(found: Sequence[Count], cpus: int) -> str:
    values = at_latency(found, LATENCY)

    def measured(than: str) -> list[str]:
        return [name for name in OPERATIONS if (than, cpus, name) in values]

    def faster(than: str) -> list[str]:
        return [
            name
            for name in measured(than)
            if values["hw", cpus, name].cycles < 0.95 * values[than, cpus, name].cycles
        ]

    parts = [
        f"than `{than}` in {len(faster(than))} of {len(measured(than))} rows"
        + (f" ({'; '.join(faster(than))})" if faster(than) else "")
        for than in ("single", "steal")
    ]
    return f"`hw` needs at least 5 % fewer cycles {', and '.join(parts)}."


def app_table(timed: Sequence[mips_apps.Timing]) -> str:
    at = {(t.app, t.policy): t for t in timed}
    rows = [
        [f"`{policy}`", *(mips_apps.cell(at[app.name, policy]) for app in mips_apps.APPS)]
        for policy in POLICIES
    ]
    return markdown.table(["policy", *(app.title for app in mips_apps.APPS)], rows)


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
        for name in (name for name in OPERATIONS if name not in WAITS):
            points = []
            for latency in LATENCIES:
                values = at_latency(found, latency)
                best = min(
                    values[k.policy, PLOTTED_CPUS, name].cycles
                    for k in KERNELS[1:]
                    if (k.policy, PLOTTED_CPUS, name) in values
                )
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
processors share, under `steal` in a list of its processor
([other policies](../guide/getting-started.md#choosing-a-scheduler)). Everything else is the same: a
chip with one hardware thread a core, which has the hardware scheduler with {entries} entries in
each queue under all policies; a second level of memory that answers after {latency} cycles; and
the operations of `bench/board/kernel_cycles.c`, which all processors execute at the same time.
Waits for mutexes, semaphores and conditions are in software under all policies. Waits for
Full/Empty words are the hardware's under `hw`: a thread that takes an empty word waits in the
hardware, which makes it ready when another thread writes the word. Such a word is also a mutex:
take is lock, write is unlock. Words, and waits for semaphores and conditions, are not measured
under `steal`, which leaves pairs of threads on a CPU each.

A cell is the mean number of cycles of at least 1,000 calls, and in brackets the number of
instructions. The libraries are small: without tracing, statistics, cancellation and priorities."""


def page(
    found: Sequence[Count], timed: Sequence[mips_apps.Timing], facts: Mapping[str, str]
) -> str:
    parts = [
        markdown.begin("POSIX threads on the hardware scheduler", "threads", "/threads.py"),
        HEAD.format(entries=ENTRIES, latency=LATENCY),
        markdown.facts(facts),
    ]
    for cpus in sorted({c.cpus for c in found if c.latency == LATENCY}):
        parts += [
            f"## {markdown.counted(cpus, 'CPU')}",
            table(found, cpus),
            verdict(found, cpus),
        ]
    if timed:
        parts += [
            "## Against memory latency",
            markdown.picture(PICTURE, f"Ratio of cycles by latency, {PLOTTED_CPUS} CPUs"),
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
    sweep = on_chip.sweep(root, jobs)
    results = sweep.run(list(what), console)
    found = counts(results, what)
    programs = {} if short_ else app_plan(root, sweep.folder)
    if programs:
        results |= mips_apps.measure(sweep, list(programs), console)
    timed = mips_apps.timings(results, programs)
    (folder / "img").mkdir(parents=True, exist_ok=True)
    if not short_:
        draw(found, folder / "img" / PICTURE)
    mips.write_csv(folder / "threads.csv", found)
    facts = on_chip.facts(
        root,
        f"threads{' --short' if short_ else ''}",
        f"{RAM_MIB} MiB, 4 banks, hardware scheduler of {ENTRIES} entries",
        results.values(),
    )
    on_chip.write(folder / "threads.md", page(found, timed, facts), console)
