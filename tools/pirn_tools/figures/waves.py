# SPDX-License-Identifier: MIT
"""`pirn bench figures waves`: signals of the chip's hardware scheduler while it starts threads.

A run of hw/tests/waves.S writes a value change dump, build/hw/waves.vcd, which stays for GTKWave.
Each scene is a chain of events in it: the first cycle from the event before on in which a signal is
set. So a scene that does not take place in this order is an error, which hw/tests/run.py looks for,
too.
"""

from __future__ import annotations

import bisect
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from rich.console import Console

from pirn_tools import machine
from pirn_tools.chip import build
from pirn_tools.chip.config import Config
from pirn_tools.errors import UserError, listing
from pirn_tools.figures import markdown, on_chip
from pirn_tools.paths import short
from pirn_tools.plotting import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LATENCY = 8
ENTRIES = 4
CONFIG = Config(cores=1, threads=2, scheduler=ENTRIES, wave=".vcd")
SOURCE = Path("hw") / "tests" / "waves.S"
COMPILER = "riscv64-unknown-elf-gcc"
FLAGS = ("-march=rv32ima_zicsr_zifencei", "-mabi=ilp32", "-nostdlib", "-nostartfiles", "-static")
IMAGE, DUMP = "waves.elf", "waves.vcd"
BEFORE, AFTER = 4, 10  # cycles around the events

SCHEDULER = "soc.soc.scheduled.scheduler."
CYCLE = "soc.soc.cycle[63:0]"
DOES_BITS = 4
# soc_pkg::DOES_...: what a hardware thread does in a cycle.
DOES = (
    *("runs", "pipe", "fetch", "load", "atomic", "device", "store"),
    *("fence", "divide", "wfi", "no thread", "context", "cond", "lock"),
)


@dataclass(frozen=True)
class Signal:
    """A row: some bits of a signal of the RTL."""

    name: str
    path: str
    low: int = 0
    bits: int = 1
    words: tuple[str, ...] = ()  # names of values; none: numbers

    def of(self, value: int) -> int:
        return value >> self.low & (1 << self.bits) - 1


def line(name: str, path: str = "", low: int = 0) -> Signal:
    return Signal(name, SCHEDULER + (path or name), low)


def number(name: str, path: str, bits: int) -> Signal:
    return Signal(name, SCHEDULER + path, 0, bits)


def hart(which: int) -> Signal:
    return Signal(f"hart {which}", "soc.soc.does[7:0]", which * DOES_BITS, DOES_BITS, DOES)


IDLE = line("idle (hart 1)", "idle[1:0]", 1)
LIFO_PUSH = line("lifo_push", "lifo_push[0:0]")
LIFO_COUNT = number("lifo_count", "lifo_count[15:0]", 16)
LIFO_TAKE = line("lifo_take", "lifo_take[0:0]")
ASSIGN = line("assign_valid", "assign_valid[0:0]")
COND = Signal("cond_wants (banks)", SCHEDULER + "cond_wants[3:0]", 0, 4)
BLOCKS, CHANGES, WAITS = line("blocks"), line("changes"), line("cond_waits")
WOKEN = line("assign_woken")
SLOT = number("slot", "slot[1:0]", 2)
DTB_COUNT = number("dtb_count", "dtb_count[15:0]", 16)
PUT = line("put", "put[0:0]")
DTB_HAS, DTB_TAKE = line("dtb_has"), line("dtb_take")
SPILLED = line("spilled", "spilled[0:0]")
THRESHOLD = number("threshold", "threshold[15:0]", 16)
RECRUIT = line("recruit", "recruit[0:0]")
RECRUIT_TAKE = line("recruit_take", "recruit_take[0:0]")
RECRUITS = line("assign_recruits")
RECRUIT_END = line("recruit_end", "recruit_end[0:0]")
FILL_PUSH = line("fill_push", "fill_push[0:0]")
FILL_COUNT = number("fill_count", "fill_count[15:0]", 16)
FILL_TAKE = line("fill_take", "fill_take[0:0]")


@dataclass(frozen=True)
class Event:
    """The first cycle from the event before on in which `signal` is not 0."""

    signal: Signal
    what: str
    also: Signal | None = None  # is to be 1 in that cycle


@dataclass(frozen=True)
class Scene:
    name: str
    title: str
    text: str
    rows: tuple[Signal, ...]
    events: tuple[Event, ...]
    time: int  # which occurrence of the first event, from 1 on

    @property
    def picture(self) -> str:
        return f"waves-{self.name}.png"


