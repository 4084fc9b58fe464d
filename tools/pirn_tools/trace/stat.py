# SPDX-License-Identifier: MIT
"""`pirn trace stat`: a trace in numbers, for each CPU and each thread.

The first rows for a CPU are the columns in which the thesis on pthreads for SHMAC states its
results (interrupts, their number, share and duration). An interrupt is from tick_in to tick_out.
The time of a CPU or thread is what the trace covers of it: where events are lost, or the trace was
paused, less than the program's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pirn_tools.trace import groups
from pirn_tools.trace.groups import Distribution
from pirn_tools.trace.model import BLOCKED, BY_WAKE, READY, RUNNING, Model

Array = NDArray[Any]


@dataclass(frozen=True)
class CpuStat:
    """One CPU. Times in nanoseconds, shares of `time`."""

    cpu: int
    time: int
    interrupts: int
    interrupt_time: int
    interrupt_shortest: int
    interrupt_longest: int
    switches: int
    switches_by_reason: dict[str, int]
    idle_time: int
    sleep_time: int
    steals: int
    stolen: int
    requests: int
    answers: int
    migrations: int
    preemptions: int
    kicks: int

    def share(self, part: int) -> float:
        return part / self.time if self.time else 0.0

    @property
    def interrupt_average(self) -> float:
        return self.interrupt_time / self.interrupts if self.interrupts else 0.0

    @property
    def interrupts_per_second(self) -> float:
        return self.interrupts / self.time * 1e9 if self.time else 0.0

    def as_json(self) -> dict[str, Any]:
        extra = {
            "interrupt_average": self.interrupt_average,
            "interrupt_share": self.share(self.interrupt_time),
            "interrupts_per_second": self.interrupts_per_second,
            "idle_share": self.share(self.idle_time),
            "sleep_share": self.share(self.sleep_time),
        }
        return {**asdict(self), **extra}


@dataclass(frozen=True)
class ThreadStat:
    """One life of a thread. Times in nanoseconds."""

    number: str
    name: str
    run: int
    ready: int
    blocked: int
    blocked_by: dict[str, int]
    switches: int
    switches_by_reason: dict[str, int]
    migrations: int
    latency: Distribution  # from wake to run

    def as_json(self) -> dict[str, Any]:
        return {**vars(self), "latency": self.latency.as_json()}


@dataclass(frozen=True)
class Stat:
    """A whole trace."""

    duration: int
    events: int
    lost: int
    meta: dict[str, str]
    remarks: list[str]
    pauses: list[list[int]]  # of the trace: from when to when
    counts: dict[str, int]  # events by name
    cpus: list[CpuStat]
    threads: list[ThreadStat]
    latency: Distribution
    run: Distribution  # of single turns
    ready: Distribution

    def as_json(self) -> dict[str, Any]:
        made = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name in ("latency", "run", "ready"):
            made[name] = made[name].as_json()
        made["cpus"] = [cpu.as_json() for cpu in self.cpus]
        made["threads"] = [thread.as_json() for thread in self.threads]
        return made


def compute(model: Model) -> Stat:
    """All numbers."""
    trace = model.trace
    spans = model.thread_spans
    length = spans["end"] - spans["start"]
    busy = ~model.idle[spans["key"]] if len(spans) else np.empty(0, bool)
    woken = latencies(model)
    ids = np.bincount(trace.rows["event"], minlength=256)
    counts = {event.name: int(ids[event.id]) for event in trace.table.events.values()}
    return Stat(
        duration=model.end,
        events=len(trace.rows),
        lost=trace.lost,
        meta=trace.table.meta,
        remarks=trace.remarks,
        pauses=model.gaps.tolist(),
        counts={name: number for name, number in counts.items() if number},
        cpus=_cpus(model),
        threads=_threads(model),
        latency=groups.distribution(length[woken]),
        run=groups.distribution(length[busy & (spans["state"] == RUNNING)]),
        ready=groups.distribution(length[busy & (spans["state"] == READY) & ~spans["open"]]),
    )


def latencies(model: Model) -> Array:
    """Places of the spans from a wake-up to running."""
    spans = model.thread_spans
    return np.flatnonzero((spans["state"] == READY) & (spans["origin"] == BY_WAKE) & ~spans["open"])


def interrupts(model: Model) -> Array:
    """Pairs of tick_in and tick_out, as rows: [in, out]. One that is not whole is left out."""
    trace = model.trace
    entered, left = trace.which("tick_in"), trace.which("tick_out")
    every = np.concatenate([entered, left])
    is_in = np.arange(len(every)) < len(entered)
    # Kernel threads without a CPU share a ring; there the thread tells them apart.
    cpu, thread = trace.rows["cpu"][every].astype(np.int64), trace.rows["thread"][every]
    who = np.where(cpu >= 0, cpu, -1 - thread.astype(np.int64))
    order = np.lexsort((every, who))
    every, is_in, who = every[order], is_in[order], who[order]
    stretch = model.stretch[every]
    same = (who[:-1] == who[1:]) & (stretch[:-1] == stretch[1:]) & (stretch[1:] >= 0)
    pair = np.flatnonzero(is_in[:-1] & ~is_in[1:] & same)
    return np.stack([every[pair], every[pair + 1]], axis=1)


def _switch_names(model: Model) -> list[tuple[int, str]]:
    names = model.trace.table.enums.get("switch", {})
    rows = model.trace.which("switch")
    found = np.unique(model.trace.values("switch", "why", rows)).tolist()
    return [(value, names.get(value, f"reason {value}")) for value in found]


def _cpus(model: Model) -> list[CpuStat]:
    trace, cpus = model.trace, model.trace.cpus
    covered = model.covered[:, 1] - model.covered[:, 0] - _paused(model)
    pairs = interrupts(model)
    length = model.ns[pairs[:, 1]] - model.ns[pairs[:, 0]]
    where = trace.rows["cpu"][pairs[:, 0]]
    spans = model.cpu_spans
    idle = model.idle[spans["key"]] if len(spans) else np.empty(0, bool)
    idle_time = groups.total((spans["end"] - spans["start"])[idle], spans["cpu"][idle], cpus)
    rows = _on_cpu(model, "switch")
    why = trace.values("switch", "why", rows)
    reasons = groups.by_name(why, trace.rows["cpu"][rows], cpus, None, _switch_names(model))
    sleeping = _sleep_time(model)
    names = ("switch", "steal", "request", "answer", "migrate", "preempt", "kick")
    number = {name: _count(model, name) for name in names}
    steals = _on_cpu(model, "steal")
    amount = trace.values("steal", "amount", steals)
    stolen = groups.total(amount, trace.rows["cpu"][steals], cpus)
    made = []
    for cpu in range(cpus):
        own = length[where == cpu]
        made.append(
            CpuStat(
                cpu=cpu,
                time=int(covered[cpu]),
                interrupts=len(own),
                interrupt_time=int(own.sum()),
                interrupt_shortest=int(own.min()) if len(own) else 0,
                interrupt_longest=int(own.max()) if len(own) else 0,
                switches=int(number["switch"][cpu]),
                switches_by_reason=reasons[cpu],
                idle_time=int(idle_time[cpu]),
                sleep_time=int(sleeping[cpu]),
                steals=int(number["steal"][cpu]),
                stolen=int(stolen[cpu]),
                requests=int(number["request"][cpu]),
                answers=int(number["answer"][cpu]),
                migrations=int(number["migrate"][cpu]),
                preemptions=int(number["preempt"][cpu]),
                kicks=int(number["kick"][cpu]),
            )
        )
    return made


def _paused(model: Model) -> Array:
    """How long the trace was paused while each CPU's events were there."""
    begin, end = model.covered[:, :1], model.covered[:, 1:]
    inside = np.clip(model.gaps[:, 1], begin, end) - np.clip(model.gaps[:, 0], begin, end)
    return np.asarray(inside.sum(axis=1))


