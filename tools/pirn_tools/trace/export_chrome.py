# SPDX-License-Identifier: MIT
"""A trace in the Trace Event Format (JSON) that Perfetto and Chrome's about:tracing open.

Two processes stand for the two ways to look: "CPUs", with a track for each CPU, whose slices are
turns of threads and whose inner slices are ticks; and the program, with a track for each thread,
whose slices are its states. A wake-up is a flow from the waker's track to the thread's next turn.
Everything else is an instant on the CPU's track. Times are microseconds with three decimals:
nanoseconds.

The output also follows what readers, Perfetto above all, expect beyond the format's description:
pid and tid 0 mean idle, and are left out; a thread_name is looked up by tid alone, so that no
tid occurs twice; names are written as UTF-8, since not all readers know \\u; a flow begins in a
slice, so that a wake-up during which no thread runs is a slice of no length.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from pirn_tools.trace import columns
from pirn_tools.trace.columns import Column
from pirn_tools.trace.fields import Fields
from pirn_tools.trace.model import READY, RUNNING, Model
from pirn_tools.trace.stat import interrupts
from pirn_tools.trace.table import EventType

Array = NDArray[Any]
CHUNK = 1 << 16
FIRST = 1  # tid of CPU 0; then the other CPUs, kernel threads without a CPU, threads
# Events that the slices and flows show already.
SHOWN = ("switch", "carry", "wake", "tick_in", "tick_out", "idle_in", "idle_out")
# Ready again without anybody's doing.
NO_FLOW = ("yield", "preempt")
END = "},\n"  # of an event; there is always one more


def write(model: Model, stream: TextIO) -> None:
    """The whole trace."""
    other = quoted({**model.trace.table.meta, "remarks": model.trace.remarks})
    stream.write(f'{{"displayTimeUnit": "ns", "otherData": {other}, "traceEvents": [\n')
    writer = Writer(model, place_of(model))
    for text in chain(writer.slices(), writer.events()):
        stream.write(text)
    stream.write(",\n".join(writer.names()))
    stream.write("\n]}\n")


def quoted(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def us(ns: Array) -> Column:
    """Microseconds, exact."""
    ns = np.maximum(ns, 0)
    whole = ns // 1000
    return columns.beside(
        [columns.numbers(whole), ".", columns.three_digits(ns - whole * 1000)], len(ns)
    )


def chunks(values: Array) -> Iterator[Array]:
    for begin in range(0, len(values), CHUNK):
        yield values[begin : begin + CHUNK]


@dataclass(frozen=True)
class Place:
    """Numbers and names in the file, for one of several traces."""

    cpus: int  # of the process with a track for each CPU
    pid: int
    first: int  # tid of CPU 0
    flow: int  # ids of flows are above this
    name: str  # in front of those of both processes
    shown: tuple[str, ...]  # events that are no instants


def place_of(model: Model) -> Place:
    """Of a trace that is alone."""
    pid = model.trace.header["pid"] & 0xFFFFFFFF or 1
    return Place(2 if pid == 1 else 1, pid, FIRST, 0, "", SHOWN)


class Writer:
    """Writes the events of one trace."""

    def __init__(self, model: Model, place: Place) -> None:
        self.model, self.place = model, place
        self.fields = Fields(model)
        self.pid, self.cpus, self.first = place.pid, place.cpus, place.first
        self.no_cpu = self.first + model.trace.cpus
        self.threads = self.no_cpu + 1  # tid of the first one
        self.end = self.threads + len(model.threads)  # the first tid that is free
        self.labels = [quoted(thread.label) for thread in model.threads]

    def slices(self) -> Iterator[str]:
        """Have to stand before all flows."""
        for spans in chunks(self.model.cpu_spans):
            yield self._turns(spans)
        for spans in chunks(self.model.thread_spans):
            yield self._states(spans)
        for pairs in chunks(interrupts(self.model)):
            yield self._ticks(pairs)
        for cpu in range(self.model.trace.cpus):
            yield self._pauses(cpu)
        for rows in chunks(self._wakes[0][~self._during_turns(self._wakes[0])]):
            yield self._alone(rows)

    def events(self) -> Iterator[str]:
        """Flows, and all others, but not the names of the tracks."""
        yield from self._flows()
        yield from self._instants()

    def names(self) -> list[str]:
        """The name of each track."""
        model = self.model
        name = self.place.name
        program = quoted(name + model.trace.table.meta.get("program", "program"))
        lines = [
            _meta("process_name", self.cpus, self.first, quoted(name + "CPUs")),
            _meta("process_name", self.pid, self.threads, program),
            _meta(
                "process_sort_index", self.cpus, self.first, str(self.first - FIRST), "sort_index"
            ),
            _meta("process_sort_index", self.pid, self.threads, str(self.first), "sort_index"),
        ]
        for cpu in range(model.trace.cpus):
            track = self.first + cpu
            lines.append(_meta("thread_name", self.cpus, track, f'"CPU {cpu}"'))
            lines.append(_meta("thread_sort_index", self.cpus, track, str(track), "sort_index"))
        if (model.trace.rows["cpu"] < 0).any():
            lines.append(_meta("thread_name", self.cpus, self.no_cpu, '"no CPU"'))
        for thread in model.threads:
            if not thread.idle:
                track = self.threads + thread.key
                lines.append(_meta("thread_name", self.pid, track, self.labels[thread.key]))
                lines.append(_meta("thread_sort_index", self.pid, track, str(track), "sort_index"))
        return lines

    def _turns(self, spans: Array) -> str:
        """Slices of CPUs; an idle CPU has none."""
        spans = spans[~self.model.idle[spans["key"]]]
        return columns.lines(
            [
                '{"ph":"X","cat":"cpu","name":',
                columns.words(spans["key"], self.labels.__getitem__),
                f',"pid":{self.cpus},"tid":',
                columns.numbers(spans["cpu"] + self.first),
                *_when(spans["start"], spans["end"]),
                END,
            ],
            len(spans),
        )

    def _states(self, spans: Array) -> str:
        """Slices of threads."""
        spans = spans[~self.model.idle[spans["key"]]]
        runs = spans["state"] == RUNNING
        waits = self.model.trace.table.enums.get("wait", {})
        # A code for each name: 0 running, 1 ready, from 2 on the reasons for waiting; one that is
        # not known is -1, and a damaged file has others below 0.
        reason = spans["reason"].astype(np.int64) & 0xFFFF
        code = np.where(runs, 0, np.where(spans["state"] == READY, 1, reason + 2))

        def name(code: int) -> str:
            if code < 2:
                return '"ready"' if code else '"running"'
            return quoted("blocked: " + waits.get(code - 2, "unknown"))

        return columns.lines(
            [
                '{"ph":"X","cat":"state","name":',
                columns.words(code, name),
                f',"pid":{self.pid},"tid":',
                columns.numbers(spans["key"] + self.threads),
                *_when(spans["start"], spans["end"]),
                columns.words(
                    np.where(runs, spans["cpu"].astype(np.int64) + 2, 0),
                    lambda cpu: f',"args":{{"cpu":{cpu - 2}}}' if cpu else "",
                ),
                END,
            ],
            len(spans),
        )

    def _ticks(self, pairs: Array) -> str:
        ns = self.model.ns
        return columns.lines(
            [
                f'{{"ph":"X","cat":"interrupt","name":"tick","pid":{self.cpus},"tid":',
                self._tracks(pairs[:, 0]),
                *_when(ns[pairs[:, 0]], ns[pairs[:, 1]]),
                END,
            ],
            len(pairs),
        )

    def _pauses(self, cpu: int) -> str:
        """Where nothing is known of a CPU: it looks like an idle one else."""
        gaps = self.model.gaps
        return columns.lines(
            [
                f'{{"ph":"X","cat":"trace","name":"trace paused","pid":{self.cpus},'
                f'"tid":{self.first + cpu}',
                *_when(gaps[:, 0], gaps[:, 1]),
                END,
            ],
            len(gaps),
        )

    @cached_property
    def _wakes(self) -> tuple[Array, Array, Array, Array]:
        """Of the wake-ups that are flows: rows, when the thread runs next, the thread, why."""
        model = self.model
        none = np.empty(0, np.int64)
        rows, woken = model.trace.which("wake"), model.keys_of("wake", "thread")
        runs = model.thread_spans[model.thread_spans["state"] == RUNNING]
        if not len(runs) or not len(rows):
            return none, none, none, none
        # Runs are in the order of thread and time; the next one of the thread after the wake-up.
        # Ranks instead of times: a product of thread and time could be too large.
        scale = np.int64(len(model.ns) + 1)
        begins = runs["key"] * scale + np.searchsorted(model.ns, runs["start"])
        place = np.searchsorted(begins, woken * scale + np.searchsorted(model.ns, model.ns[rows]))
        nearest = np.minimum(place, len(runs) - 1)
        found = (place < len(runs)) & (runs["key"][nearest] == woken) & (woken >= 0)
        # Not across a pause of the trace: there it may have run in between.
        behind = np.searchsorted(model.gaps[:, 1], runs["start"][nearest], side="right")
        found &= behind == model.stretch[rows]
        rows, target, woken = rows[found], runs["start"][nearest[found]], woken[found]
        names = model.trace.table.enums.get("wake", {})
        why = model.trace.values("wake", "why", rows)
        meant = ~np.isin(why, [value for value, name in names.items() if name in NO_FLOW])
        return rows[meant], target[meant], woken[meant], why[meant]

    @property
    def flows(self) -> int:
        """The last id of its flows."""
        return self.place.flow + len(self._wakes[0])

    def _flows(self) -> Iterator[str]:
        """From a wake-up to the next turn of the thread, where there is one."""
        model = self.model
        rows, target, woken, why = self._wakes
        names = model.trace.table.enums.get("wake", {})
        for part in chunks(np.arange(len(rows))):
            number = columns.numbers(part + 1 + self.place.flow)
            head: columns.Parts = ['"cat":"wake","name":"wake","id":', number]
            yield columns.lines(
                [
                    '{"ph":"s",',
                    *head,
                    f',"pid":{self.cpus},"tid":',
                    self._tracks(rows[part]),
                    ',"ts":',
                    us(model.ns[rows[part]]),
                    ',"args":{"why":',
                    columns.words(why[part], lambda code: quoted(names.get(code, "wake"))),
                    "}" + END,
                    '{"ph":"f","bp":"e",',
                    *head,
                    f',"pid":{self.pid},"tid":',
                    columns.numbers(woken[part] + self.threads),
                    ',"ts":',
                    us(target[part]),
                    END,
                ],
                len(part),
            )

    def _during_turns(self, rows: Array) -> Array:
        """Whether these events come while a thread runs on their CPU."""
        model = self.model
        cpu, ns = model.trace.rows["cpu"][rows], model.ns[rows]
        turns = model.cpu_spans[~model.idle[model.cpu_spans["key"]]]
        bounds = np.searchsorted(turns["cpu"], np.arange(model.trace.cpus + 1))
        found = np.zeros(len(rows), bool)
        for number in range(model.trace.cpus):
            own, places = turns[bounds[number] : bounds[number + 1]], np.flatnonzero(cpu == number)
            if len(own):
                at = np.searchsorted(own["start"], ns[places], side="right") - 1
                found[places] = (at >= 0) & (own["end"][np.maximum(at, 0)] >= ns[places])
        return found

    def _alone(self, rows: Array) -> str:
        """Slices for wake-ups by nobody's turn."""
        ns = self.model.ns[rows]
        return columns.lines(
            [
                f'{{"ph":"X","cat":"wake","name":"wake","pid":{self.cpus},"tid":',
                self._tracks(rows),
                *_when(ns, ns),
                END,
            ],
            len(rows),
        )

    def _instants(self) -> Iterator[str]:
        """All other events."""
        model = self.model
        for event in model.trace.table.events.values():
            if event.name in self.place.shown:
                continue
            for rows in chunks(model.trace.which(event.name)):
                yield self._instant(event, rows)

    def _instant(self, event: EventType, rows: Array) -> str:
        arguments: list[Column | str] = []
        for field in event.fields:
            arguments.append(f'{"," if arguments else ""}"{field.name}":')
            arguments.append(self.fields.column(event, field, rows, quoted))
        # A mark is the program's own: it goes by the name that the program gave it.
        is_mark = event.name == "mark"
        return columns.lines(
            [
                '{"ph":"i","s":"t","cat":"event","name":',
                self.fields.texts(rows, quoted) if is_mark else quoted(event.name),
                f',"pid":{self.cpus},"tid":',
                self._tracks(rows),
                ',"ts":',
                us(self.model.ns[rows]),
                ',"args":{',
                *arguments,
                "}" + END,
            ],
            len(rows),
        )

    def _tracks(self, rows: Array) -> Column:
        """Of the CPUs whose events these are."""
        cpu = self.model.trace.rows["cpu"][rows]
        return columns.numbers(np.where(cpu >= 0, cpu + self.first, self.no_cpu))


def _when(start: Array, end: Array) -> list[Column | str]:
    return [',"ts":', us(start), ',"dur":', us(end - start)]


def _meta(name: str, pid: int, tid: int, value: str, key: str = "name") -> str:
    return f'{{"ph":"M","name":"{name}","pid":{pid},"tid":{tid},"ts":0,"args":{{"{key}":{value}}}}}'
