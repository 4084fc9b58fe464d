# SPDX-License-Identifier: MIT
"""A trace in the Trace Event Format (JSON) that Perfetto and Chrome's about:tracing open.

Two processes stand for the two ways to look: "CPUs", with a track for each CPU, whose slices are
turns of threads and whose inner slices are ticks; and the program, with a track for each thread,
whose slices are its states. A wake-up is a flow from the waker's track to the thread's next turn.
Everything else is an instant on the CPU's track. Times are microseconds with three decimals:
nanoseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from pirn_tools.trace.fields import Fields
from pirn_tools.trace.model import BLOCKED, READY, RUNNING, Model
from pirn_tools.trace.stat import interrupts
from pirn_tools.trace.table import EventType

Array = NDArray[Any]
CPUS = 0  # number of the process with a track for each CPU
CHUNK = 1 << 16
NO_CPU_TRACK = 1_000_000  # what kernel threads without a CPU do
THOUSANDTHS = [f".{number:03d}" for number in range(1000)]
# Events that the slices and flows show already.
SHOWN = ("switch", "carry", "wake", "tick_in", "tick_out", "idle_in", "idle_out")
# Ready again without anybody's doing.
NO_FLOW = ("yield", "preempt")


def write(model: Model, stream: TextIO) -> None:
    """The whole trace."""
    other = json.dumps({**model.trace.table.meta, "remarks": model.trace.remarks})
    stream.write(f'{{"displayTimeUnit": "ns", "otherData": {other}, "traceEvents": [\n')
    writer = _Writer(model)
    separator = ""
    for lines in writer.all():
        text = ",\n".join(lines)
        if text:
            stream.write(separator + text)
            separator = ",\n"
    stream.write("\n]}\n")


def _us(ns: Array) -> list[str]:
    """Microseconds, exact."""
    whole, rest = np.divmod(ns, 1000)
    return [
        f"{left}{THOUSANDTHS[right]}"
        for left, right in zip(whole.tolist(), rest.tolist(), strict=True)
    ]


def _chunks(values: Array) -> Iterator[Array]:
    for begin in range(0, len(values), CHUNK):
        yield values[begin : begin + CHUNK]


class _Writer:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.fields = Fields(model)
        self.pid = model.trace.header["pid"] or 1
        self.labels = [json.dumps(thread.label) for thread in model.threads]

    def all(self) -> Iterable[list[str]]:
        yield self._names()
        for spans in _chunks(self.model.cpu_spans):
            yield self._turns(spans)
        for spans in _chunks(self.model.thread_spans):
            yield self._states(spans)
        yield self._ticks()
        yield from self._flows()
        yield from self._instants()

    def _names(self) -> list[str]:
        model = self.model
        program = json.dumps(model.trace.table.meta.get("program", "program"))
        lines = [
            _meta("process_name", CPUS, 0, '"CPUs"'),
            _meta("process_name", self.pid, 0, program),
            _meta("process_sort_index", CPUS, 0, "0", "sort_index"),
            _meta("process_sort_index", self.pid, 0, "1", "sort_index"),
        ]
        for cpu in range(model.trace.cpus):
            lines.append(_meta("thread_name", CPUS, cpu, f'"CPU {cpu}"'))
            lines.append(_meta("thread_sort_index", CPUS, cpu, str(cpu), "sort_index"))
        if (model.trace.rows["cpu"] < 0).any():
            lines.append(_meta("thread_name", CPUS, NO_CPU_TRACK, '"no CPU"'))
        for thread in model.threads:
            if not thread.idle:
                track = thread.key + 1
                lines.append(_meta("thread_name", self.pid, track, self.labels[thread.key]))
                lines.append(_meta("thread_sort_index", self.pid, track, str(track), "sort_index"))
        return lines

    def _turns(self, spans: Array) -> list[str]:
        """Slices of CPUs; an idle CPU has none."""
        spans = spans[~self.model.idle[spans["key"]]]
        labels = self.labels
        return [
            f'{{"ph":"X","cat":"cpu","name":{labels[key]},"pid":{CPUS},"tid":{cpu},'
            f'"ts":{start},"dur":{length}}}'
            for key, cpu, start, length in zip(
                spans["key"].tolist(),
                spans["cpu"].tolist(),
                _us(spans["start"]),
                _us(spans["end"] - spans["start"]),
                strict=True,
            )
        ]

    def _states(self, spans: Array) -> list[str]:
        """Slices of threads."""
        spans = spans[~self.model.idle[spans["key"]]]
        state = spans["state"]
        running = self._slices(spans[state == RUNNING], ["running"])
        cpus = spans["cpu"][state == RUNNING].tolist()
        with_cpu = [
            f'{line},"args":{{"cpu":{cpu}}}}}' for line, cpu in zip(running, cpus, strict=True)
        ]
        rest = self._slices(spans[state == READY], ["ready"])
        blocked = spans[state == BLOCKED]
        waits = self.model.trace.table.enums.get("wait", {})
        codes, which = np.unique(blocked["reason"], return_inverse=True)
        names = ["blocked: " + waits.get(code, "unknown") for code in codes.tolist()]
        rest += self._slices(blocked, names, which)
        return with_cpu + [line + "}" for line in rest]

    def _slices(self, spans: Array, names: list[str], which: Array | None = None) -> list[str]:
        """Slices of threads without their closing brace; which: of the names, the first if None."""
        words = [json.dumps(name) for name in names]
        places = np.zeros(len(spans), np.int64) if which is None else which
        pid = self.pid
        return [
            f'{{"ph":"X","cat":"state","name":{words[place]},"pid":{pid},'
            f'"tid":{key},"ts":{start},"dur":{length}'
            for key, place, start, length in zip(
                (spans["key"] + 1).tolist(),
                places.tolist(),
                _us(spans["start"]),
                _us(spans["end"] - spans["start"]),
                strict=True,
            )
        ]

    def _ticks(self) -> list[str]:
        pairs = interrupts(self.model)
        cpu = self.model.trace.rows["cpu"][pairs[:, 0]]
        start, end = self.model.ns[pairs[:, 0]], self.model.ns[pairs[:, 1]]
        return [
            f'{{"ph":"X","cat":"interrupt","name":"tick","pid":{CPUS},"tid":{_track(number)},'
            f'"ts":{begin},"dur":{length}}}'
            for number, begin, length in zip(
                cpu.tolist(), _us(start), _us(end - start), strict=True
            )
        ]

    def _flows(self) -> Iterator[list[str]]:
        """From a wake-up to the next turn of the thread, where there is one."""
        model = self.model
        rows, woken = model.trace.which("wake"), model.keys_of("wake", "thread")
        runs = model.thread_spans[model.thread_spans["state"] == RUNNING]
        if not len(runs) or not len(rows):
            return
        # Runs are in the order of thread and time; the next one of the thread after the wake-up.
        # Ranks instead of times: a product of thread and time could be too large.
        scale = np.int64(len(model.ns) + 1)
        begins = runs["key"] * scale + np.searchsorted(model.ns, runs["start"])
        place = np.searchsorted(begins, woken * scale + np.searchsorted(model.ns, model.ns[rows]))
        nearest = np.minimum(place, len(runs) - 1)
        found = (place < len(runs)) & (runs["key"][nearest] == woken) & (woken >= 0)
        rows, target, woken = rows[found], runs[nearest[found]], woken[found]
        names = model.trace.table.enums.get("wake", {})
        why = model.trace.values("wake", "why", rows)
        meant = ~np.isin(why, [value for value, name in names.items() if name in NO_FLOW])
        rows, target, woken, why = rows[meant], target[meant], woken[meant], why[meant]
        for part in _chunks(np.arange(len(rows))):
            yield [
                line
                for number, reason, cpu, key, begin, end in zip(
                    part.tolist(),
                    why[part].tolist(),
                    model.trace.rows["cpu"][rows[part]].tolist(),
                    woken[part].tolist(),
                    _us(model.ns[rows[part]]),
                    _us(target["start"][part]),
                    strict=True,
                )
                for line in self._flow(
                    number + 1, json.dumps(names.get(reason, "wake")), cpu, key, begin, end
                )
            ]

    def _flow(
        self, number: int, why: str, cpu: int, key: int, begin: str, end: str
    ) -> tuple[str, str]:
        head = f'"cat":"wake","name":"wake","id":{number}'
        return (
            f'{{"ph":"s",{head},"pid":{CPUS},"tid":{_track(cpu)},"ts":{begin},'
            f'"args":{{"why":{why}}}}}',
            f'{{"ph":"f","bp":"e",{head},"pid":{self.pid},"tid":{key + 1},"ts":{end}}}',
        )

    def _instants(self) -> Iterator[list[str]]:
        """All other events."""
        model = self.model
        for event in model.trace.table.events.values():
            if event.name in SHOWN:
                continue
            for rows in _chunks(model.trace.which(event.name)):
                yield self._instant(event, rows)

    def _instant(self, event: EventType, rows: Array) -> list[str]:
        model = self.model
        columns = []
        for field in event.fields:
            words = self.fields.words(event, field, rows)
            if self.fields.is_text(field):
                words = [json.dumps(word) for word in words]
            columns.append([f'"{field.name}":{word}' for word in words])
        arguments = (
            [",".join(words) for words in zip(*columns, strict=True)]
            if columns
            else [""] * len(rows)
        )
        # A mark is the program's own: it goes by the name that the program gave it.
        names = [json.dumps(event.name)] * len(rows)
        if event.name == "mark":
            names = [json.dumps(model.trace.text(row)) for row in rows.tolist()]
        return [
            f'{{"ph":"i","s":"t","cat":"event","name":{name},"pid":{CPUS},"tid":{_track(cpu)},'
            f'"ts":{at},"args":{{{words}}}}}'
            for name, cpu, at, words in zip(
                names,
                model.trace.rows["cpu"][rows].tolist(),
                _us(model.ns[rows]),
                arguments,
                strict=True,
            )
        ]


def _track(cpu: int) -> int:
    return cpu if cpu >= 0 else NO_CPU_TRACK


def _meta(name: str, pid: int, tid: int, value: str, key: str = "name") -> str:
    return f'{{"ph":"M","name":"{name}","pid":{pid},"tid":{tid},"args":{{"{key}":{value}}}}}'