def _on_cpu(model: Model, name: str) -> Array:
    rows = model.trace.which(name)
    return rows[model.trace.rows["cpu"][rows] >= 0]


def _count(model: Model, name: str) -> Array:
    rows = _on_cpu(model, name)
    return groups.count(model.trace.rows["cpu"][rows], model.trace.cpus)


def _sleep_time(model: Model) -> Array:
    """From sleep_in to sleep_out; a sleep at the end, or before a pause, lasts up to that."""
    trace = model.trace
    begin, end = _on_cpu(model, "sleep_in"), _on_cpu(model, "sleep_out")
    every = np.concatenate([begin, end])
    is_in = np.arange(len(every)) < len(begin)
    order = np.lexsort((every, trace.rows["cpu"][every]))
    every, is_in = every[order], is_in[order]
    cpu = trace.rows["cpu"][every]
    if not len(every):
        return np.zeros(trace.cpus, np.int64)
    stretch = model.stretch[every]
    same = (cpu[1:] == cpu[:-1]) & (stretch[1:] == stretch[:-1])
    follows = np.append(same & ~is_in[1:], False)
    last = np.append(~same, True)
    end = np.minimum(model.covered[cpu, 1], model.stretch_end[stretch])
    stop = np.where(follows, model.ns[np.roll(every, -1)], model.ns[every])
    stop = np.where(last, np.maximum(end, model.ns[every]), stop)
    is_in &= stretch >= 0
    return groups.total((stop - model.ns[every])[is_in], cpu[is_in], trace.cpus)


