# SPDX-License-Identifier: MIT
"""Schedules of `pirn bench figures affinity`: traces of the model, and pictures of them."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pirn_tools.errors import UserError
from pirn_tools.figures import affinity_waveform
from pirn_tools.figures.affinity_model import DECLARED, OLD, PLAIN, WAYS, execute
from pirn_tools.figures.affinity_thesis import TOPOLOGIES, WAVES
from pirn_tools.trace import plot
from pirn_tools.trace.model import Model, build
from pirn_tools.trace.read import load


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

    @property
    def waveform(self) -> str:
        return f"affinity-waveform-{self.name}.png"

    def words(self) -> list[str]:
        return [
            *("--topology", self.topology, "--buffer", str(self.buffer), "--samples", "40"),
            *("--seed", str(self.seed), *WAYS[self.way]),
        ]


SCHEDULES = (
    Schedule("old-xeon", "xeon", OLD),
    Schedule("new-xeon", "xeon", DECLARED),
    Schedule("old-i7", "i7", OLD),
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
    for task in (*(f"wave{i}" for i in range(WAVES)), *READS):
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


@dataclass(frozen=True)
class Seen:
    """In a schedule."""

    follows: float  # share of the mixers' turns behind one of their inputs (following)
    waves: Mapping[int, float]  # how many waves ran at once, at most: share of the samples


def at_once(spans: Sequence[tuple[int, int]]) -> int:
    """The most of them that overlap at some time."""
    return max(sum(start <= begin < end for start, end in spans) for begin, _ in spans)


def waves_at_once(of: Sequence[Turn]) -> dict[int, float]:
    """Each wave has one turn in a sample, so its k-th turn is of the k-th sample."""
    each = [
        [(turn.start, turn.end) for turn in of if turn.task == f"wave{i}"] for i in range(WAVES)
    ]
    most = Counter(at_once(spans) for spans in zip(*each, strict=False))
    return {number: most[number] / most.total() for number in sorted(most)}


def traced(program: Path, schedule: Schedule) -> Model:
    with tempfile.TemporaryDirectory(prefix="pirn-") as folder:
        trace = Path(folder) / "model.trace"
        execute([str(program), *schedule.words(), "--trace", str(trace)], schedule.picture)
        return build(load(trace))


def look(program: Path) -> dict[tuple[str, str], Seen]:
    """By machine and way."""
    found = {}
    for topology in TOPOLOGIES:
        for way in (PLAIN, OLD, DECLARED):
            each = turns(traced(program, Schedule("", topology, way)))
            found[topology, way] = Seen(following(each), waves_at_once(each))
    return found


def draw_schedule(model: Model, path: Path) -> None:
    at = ends(turns(model))
    part = plot.Window(at[SAMPLE], at[SAMPLE + SHOWN])
    plot.timeline(model, path, part, 9.0, EVENTS)


def draw(program: Path, folder: Path) -> None:
    """Each as a timeline, and one sample of it as a waveform."""
    for schedule in SCHEDULES:
        model = traced(program, schedule)
        draw_schedule(model, folder / schedule.picture)
        at = ends(turns(model))
        affinity_waveform.draw(model, at[SAMPLE], at[SAMPLE + 1], folder / schedule.waveform)
