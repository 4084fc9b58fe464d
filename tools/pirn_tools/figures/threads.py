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
PLOTTED = tuple(name for name in PAPER if "interrupt" not in name)
OPERATIONS = (*PLOTTED, *WAITS)
# `steal` leaves pairs of threads on a CPU each, so that too few of these waits are counted. Not at
# other latencies: with 128 cycles they take an hour.
WITH_WAITS = ("hw", "single", "dist")
# In small libraries of one policy each, so that no code is measured that another one needs.
OTHERS = ("single", "dist", "steal")
KERNELS = tuple(
    Kernel(f"small-{policy}", policy, f"`{policy}`", SMALL) for policy in ("hw", *OTHERS)
)
CLOSE = 0.05  # a smaller difference is none
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


Values = Mapping[Key, Count]


def best_other(values: Values, cpus: int, name: str) -> Count:
    """The count of the policy in software that needs the fewest cycles."""
    those = (values[p, cpus, name] for p in OTHERS if (p, cpus, name) in values)
    return min(those, key=lambda one: one.cycles)


def ratio(values: Values, cpus: int, name: str) -> float:
    return values["hw", cpus, name].cycles / best_other(values, cpus, name).cycles


def table(found: Sequence[Count], cpus: int) -> str:
    values = at_latency(found, LATENCY)
    policies = [kernel.policy for kernel in KERNELS]
    head = ["operation", *(f"`{name}`" for name in policies), "`hw`, divided by the best other"]
    rows = [
        [name, *(cell(values, p, cpus, name) for p in policies), f"{ratio(values, cpus, name):.2f}"]
        for name in OPERATIONS
    ]
    return markdown.table(head, rows)


def verdict(found: Sequence[Count], cpus: int) -> str:
    """In how many rows hw wins, against each of the others and against the best; what it loses."""
    values = at_latency(found, LATENCY)
    parts = []
    for than in OTHERS:
        measured = [name for name in OPERATIONS if (than, cpus, name) in values]
        fewer = sum(
            values["hw", cpus, name].cycles < (1 - CLOSE) * values[than, cpus, name].cycles
            for name in measured
        )
        parts.append(f"than `{than}` in {fewer} of {len(measured)} rows")
    ratios = {name: ratio(values, cpus, name) for name in OPERATIONS}
    wins = [f"{name}, {r:.2f}" for name, r in ratios.items() if r < 1 - CLOSE]
    losses = [
        f"{name}, {r:.2f} ({best_other(values, cpus, name).kernel}; "
        f"{more_instructions(values, cpus, name)})"
        for name, r in ratios.items()
        if r > 1 + CLOSE
    ]
    return (
        f"`hw` needs at least {CLOSE:.0%} fewer cycles {', '.join(parts)}. Than the best of them "
        f"it needs fewer in {listed(wins)}, and more in {listed(losses)}."
    )


def listed(rows: Sequence[str]) -> str:
    """How many they are, and which."""
    named = f" ({'; '.join(rows)})" if rows else ""
    return f"{len(rows)} of {len(OPERATIONS)} rows{named}"


def more_instructions(values: Values, cpus: int, name: str) -> str:
    """How many instructions hw executes more, or fewer, than the best of the others."""
    more = round(
        values["hw", cpus, name].instructions - best_other(values, cpus, name).instructions
    )
    return f"{abs(more)} instructions {'more' if more >= 0 else 'fewer'}"


def by_latency(found: Sequence[Count], name: str) -> list[tuple[int, float]]:
    """The ratio to the best other at each latency."""
    return [(one, ratio(at_latency(found, one), PLOTTED_CPUS, name)) for one in LATENCIES]