def _threads(model: Model) -> list[ThreadStat]:
    spans, size = model.thread_spans, len(model.threads)
    length, key, state = spans["end"] - spans["start"], spans["key"], spans["state"]

    def time_in(wanted: int) -> Array:
        own = state == wanted
        return groups.total(length[own], key[own], size)

    run, ready, blocked = time_in(RUNNING), time_in(READY), time_in(BLOCKED)
    waits = model.trace.table.enums.get("wait", {})
    own = state == BLOCKED
    found = np.unique(spans["reason"][own]).tolist()
    names = [(code, waits.get(code, "unknown")) for code in found]
    reasons = groups.by_name(spans["reason"][own], key[own], size, length[own], names)
    left = model.keys_of("switch", "previous")
    why = model.trace.values("switch", "why", model.trace.which("switch"))
    why, left = why[left >= 0], left[left >= 0]
    switched = groups.by_name(why, left, size, None, _switch_names(model))
    migrations = _migrations(model)
    woken = latencies(model)
    latency = groups.distributions(length[woken], key[woken], size)
    return [
        ThreadStat(
            number=thread.number,
            name=thread.name,
            run=int(run[thread.key]),
            ready=int(ready[thread.key]),
            blocked=int(blocked[thread.key]),
            blocked_by=reasons[thread.key],
            switches=sum(switched[thread.key].values()),
            switches_by_reason=switched[thread.key],
            migrations=int(migrations[thread.key]),
            latency=latency[thread.key],
        )
        for thread in model.threads
        if not thread.idle
    ]


def _migrations(model: Model) -> Array:
    """How often a thread ran on another CPU than the time before."""
    runs = model.thread_spans[model.thread_spans["state"] == RUNNING]
    stretch = np.searchsorted(model.gaps[:, 1], runs["start"], side="right")
    moved = (runs["key"][1:] == runs["key"][:-1]) & (runs["cpu"][1:] != runs["cpu"][:-1])
    moved &= stretch[1:] == stretch[:-1]
    return groups.count(runs["key"][1:][moved], len(model.threads))


def reasons_of(stat: Stat) -> list[str]:
    """All reasons for switches, the most frequent first."""
    found: Counter[str] = Counter()
    for cpu in stat.cpus:
        found.update(cpu.switches_by_reason)
    return [name for name, _ in found.most_common()]
