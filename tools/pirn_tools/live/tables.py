# SPDX-License-Identifier: MIT
"""Tables of workers and threads, for `pirn ps` and `pirn top`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pirn_tools.live.snapshot import Cpu, Runtime, Snapshot, Thread
from pirn_tools.live.waits import NS, Waits, sched_text, state_text

ORDER = {"running": 0, "call": 1, "ready": 2, "blocked": 3, "foreign": 4}
STYLE = {"running": "green", "call": "cyan", "ready": "yellow"}
Key = tuple[float | str, ...]


class Row:
    """A thread, with what is looked up for it only when it is shown."""

    def __init__(self, thread: Thread, waits: Waits, share: float | None) -> None:
        self.thread, self._waits = thread, waits
        self.share = share  # of a CPU, since the last look
        self.equal: list[Row] = []  # the others for which this one stands

    @cached_property
    def waits(self) -> str:
        """For what."""
        wait = self._waits.of(self.thread)
        return wait.text if wait is not None else self._waits.call_text(self.thread)

    @property
    def name(self) -> str:
        """That of the program says nothing."""
        t = self.thread
        return "main" if t.main and t.name == self._waits.command else t.name

    @cached_property
    def sched(self) -> str:
        """Class, and priority or weight."""
        return sched_text(self._waits.runtime, self.thread)

    @cached_property
    def waits_alike(self) -> str:
        """For what, without the time that is left."""
        wait = self._waits.of(self.thread)
        return replace(wait, left=None).text if wait is not None else self.waits

    @property
    def ids(self) -> str:
        """Of this one, and of those for which it stands."""
        shown = ", ".join(row.thread.id for row in (self, *self.equal)[:SHOWN])
        more = len(self.equal) + 1 - SHOWN
        return f"{shown} and {more:,} more" if more > 0 else shown


class Column:
    """Of the threads' table. `key` sorts; the letter chooses it in `top`."""

    def __init__(
        self, title: str, letter: str, text: Callable[[Row], str], key: Callable[[Row], Key]
    ) -> None:
        self.title, self.letter, self.text, self.key = title, letter, text, key


def _time(row: Row) -> str:
    ns = row.thread.time_ns
    return f"{ns / NS:.3f}" if ns is not None else "-"


def _cpu(row: Row) -> str:
    return str(row.thread.cpu) if row.thread.cpu is not None else "-"


COLUMNS = (
    Column("Id", "i", lambda r: r.thread.id, lambda r: ()),
    Column("Name", "n", lambda r: r.name, lambda r: (r.name,)),
    Column("Class", "c", lambda r: r.sched, lambda r: (-r.thread.priority, r.sched)),
    Column("State", "s", lambda r: state_text(r.thread), lambda r: (ORDER[r.thread.state],)),
    Column("CPU", "p", _cpu, lambda r: (r.thread.cpu if r.thread.cpu is not None else 1e9,)),
    Column(
        "%",
        "u",
        lambda r: f"{r.share:.0%}" if r.share is not None else "-",
        lambda r: (-(r.share or 0),),
    ),
    Column("Time, s", "t", _time, lambda r: (-(r.thread.time_ns or 0),)),
    Column("Waits for", "w", lambda r: r.waits, lambda r: (r.waits == "", r.waits)),
)
SHOWN = 4  # ids of equal threads
EQUAL_COLUMNS = (
    Column("Threads", "", lambda r: f"{len(r.equal) + 1:,}", lambda r: ()),
    *(column for column in COLUMNS if column.title in ("Name", "Class", "State")),
    Column("Waits for", "", lambda r: r.waits_alike, lambda r: ()),
    Column("Ids", "", lambda r: r.ids, lambda r: ()),
)
RIGHT = ("Id", "CPU", "%", "Time, s", "Threads")
NARROW = ("Name", "Class")
NARROW_WIDTH = 16


def columns(top: bool) -> tuple[Column, ...]:
    """`ps` has seen only one moment."""
    return COLUMNS if top else tuple(column for column in COLUMNS if column.title != "%")


def rows(runtime: Runtime, snapshot: Snapshot, before: Snapshot | None = None) -> list[Row]:
    """All threads."""
    waits = Waits(runtime, snapshot, time.monotonic_ns())
    old = {t.id: t for t in before.threads} if before is not None else {}
    span = snapshot.cpus[0].now - before.cpus[0].now if before is not None else 0
    return [Row(t, waits, _thread_share(t, old.get(t.id), span)) for t in snapshot.threads]


def _thread_share(t: Thread, old: Thread | None, span: int) -> float | None:
    if old is None or t.time_ns is None or old.time_ns is None or span <= 0:
        return None
    return min(max((t.time_ns - old.time_ns) / span, 0), 1)


def equal_once(found: Iterable[Row]) -> list[Row]:
    """The first of each kind of threads; it stands for the others."""
    kinds: dict[tuple[str, ...], Row] = {}
    for row in found:
        kind = (row.name, row.sched, row.thread.state, row.waits_alike)
        first = kinds.setdefault(kind, row)
        if first is not row:
            first.equal.append(row)
    return list(kinds.values())