STARTS = "the hardware thread gets the context, and is not idle any more"
SCENES = (
    Scene(
        "spawn",
        "A spawn",
        "Hart 0 executes `spawn`, hart 1 has no thread. The context goes into the LIFO of the "
        "core's RTU; the TSAU finds it there and an idle hardware thread, and assigns one to the "
        "other.",
        (hart(0), LIFO_PUSH, LIFO_COUNT, LIFO_TAKE, ASSIGN, IDLE, hart(1)),
        (
            Event(LIFO_PUSH, "the new thread's context is pushed"),
            Event(LIFO_TAKE, "the TSAU chooses this LIFO and hart 1, and takes the context"),
            Event(ASSIGN, STARTS),
        ),
        3,
    ),
    Scene(
        "block",
        "A thread that waits, and is woken",
        "Hart 1 executes `ld.cfe` of an empty line. It loses its thread, which the DTB holds. Hart "
        "0 reads how many threads the DTB has, and executes `st.full`; the thread goes on.",
        (
            *(hart(1), COND, BLOCKS, SLOT, PUT, DTB_COUNT, hart(0), CHANGES, WAITS),
            *(DTB_HAS, DTB_TAKE, ASSIGN, WOKEN, IDLE),
        ),
        (
            Event(
                BLOCKS, "the bank finds the line empty, and the DTU reserves the entry `slot`", COND
            ),
            Event(PUT, "the context comes from the core's registers into this entry"),
            Event(IDLE, "hart 1 has no thread"),
            Event(CHANGES, "`st.full` makes the line full, and the thread is woken", WAITS),
            Event(DTB_TAKE, "the entry is active: the TSAU takes its context"),
            Event(ASSIGN, "hart 1 gets the thread, which executes its load again", WOKEN),
        ),
        2,
    ),
    Scene(
        "recruit",
        "A recruiting thread",
        "Software says that memory has threads (`spilled`). The LIFO has fewer than `threshold` "
        "and the FILLQ none, so the RTU asks for a recruiting thread. Hart 1 gets it; it clears "
        "`spilled`, moves a thread from memory to the FILLQ, and ends. That thread is next.",
        (
            *(hart(0), SPILLED, THRESHOLD, LIFO_COUNT, RECRUIT, RECRUIT_TAKE, ASSIGN, RECRUITS),
            *(hart(1), FILL_PUSH, FILL_COUNT, RECRUIT_END, FILL_TAKE, IDLE),
        ),
        (
            Event(RECRUIT, "the RTU asks", SPILLED),
            Event(RECRUIT_TAKE, "the TSAU grants it, before all other threads"),
            Event(ASSIGN, "hart 1 starts at the recruiting thread's address", RECRUITS),
            Event(FILL_PUSH, "`fill` has moved a context from memory"),
            Event(RECRUIT_END, "the recruiting thread ends: another one may follow"),
            Event(FILL_TAKE, "the TSAU takes the context from the FILLQ"),
            Event(ASSIGN, "hart 1 gets the thread"),
        ),
        2,
    ),
)


class Dump:
    """Values of signals, by cycle."""

    def __init__(self, path: Path, wanted: Sequence[Signal]) -> None:
        from vcdvcd import VCDVCD

        names = sorted({CYCLE, *(signal.path for signal in wanted)})
        try:
            dump = VCDVCD(str(path), signals=names)
        except (OSError, ValueError, KeyError, IndexError) as error:
            raise UserError(f"{path}: not a value change dump: {error}") from None
        found = dump.references_to_ids
        missing = [name for name in names if name not in found]
        if missing:
            raise UserError(f"{path}: no signal {listing(missing)}")
        self._changes = {name: _integers(dump[name].tv) for name in names}
        at, cycles = self._changes[CYCLE]
        self._times = dict(zip(cycles, at, strict=True))
        if not cycles:
            raise UserError(f"{path}: no cycles")
        self.first, self.last = min(cycles), max(cycles)

    def value(self, signal: Signal, cycle: int) -> int:
        times, values = self._changes[signal.path]
        at = bisect.bisect_right(times, self._times[cycle]) - 1
        return signal.of(values[at]) if at >= 0 else 0

    def next(self, event: Event, cycle: int) -> int | None:
        for now in range(cycle, self.last + 1):
            if self.value(event.signal, now) and (
                event.also is None or self.value(event.also, now)
            ):
                return now
        return None


