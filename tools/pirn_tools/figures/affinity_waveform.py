# SPDX-License-Identifier: MIT
"""One sample of a schedule as a waveform: the picture of a value change dump that `pirn trace
export` makes of the model's trace, for `pirn bench figures affinity`.

A row for each CPU has the thread that it runs, a row for each task the task's state.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pirn_tools.errors import UserError
from pirn_tools.figures.affinity_model import TASKS
from pirn_tools.figures.waves import draw_value
from pirn_tools.plotting import figure
from pirn_tools.trace import export_vcd
from pirn_tools.trace.export_vcd import STATE_CODES
from pirn_tools.trace.model import Model

TOP = "pirn"
RUNNING, READY, IDLE = "running", "ready", "idle"
QUIET = "0.8"  # the colour of a CPU without work, and of a task that waits
CHARACTERS = 150  # that fit into a row

# Changes of a signal: (time, bits).
Changes = Sequence[tuple[int, str]]


@dataclass(frozen=True)
class Row:
    """A signal in words: (from, to, word), without gaps."""

    name: str
    spans: Sequence[tuple[int, int, str]]


def number(bits: str) -> int | None:
    """None: unknown."""
    return int(bits, 2) if bits and set(bits) <= {"0", "1"} else None


def words(
    changes: Changes, first: int, last: int, word: Callable[[int | None], str]
) -> list[tuple[int, int, str]]:
    """What a signal is in a part of the dump. Equal words that follow each other are one."""
    found: list[tuple[int, int, str]] = []
    at = [*(time for time, _ in changes[1:]), last]
    for (begin, bits), end in zip(changes, at, strict=True):
        begin, end = max(begin, first), min(end, last)
        if begin >= end:
            continue
        text = word(number(bits))
        if found and found[-1][2] == text:
            found[-1] = (found[-1][0], end, text)
        else:
            found.append((begin, end, text))
    return found


def merged(thread: Changes, idle: Changes) -> list[tuple[int, str]]:
    """A CPU's thread, or unknown while it is idle."""
    now = {"thread": "x", "idle": "x"}
    made: list[tuple[int, str]] = []
    every = [(time, "thread", bits) for time, bits in thread]
    every += [(time, "idle", bits) for time, bits in idle]
    for time, name, bits in sorted(every):
        now[name] = bits
        value = "x" if now["idle"] != "0" else now["thread"]
        if made and made[-1][0] == time:
            made.pop()
        made.append((time, value))
    return made


def rows(signals: Mapping[str, Changes], first: int, last: int) -> list[Row]:
    """CPUs, then tasks. signals: by path in the dump."""
    names: dict[int, str] = {}
    states: dict[str, Changes] = {}
    for path, changes in signals.items():
        scope = re.fullmatch(rf"{TOP}\.thread(\d+)_(\w+)\.state", path)
        if scope and scope[2] in TASKS:
            names[int(scope[1])] = scope[2]
            states[scope[2]] = changes
    missing = [task for task in TASKS if task not in states]
    if missing:
        raise UserError(f"the dump of the model's trace has no thread {', '.join(missing)}")

    def thread(index: int | None) -> str:
        return IDLE if index is None else names.get(index, "another")

    def state(code: int | None) -> str:
        return "unknown" if code is None else STATE_CODES[code]

    cpus = sorted(
        int(found[1])
        for path in signals
        if (found := re.fullmatch(rf"{TOP}\.cpu(\d+)\.idle", path))
    )
    made = []
    for cpu in cpus:
        changes = merged(*(signals[f"{TOP}.cpu{cpu}.{name}"] for name in ("thread", "idle")))
        made.append(Row(f"CPU {cpu}", words(changes, first, last, thread)))
    for task in TASKS:
        made.append(Row(task, words(states[task], first, last, state)))
    return made


def read(path: Path) -> dict[str, Changes]:
    """All signals of a dump."""
    from vcdvcd import VCDVCD

    dump = VCDVCD(str(path))
    return {name: dump[name].tv for name in dump.references_to_ids}


def exported(model: Model) -> dict[str, Changes]:
    with tempfile.TemporaryDirectory(prefix="pirn-") as folder:
        path = Path(folder) / "model.vcd"
        with path.open("w", encoding="ascii") as stream:
            export_vcd.write(model, stream)
        return read(path)


def draw(model: Model, first: int, last: int, path: Path) -> None:
    """From `first` to `last`, nanoseconds of the trace."""
    drawn = rows(exported(model), first, last)
    with figure(path, width=9.0, height=0.9 + 0.34 * len(drawn)) as axes:
        for place, row in enumerate(drawn):
            for begin, end, word in row.spans:
                left, right = (begin - first) / 1000, (end - first) / 1000
                fits = (end - begin) * CHARACTERS > len(word) * (last - first)
                draw_value(axes, left, right, -place, word if fits else "", colour_of(word))
        axes.set_yticks([0.3 - place for place in range(len(drawn))], [row.name for row in drawn])
        axes.set_xlim(0, (last - first) / 1000)
        axes.set_ylim(0.7 - len(drawn), 1.0)
        axes.set_xlabel(f"µs from {first / 1000:.1f} µs of the trace on")
        axes.tick_params(axis="y", length=0)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)


def colour_of(word: str) -> str:
    if word in TASKS:
        return f"C{TASKS.index(word)}"
    return {RUNNING: "C0", READY: "C1"}.get(word, QUIET)
