# SPDX-License-Identifier: MIT
"""Pictures of `pirn bench figures affinity`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pirn_tools.errors import UserError
from pirn_tools.figures.affinity_model import (
    AUTO,
    DECLARED,
    FAMILIES,
    OLD,
    PIN_ALL,
    PIN_WAVES,
    PLAIN,
    WAYS,
    Point,
    Points,
    execute,
    wavemix,
)
from pirn_tools.figures.affinity_thesis import (
    BUFFERS,
    NEW_IMPROVEMENT,
    OLD_IMPROVEMENT,
    TOPOLOGIES,
    improvement,
)
from pirn_tools.plotting import figure
from pirn_tools.trace import plot
from pirn_tools.trace.model import Model, build
from pirn_tools.trace.read import load

DRAWN = (PLAIN, OLD, DECLARED, AUTO, "single", "single:affinity=declared", PIN_WAVES, PIN_ALL)
STYLES = {
    PLAIN: ("C0", "-"),
    OLD: ("C3", "-"),
    DECLARED: ("C2", "-"),
    AUTO: ("C2", ":"),
    "single": ("C4", "-"),
    "single:affinity=declared": ("C4", "--"),
    "dist": ("C1", "-"),
    "dist:affinity=declared": ("C1", "--"),
    PIN_WAVES: ("0.6", "--"),
    PIN_ALL: ("0.3", "--"),
}


@dataclass(frozen=True)
class Measure:
    """A picture for each machine: something by the size of the buffers."""

    name: str
    label: str
    value: Callable[[Point], float]


MEASURES = (
    Measure("migrations", "migrations of a sample", lambda one: one.by_sample("migrations")),
    Measure("l1", "misses of the L1, by sample and KB", lambda one: one.misses("l1")),
    Measure("llc", "misses of the last level, by sample and KB", lambda one: one.misses("llc")),
)
PER_KB = ("l1", "llc")


def file_of(measure: str, topology: str) -> str:
    return f"affinity-{measure}-{topology}.png"


def by_buffer(found: Points, measure: Measure, topology: str, path: Path) -> None:
    with figure(path, width=7.0, height=3.6) as axes:
        for way in DRAWN:
            colour, style = STYLES[way]
            each = [
                measure.value(found[wavemix(way, topology, kb)])
                / (kb if measure.name in PER_KB else 1)
                for kb in BUFFERS
            ]
            axes.plot(BUFFERS, each, color=colour, linestyle=style, marker="o", ms=4, label=way)
        axes.set_xscale("log", base=2)
        axes.set_xticks(BUFFERS, [f"{kb}" for kb in BUFFERS])
        axes.set_ylim(bottom=0)
        axes.set_xlabel("KB of each buffer")
        axes.set_ylabel(measure.label, fontsize="small")
        axes.set_title(f"wavemix on {topology}", fontsize="medium", loc="left")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5))


def improvements(found: Points, topology: str, path: Path) -> None:
    """Of A2S against the plain policy, the thesis' beside."""
    with figure(path, width=7.0, height=3.6) as axes:
        for plain, rules in FAMILIES.items():
            for way in rules:
                colour, style = STYLES[way]
                each = [
                    100
                    * improvement(
                        found[wavemix(way, topology, kb)].a2s,
                        found[wavemix(plain, topology, kb)].a2s,
                    )
                    for kb in BUFFERS
                ]
                axes.plot(BUFFERS, each, color=colour, linestyle=style, marker="o", ms=4, label=way)
        for title, table, mark in (
            ("thesis, old rule", OLD_IMPROVEMENT, "v"),
            ("thesis, new rule", NEW_IMPROVEMENT, "^"),
        ):
            each = [100 * table[topology][kb] for kb in BUFFERS]
            axes.plot(BUFFERS, each, color="k", linestyle=":", marker=mark, ms=5, label=title)
        axes.axhline(0, color="0.5", linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.set_xticks(BUFFERS, [f"{kb}" for kb in BUFFERS])
        axes.set_xlabel("KB of each buffer")
        axes.set_ylabel("percent by which A2S is smaller than without affinity", fontsize="small")
        axes.set_title(f"wavemix on {topology}", fontsize="medium", loc="left")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5))