def _integers(changes: Sequence[tuple[int, str]]) -> tuple[list[int], list[int]]:
    known = [(time, int(bits, 2)) for time, bits in changes if set(bits) <= {"0", "1"}]
    return [time for time, _ in known], [value for _, value in known]


def signals() -> list[Signal]:
    every = [signal for scene in SCENES for signal in scene.rows]
    every += [one for scene in SCENES for e in scene.events for one in (e.signal, e.also) if one]
    return list(dict.fromkeys(every))


def begin(dump: Dump, scene: Scene) -> int | None:
    """The cycle of the first event, of the scene's time. In between it is not set for a cycle."""
    cycle = dump.first
    for time in range(1, scene.time + 1):
        found = dump.next(scene.events[0], cycle)
        if found is None or time == scene.time:
            return found
        cycle = found
        while cycle < dump.last and dump.value(scene.events[0].signal, cycle):
            cycle += 1
    return None


def cycles_of(dump: Dump, scene: Scene) -> list[int]:
    """The cycle of each event; an error if one does not come."""
    now, found = begin(dump, scene), list[int]()
    for event in scene.events:
        now = now if not found else dump.next(event, found[-1])
        if now is None:
            since = f", from cycle {found[-1]} on" if found else f" {scene.time} times"
            raise UserError(f"{scene.title}: {event.signal.name} does not come{since}")
        found.append(now)
    return found


def scenes(path: Path) -> dict[str, list[int]]:
    """Of a dump: each scene's name, and the cycles of its events."""
    dump = Dump(path, signals())
    return {scene.name: cycles_of(dump, scene) for scene in SCENES}