def latency_verdict(found: Sequence[Count]) -> str:
    """Which ratios change with the latency of the memory."""
    grow: list[str] = []
    shrink: list[str] = []
    stay: list[str] = []
    for name in PLOTTED:
        ratios = [value for _, value in by_latency(found, name)]
        first, last = ratios[0], ratios[-1]
        kind = stay if abs(last - first) <= CLOSE else grow if last > first else shrink
        kind.append(f"{name}, {' to '.join(f'{value:.2f}' for value in (first, last))}")
    parts = [
        f"{what} in {len(names)} of {len(PLOTTED)} rows" + (f" ({'; '.join(names)})" * bool(names))
        for what, names in (
            (f"changes by at most {CLOSE:.2f}", stay),
            ("becomes smaller", shrink),
            ("becomes larger", grow),
        )
    ]
    return (
        "Below the line the hardware's queues are faster. "
        f"From {LATENCIES[0]} to {LATENCIES[-1]} cycles the ratio {', '.join(parts)}. A slow "
        "memory slows down queues in memory, but also what all policies do alike with "
        "descriptors and stacks of threads."
    )


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
    """hw against the best of the others, by latency."""
    with figure(path, width=8.0, height=4.5) as axes:
        for name in PLOTTED:
            points = by_latency(found, name)
            axes.plot(*zip(*points, strict=True), marker="o", label=name)
        axes.axhline(1.0, color="black", linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.set_xticks(LATENCIES, [str(one) for one in LATENCIES])
        axes.set_xlabel("latency of the second level, cycles")
        axes.set_ylabel("cycles of hw / of the best of " + ", ".join(OTHERS))
        axes.grid(alpha=0.3)
        axes.figure.legend(fontsize="small", loc="outside right upper")


HEAD = """\
What do POSIX threads cost if the hardware holds the ready ones? Under policy `hw` a ready thread
is one word in a queue of the chip's hardware scheduler ([how](../internals/chip.md#pirn-on-it));
under `single` it is in a list in memory that all processors share, under `dist` and `steal` in a
list of its processor, which `steal` lets others take from ([other
policies](../guide/getting-started.md#choosing-a-scheduler)). All else is the same: a chip with one
hardware thread a core, which has the hardware scheduler with {entries} entries in each queue under
all policies; a second level of memory that answers after {latency} cycles; and the operations of
`bench/board/kernel_cycles.c`, which all processors execute at the same time. Waits for mutexes,
semaphores and conditions are in software under all policies. Waits for Full/Empty words are the
hardware's under `hw`: a thread that takes an empty word waits in the hardware, which makes it
ready when another thread writes the word. Such a word is also a mutex: take is lock, write is
unlock. Words, and waits for semaphores and conditions, are not measured under `steal`, which
leaves pairs of threads on a CPU each.

Under `hw` a switch gives the thread to the queue with one instruction, and takes the next with
another. `give` waits until the processor's earlier stores are seen by all, `take.for` for the
queue's answer, and the runtime looks whether the thread that came had waited for a word. A list
that only one processor uses needs none of that; one that all share needs a lock. Only under `dist`
a ready thread never goes to another processor, so that one without work may wait beside one with
many threads: these operations, of which all processors do the same, do not show that.

A cell is the mean number of cycles of at least 1,000 calls, and in brackets the number of
instructions. The libraries are small: without tracing, statistics, cancellation and priorities."""


def page(
    found: Sequence[Count],
    timed: Sequence[mips_apps.Timing],
    facts: Mapping[str, str],
    cost: Sequence[str] = (),
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
            latency_verdict(found),
            "## Applications",
            f"Million cycles on {APP_CPUS} CPUs, and in brackets the share of the cycles in which "
            "processors slept. The library is whole. A processor that waits for a thread in the "
            "hardware does not count as asleep.",
            app_table(timed),
            app_verdict(timed),
        ]
    return "\n\n".join([*parts, *cost]) + "\n"


def part_of(what: What) -> str:
    """Of the page, for the table of its cost."""
    if what.latency != LATENCY:
        return "operations against latency"
    return f"operations on {markdown.counted(what.cpus, 'CPU')}"


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
    parts = {run: part_of(one) for run, one in what.items()}
    parts |= dict.fromkeys(programs, "applications")
    cost = on_chip.cost_section(results, parts, "loads of the applications")
    on_chip.write(folder / "threads.md", page(found, timed, facts, cost), console)
