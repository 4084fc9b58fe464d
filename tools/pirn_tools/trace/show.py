# SPDX-License-Identifier: MIT
"""The tables of `pirn trace stat`, for a terminal and, the same cells, for the HTML report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

from pirn_tools.trace.groups import Distribution
from pirn_tools.trace.stat import CpuStat, Stat, ThreadStat, reasons_of


@dataclass(frozen=True)
class Cells:
    """A table before it is drawn: the first column is text, the others are numbers."""

    title: str
    head: list[str]
    rows: list[list[str]]
    note: str = ""


def duration(ns: float) -> str:
    """In the unit that fits, three digits or more."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= size:
            return (
                f"{ns / size:.3g} {unit}" if abs(ns) < 1000 * size else f"{ns / size:,.0f} {unit}"
            )
    return f"{ns:.0f} ns"


def _ms(ns: float) -> str:
    return f"{ns / 1e6:,.3f}"


def _percent(share: float) -> str:
    return f"{100 * share:.3f}"


CPU_ROWS: list[tuple[str, Callable[[CpuStat], str]]] = [
    ("Number of interrupts", lambda c: f"{c.interrupts:,}"),
    ("Total program time (ms)", lambda c: _ms(c.time)),
    ("Total time in interrupts (ms)", lambda c: _ms(c.interrupt_time)),
    ("Total time in interrupts (%)", lambda c: _percent(c.share(c.interrupt_time))),
    ("Average time in interrupts (ms)", lambda c: f"{c.interrupt_average / 1e6:.5f}"),
    ("Interrupts per second", lambda c: f"{c.interrupts_per_second:.1f}"),
    ("Shortest interrupt (ms)", lambda c: f"{c.interrupt_shortest / 1e6:.5f}"),
    ("Longest interrupt (ms)", lambda c: f"{c.interrupt_longest / 1e6:.5f}"),
    ("Idle (%)", lambda c: _percent(c.share(c.idle_time))),
    ("... asleep (%)", lambda c: _percent(c.share(c.sleep_time))),
    ("Switches", lambda c: f"{c.switches:,}"),
]
CPU_LATER: list[tuple[str, Callable[[CpuStat], str]]] = [
    ("Preemptions", lambda c: f"{c.preemptions:,}"),
    ("Steals", lambda c: f"{c.steals:,}"),
    ("... threads taken", lambda c: f"{c.stolen:,}"),
    ("Work requests", lambda c: f"{c.requests:,}"),
    ("... answered", lambda c: f"{c.answers:,}"),
    ("Migrations to here", lambda c: f"{c.migrations:,}"),
    ("Other CPUs woken", lambda c: f"{c.kicks:,}"),
]


def cpu_table(stat: Stat, most: int = 16) -> Cells:
    """A column for each CPU."""
    cpus = stat.cpus[:most]
    head = ["", *(f"CPU {cpu.cpu}" for cpu in cpus)]
    rows = [[name, *(cell(cpu) for cpu in cpus)] for name, cell in CPU_ROWS]
    for reason in reasons_of(stat):
        rows.append(
            [f"... {reason}", *(f"{cpu.switches_by_reason.get(reason, 0):,}" for cpu in cpus)]
        )
    rows += [[name, *(cell(cpu) for cpu in cpus)] for name, cell in CPU_LATER]
    hidden = len(stat.cpus) - len(cpus)
    note = f"{hidden} more CPUs: --json has all" if hidden else ""
    return Cells("CPUs", head, rows, note)


THREAD_HEAD = [
    "thread",
    "run",
    "ready",
    "blocked",
    "mostly by",
    "switches",
    "migrations",
    "wake-ups",
    "p50",
    "p90",
    "p99",
    "max",
]


def thread_table(stat: Stat, most: int) -> Cells:
    """The threads that ran longest."""
    threads = sorted(stat.threads, key=lambda one: -one.run)
    rows = [thread_row(one) for one in threads[:most]]
    hidden = len(threads) - len(rows)
    note = f"{hidden:,} more threads, all of which ran less (--threads N, --json)" if hidden else ""
    return Cells("Threads (p50 to max: from wake-up to running)", THREAD_HEAD, rows, note)


def thread_row(one: ThreadStat) -> list[str]:
    longest = max(one.blocked_by.items(), key=lambda item: item[1], default=("-", 0))
    return [
        label(one.number, one.name),
        duration(one.run),
        duration(one.ready),
        duration(one.blocked),
        longest[0],
        f"{one.switches:,}",
        f"{one.migrations:,}",
        f"{one.latency.count:,}",
        *_shares(one.latency),
    ]


def label(number: str, name: str) -> str:
    return f'{number} "{name}"' if name else number


def _shares(one: Distribution) -> list[str]:
    if not one.count:
        return ["-"] * 4
    return [duration(value) for value in (one.p50, one.p90, one.p99, one.max)]


def whole_table(stat: Stat) -> Cells:
    """Distributions over all threads."""
    rows = [
        [name, f"{one.count:,}", duration(one.total), *_shares(one)]
        for name, one in (
            ("wake-up to running", stat.latency),
            ("ready before running", stat.ready),
            ("one turn on a CPU", stat.run),
        )
    ]
    return Cells("All threads", ["", "count", "total", "p50", "p90", "p99", "max"], rows)


def count_table(stat: Stat) -> Cells:
    """How often each event occurs."""
    rows = [[name, f"{number:,}"] for name, number in sorted(stat.counts.items())]
    return Cells("Events", ["event", "count"], rows)


def headline(stat: Stat) -> str:
    """One line: what it is a trace of."""
    program = stat.meta.get("program", "")
    what = f"{Path(program).name}: " if program else ""
    sched = f" under {stat.meta['sched']}" if stat.meta.get("sched") else ""
    return (
        f"{what}{duration(stat.duration)} on {len(stat.cpus)} CPUs{sched}, "
        f"{len(stat.threads):,} threads, {stat.events:,} events"
    )


def draw(console: Console, cells: Cells) -> None:
    """As a table in the terminal."""
    table = RichTable(title=cells.title, title_justify="left", header_style="bold")
    for place, name in enumerate(cells.head):
        table.add_column(name, justify="right" if place else "left", no_wrap=True)
    for row in cells.rows:
        table.add_row(*(cell.replace("[", r"\[") for cell in row))
    console.print(table)
    if cells.note:
        console.print(cells.note, highlight=False, markup=False)