def in_order(found: Iterable[Row], column: Column, reverse: bool = False) -> list[Row]:
    """Among equals by number."""

    def key(row: Row) -> Key:
        return (*column.key(row), row.thread.index, row.thread.generation)

    return sorted(found, key=key, reverse=reverse)


def threads_text(
    shown: Sequence[Row], among: Sequence[Column], chosen: Column | None = None
) -> Text:
    """One line for each of these threads. `chosen` is marked.

    One text: a table of rich takes a second for a thousand rows.
    """
    cells = [[column.title for column in among]]
    cells += [[_cut(column, column.text(row)) for column in among] for row in shown]
    widths = [max(map(cell_len, own)) for own in zip(*cells, strict=True)]
    text = Text(no_wrap=True, overflow="ellipsis")
    for at, (column, width) in enumerate(zip(among, widths, strict=True)):
        text.append("  " if at else "")
        style = "bold reverse" if column is chosen else "bold"
        last = at == len(among) - 1  # a wide one would be cut, with nothing in it to see
        text.append(column.title if last else _aligned(column, column.title, width), style)
    for row, own in zip(shown, cells[1:], strict=True):
        parts = map(_aligned, among, own, widths)
        text.append("\n" + "  ".join(parts).rstrip(), STYLE.get(row.thread.state))
    return text


def print_text(console: Console, text: Text) -> None:
    """Lines that are too long for the terminal are cut; in a file they are whole."""
    if console.is_terminal:
        console.print(text, no_wrap=True, overflow="ellipsis")
    else:
        console.print(text, soft_wrap=True)


def _cut(column: Column, word: str) -> str:
    """No name of a thread makes the others' lines too long."""
    if column.title in NARROW and cell_len(word) > NARROW_WIDTH:
        return set_cell_size(word, NARROW_WIDTH - 1) + "\u2026"
    return word


def _aligned(column: Column, word: str, width: int) -> str:
    space = " " * (width - cell_len(word))
    return space + word if column.title in RIGHT else word + space


def _number(value: float | None) -> str:
    return f"{value:,.0f}" if value is not None else "-"


def _share(part: int | None, whole: int | None) -> str:
    if part is None or not whole:
        return "-"
    return f"{min(max(part / whole, 0), 1):.0%}"


def runs_text(cpu: Cpu, snapshot: Snapshot) -> str:
    """The thread that runs on a worker."""
    if cpu.runs is None:
        return "nobody"
    t = snapshot.by_at.get(cpu.runs)
    return t.label if t is not None else "?"


def _minus(new: int | None, old: int | None) -> int | None:
    return max(new - old, 0) if new is not None and old is not None else None


def cpus_table(snapshot: Snapshot, before: Snapshot | None = None, most: int = 1 << 16) -> Table:
    """A line for each worker: all that it ever did, or so much a second since `before`."""
    rate = "/s" if before is not None else ""
    table = Table(box=None, padding=(0, 1), pad_edge=False)
    titles = ("CPU", "LWP", "Ready", f"Switches{rate}", f"Steals{rate}", f"Preempted{rate}", "Idle")
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True, header_style="bold")
    table.add_column("Runs", no_wrap=True, header_style="bold")
    for i, cpu in enumerate(snapshot.cpus[:most]):
        old = before.cpus[i] if before is not None and i < len(before.cpus) else None
        table.add_row(*_cpu_cells(snapshot, cpu, old), Text(runs_text(cpu, snapshot)))
    return table


def _cpu_cells(snapshot: Snapshot, cpu: Cpu, old: Cpu | None) -> list[str]:
    counts: list[int | None] = [cpu.switches, cpu.steals, cpu.preemptions]
    head = [str(cpu.number), str(cpu.tid), str(snapshot.ready_on(cpu.number))]
    if old is None:
        span = cpu.now - snapshot.started if snapshot.started is not None else None
        return [*head, *(_number(count) for count in counts), _share(cpu.idle_ns, span)]
    span = max(cpu.now - old.now, 1)
    olds = (old.switches, old.steals, old.preemptions)
    rates = (_minus(new, was) for new, was in zip(counts, olds, strict=True))
    cells = [_number(n * NS / span if n is not None else None) for n in rates]
    return [*head, *cells, _share(_minus(cpu.idle_ns, old.idle_ns), span)]


def heading(runtime: Runtime, snapshot: Snapshot) -> str:
    """A line above the tables."""
    count: dict[str, int] = {}
    for t in snapshot.threads:
        count[t.state] = count.get(t.state, 0) + 1
    words = {"call": "in calls", "foreign": "not Pirn's"}
    states = ", ".join(f"{count[s]} {words.get(s, s)}" for s in ORDER if s in count)
    fresh = snapshot.ready_on(None)
    return (
        f"{runtime.process.command()} ({runtime.process.pid}), "
        f"policy {snapshot.policy}: {len(snapshot.threads)} threads: {states}"
        + (f" ({fresh} of them have not run yet)" if fresh else "")
    )


UNCOUNTED = (
    'Time "-": CPU times are counted only after the program first reads a thread CPU clock '
    "(clock_gettime, for instance)."
)