def assemble(root: Path, image: Path) -> None:
    tests, library = root / SOURCE.parent, root / "hw" / "lib"
    words = [COMPILER, *FLAGS, f"-Wa,-I{tests},-I{library}", f"-T{library / 'link.ld'}"]
    words += ["-o", str(image), str(root / SOURCE)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(f"{SOURCE}: not assembled\n{done.stderr}")


def record(root: Path, folder: Path) -> tuple[Path, float]:
    """The run, checked in lockstep: its dump, and its seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    image, dump = folder / IMAGE, folder / DUMP
    assemble(root, image)
    words = [str(build.simulator(root, CONFIG)), "--lockstep", "--latency", str(LATENCY)]
    words += ["--cycles", "100000", "--wave", str(dump), "--", str(image)]
    began = monotonic()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(f"{SOURCE}: status {done.returncode}\n{done.stderr[-2000:]}")
    return dump, monotonic() - began


def draw(dump: Dump, scene: Scene, cycles: Sequence[int], path: Path) -> None:
    """A row for each signal; a line for each event."""
    first, last = max(cycles[0] - BEFORE, dump.first), min(cycles[-1] + AFTER, dump.last)
    width = min(18.0, max(8.0, 2.5 + 0.11 * (last - first)))
    with figure(path, width=width, height=0.9 + 0.36 * len(scene.rows)) as axes:
        for place, signal in enumerate(scene.rows):
            values = [dump.value(signal, cycle) for cycle in range(first, last + 1)]
            draw_row(axes, signal, values, first - cycles[0], -place)
        for cycle in dict.fromkeys(cycles):
            numbers = [str(at) for at, one in enumerate(cycles, start=1) if one == cycle]
            axes.axvline(cycle - cycles[0], color="C3", linewidth=0.8, linestyle=":")
            axes.text(cycle - cycles[0] + 0.1, 1.0, ", ".join(numbers), color="C3", size="small")
        axes.set_yticks([0.3 - i for i in range(len(scene.rows))], [s.name for s in scene.rows])
        axes.set_xlim(first - cycles[0], last + 1 - cycles[0])
        axes.set_ylim(0.7 - len(scene.rows), 1.5)
        axes.set_xlabel(f"cycles from event 1 on, which is in cycle {cycles[0]}")
        axes.tick_params(axis="y", length=0)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)


def runs(values: Sequence[int]) -> list[tuple[int, int, int]]:
    """Equal values: (first, one after the last, value)."""
    starts = [i for i in range(len(values)) if i == 0 or values[i] != values[i - 1]]
    return [(a, b, values[a]) for a, b in zip(starts, [*starts[1:], len(values)], strict=True)]


def draw_row(axes: Axes, signal: Signal, values: Sequence[int], begin: int, low: float) -> None:
    if signal.bits == 1:
        steps = [low + 0.6 * value for value in values]
        at = [begin + i for i in range(len(values) + 1)]
        axes.step(at, [*steps, steps[-1]], where="post", color="C0", linewidth=1.2)
        return
    for start, end, value in runs(values):
        quiet = value == 0 and not signal.words
        left, right = begin + start, begin + end
        colour = "0.75" if quiet or signal.words[value : value + 1] == ("no thread",) else "C0"
        text = signal.words[value] if signal.words else str(value)
        fits = end - start > 0.75 * len(text)
        draw_value(axes, left, right, low, text if fits else "", colour)


def draw_value(axes: Axes, left: float, right: float, low: float, text: str, colour: str) -> None:
    """A box of a row: a signal that has one value for a while."""
    high = low + 0.6
    axes.plot([left, left, right, right, left], [low, high, high, low, low], colour, lw=0.8)
    if text:
        middle = (left + right) / 2
        axes.text(middle, low + 0.3, text, ha="center", va="center", fontsize="x-small")


HEAD = """\
Signals of [the hardware scheduler](../internals/chip.md#hardware-scheduler) in three short scenes:
a spawn, a thread that waits and is woken, and a recruiting thread. The program is
`hw/tests/waves.S`, on a core with two hardware threads and {entries} entries in each queue; the
second level answers after {latency} cycles. Each scene is the second one of its kind, so that its
code is in the cache.

A row is a signal of `scheduler.sv`, or what a hart does: `runs` (an instruction ends), waits for
something, or has `no thread`. What a hart does while its context is moved is `context`. The numbers
above are the events of the table.

The run leaves the program and the waveform of all signals, `{image}` and `{dump}`.
Another simulator writes the same waveform as FST, a smaller file. GTKWave shows both; in them
`{cycle}` counts cycles.

<!-- not run: builds a simulator -->
```console
$ .venv/bin/{command}
```

`--wave-from` and `--wave-to` limit the file to some cycles."""


def folder_of(root: Path) -> Path:
    return root / "build" / "hw"


def fst_command() -> str:
    """The same run, as FST."""
    folder = folder_of(Path())
    options = f"--threads {CONFIG.threads} --scheduler {CONFIG.scheduler} --latency {LATENCY}"
    return f"pirn chip run {options} --wave {folder / 'waves.fst'} {folder / IMAGE}"


def page(found: Mapping[str, Sequence[int]], facts: Mapping[str, str]) -> str:
    parts = [
        markdown.begin("Signals of the hardware scheduler", "waves", "/waves.py"),
        HEAD.format(
            entries=ENTRIES,
            latency=LATENCY,
            image=folder_of(Path()) / IMAGE,
            dump=folder_of(Path()) / DUMP,
            cycle=CYCLE.partition("[")[0],
            command=fst_command(),
        ),
        markdown.facts(facts),
    ]
    for scene in SCENES:
        cycles = found[scene.name]
        rows = []
        for at, (event, cycle) in enumerate(zip(scene.events, cycles, strict=True), start=1):
            names = f"`{event.signal.name}`" + (f", `{event.also.name}`" if event.also else "")
            rows.append([str(at), str(cycle - cycles[0]), names, event.what])
        parts += [
            f"## {scene.title}",
            f"{scene.text} Event 1 is in cycle {cycles[0]}.",
            markdown.picture(scene.picture, f"Signals: {scene.title.lower()}"),
            markdown.table(["event", "cycle", "signal", ""], rows, left=(2, 3)),
        ]
    return "\n\n".join(parts) + "\n"


def reproduce(root: Path, folder: Path, console: Console) -> None:
    path, seconds = record(root, folder_of(root))
    dump = Dump(path, signals())
    found = {scene.name: cycles_of(dump, scene) for scene in SCENES}
    for scene in SCENES:
        draw(dump, scene, found[scene.name], folder / "img" / scene.picture)
    facts = {
        "command": "`pirn bench figures waves`",
        "commit": machine.commit(root),
        "chip": f"RV32IMA, 1 core, {CONFIG.threads} hardware threads, {CONFIG.banks} banks",
        **on_chip.memory(root),
        "cycles": f"{dump.last}, in lockstep with the second simulator",
        "cost": on_chip.cost([seconds]),
    }
    on_chip.write(folder / "waves.md", page(found, facts), console)
    console.print(
        f"waveform: {short(path)}; as FST: {fst_command()}", highlight=False, soft_wrap=True
    )