# ---- schedules ----


@dataclass(frozen=True)
class Schedule:
    """A picture of two samples: from the end of one to the end of the second after it."""

    name: str
    topology: str
    way: str
    buffer: int = 16
    seed: int = 1

    @property
    def picture(self) -> str:
        return f"affinity-schedule-{self.name}.png"

    def words(self) -> list[str]:
        return [
            *("--topology", self.topology, "--buffer", str(self.buffer), "--samples", "40"),
            *("--seed", str(self.seed), *WAYS[self.way]),
        ]


SCHEDULES = (
    Schedule("old-xeon", "xeon", OLD),
    Schedule("new-xeon", "xeon", DECLARED),
    Schedule("new-i7", "i7", DECLARED),
)
SAMPLE, SHOWN = 30, 2  # of those in the trace
EVENTS = ("steal",)  # dots: a thread that another CPU has taken
LEAST = 0.2  # of its longest turn: a turn of mixer2 in which it fills a buffer


@dataclass(frozen=True)
class Turn:
    """A task fills its buffer on a CPU, or a part of it."""

    task: str
    cpu: int
    start: int  # ns
    end: int


# Of a mixer: the tasks whose buffers it reads.
READS = {
    "mixer0": ("wave0", "wave1"),
    "mixer1": ("wave2", "wave3"),
    "mixer2": ("mixer0", "mixer1"),
}


def turns(model: Model) -> list[Turn]:
    """Of the tasks, by time. Those in which a task only finds that it has to wait are left out."""
    names = {thread.key: thread.label for thread in model.threads}
    spans = model.cpu_spans
    found = []
    for task in (*(f"wave{i}" for i in range(4)), *READS):
        keys = [key for key, label in names.items() if f'"{task}"' in label]
        if len(keys) != 1:
            raise UserError(f"the trace of the model has no {task}")
        own = spans[spans["key"] == keys[0]]
        took = own["end"] - own["start"]
        for span in own[took > LEAST * took.max()]:
            found.append(Turn(task, int(span["cpu"]), int(span["start"]), int(span["end"])))
    return sorted(found, key=lambda turn: turn.start)


def ends(of: Sequence[Turn]) -> list[int]:
    """When mixer2 ended its samples, ns."""
    return [turn.end for turn in of if turn.task == "mixer2"]


def following(of: Sequence[Turn]) -> float:
    """The share of the mixers' turns that directly follow, on their CPU, a turn of a task whose
    buffer they read."""
    last: dict[int, str] = {}
    behind = every = 0
    for turn in of:
        if turn.task in READS:
            every += 1
            behind += last.get(turn.cpu) in READS[turn.task]
        last[turn.cpu] = turn.task
    return behind / every if every else 0.0


def traced(program: Path, schedule: Schedule) -> Model:
    with tempfile.TemporaryDirectory(prefix="pirn-") as folder:
        trace = Path(folder) / "model.trace"
        execute([str(program), *schedule.words(), "--trace", str(trace)], schedule.picture)
        return build(load(trace))


def follows(program: Path) -> dict[tuple[str, str], float]:
    """By machine and way."""
    return {
        (topology, way): following(turns(traced(program, Schedule("", topology, way))))
        for topology in TOPOLOGIES
        for way in (PLAIN, OLD, DECLARED)
    }


def draw_schedule(program: Path, schedule: Schedule, path: Path) -> None:
    model = traced(program, schedule)
    at = ends(turns(model))
    part = plot.Window(at[SAMPLE], at[SAMPLE + SHOWN])
    plot.timeline(model, path, part, 9.0, EVENTS)


def draw(found: Points, program: Path, folder: Path) -> Sequence[Path]:
    """All pictures; their paths."""
    made = []
    for topology in TOPOLOGIES:
        made.append(folder / file_of("a2s", topology))
        improvements(found, topology, made[-1])
        for measure in MEASURES:
            made.append(folder / file_of(measure.name, topology))
            by_buffer(found, measure, topology, made[-1])
    for schedule in SCHEDULES:
        made.append(folder / schedule.picture)
        draw_schedule(program, schedule, made[-1])
    return made
