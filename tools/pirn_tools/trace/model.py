# SPDX-License-Identifier: MIT
"""The course of a trace: the thread that each CPU ran when, and each thread's states.

The events of a trace are moments; this makes spans of them, as arrays. A CPU's spans come from
its switches. A thread's come from what starts and ends them: a thread runs from the switch to it
up to the switch away from it, and what it did last before that says what it is then: blocked
(block), gone (exit), in a call (call), else ready. It becomes ready by spawn and wake.

A wake-up may be written while the thread still runs, since another CPU may unlink a waiter whose
switch is not over: then it is ready, not blocked, when it stops. One that comes while the thread
runs and has not blocked means nothing.

A CPU whose thread stays in a call for long is given to another kernel thread; `carry` is what this
one writes first. If it starts late, or not before the trace ends, the call may be over: then the
thread is ready from its wake-up on, and the CPU, which nobody executes, is idle from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pirn_tools.trace import labels
from pirn_tools.trace.lives import IDLING, Lives, Reference, Thread, pack, tells_life
from pirn_tools.trace.read import KEEPS_OLDEST, RING_THREAD, Trace

Array = NDArray[Any]

NEW, READY, RUNNING, BLOCKED, EXITED = range(5)
STATES = ("new", "ready", "running", "blocked", "exited")

LEAST_STOPPED = 20_000_000  # ns, of which it is worth a word
MOST_NS = 1 << 60  # 36 years: what a damaged clock says is cut there

# Why a span of READY began.
BY_NOTHING, BY_WAKE, BY_SPAWN, BY_STOP = range(4)

# The events of a thread.
STOP, RUN, SPAWN, SEEN, WAKE, BLOCK, EXIT, CALL, CALLED = range(9)

CPU_SPAN = np.dtype(
    [
        ("start", "<i8"),  # ns since the start of the trace
        ("end", "<i8"),
        ("key", "<i8"),  # the thread
        ("cpu", "<i4"),
        ("why", "<i4"),  # the switch that began it; -1: none did
        ("stretch", "<i4"),  # gaps.py
        ("row", "<i8"),  # of that event; -1: none
    ]
)
THREAD_SPAN = np.dtype(
    [
        ("start", "<i8"),
        ("end", "<i8"),
        ("key", "<i8"),
        ("state", "i1"),
        ("origin", "i1"),  # READY: BY_...
        ("reason", "<i2"),  # BLOCKED: of wait; -1: unknown
        ("cpu", "<i4"),  # RUNNING: where; else where it became so
        ("open", "?"),  # goes on at the end of the trace, or when the trace was paused
    ]
)
MOVE = np.dtype(
    [
        ("at", "<i8"),  # twice the row, plus 1 for what comes second there
        ("ns", "<i8"),
        ("group", "<i8"),  # of a thread and a stretch of time
        ("key", "<i4"),
        ("detail", "<i4"),
        ("cpu", "<i4"),
        ("span", "<i4"),  # RUN, STOP: of cpu_spans
        ("kind", "i1"),
    ],
    align=True,
)


@dataclass
class Model:
    """A trace with its spans, which are made when they are asked for first."""

    trace: Trace
    ns: Array  # of each row, since the start
    covered: Array  # for each CPU: from when to when its spans are known (ns)
    end: int  # ns
    lives: Lives
    references: dict[tuple[str, str], Reference]  # of fields of events
    _keys: dict[tuple[str, str], Array] = field(default_factory=dict)

    @property
    def threads(self) -> list[Thread]:
        return self.lives.threads

    @cached_property
    def gaps(self) -> Array:
        """From when to when the trace was paused."""
        times = np.append(self.ns, [self.end, 0])  # the last one is that of row -1
        return np.stack([times[self.trace.gaps.first], times[self.trace.gaps.last]], axis=1)

    @cached_property
    def stretch(self) -> Array:
        """Of each row, between gaps (gaps.py)."""
        return self.trace.gaps.stretches(np.arange(len(self.trace.rows)))

    @cached_property
    def stretch_end(self) -> Array:
        """When each stretch ends."""
        return np.append(self.gaps[:, 0], self.end)

    @cached_property
    def key(self) -> Array:
        """Of each row: the thread that ran, -1 none."""
        return self.lives.meant(self.references["", "thread"])

    @cached_property
    def cpu_spans(self) -> Array:
        """By CPU and time."""
        return _cpu_spans(self)

    @cached_property
    def thread_spans(self) -> Array:
        """By thread and time."""
        return _thread_spans(self)

    def move(self, moved: Callable[[Array], Array]) -> None:
        """All times become others, which `moved` computes; their order stays."""
        self.covered, self.ns = moved(self.covered), moved(self.ns)
        self.end = int(moved(np.array([self.end]))[0])
        for name in ("gaps", "stretch_end", "cpu_spans", "thread_spans"):
            self.__dict__.pop(name, None)

    def keys_of(self, name: str, field: str) -> Array:
        """The threads that a field of all events of that name names, in their order."""
        found = self._keys.get((name, field))
        if found is None:
            found = self._keys[name, field] = self._keys_of(name, field)
        return found

    def _keys_of(self, name: str, field: str) -> Array:
        if (name, field) in self.references:
            return self.lives.meant(self.references[name, field])
        rows = self.trace.which(name)
        index = self.trace.values(name, field, rows)
        if tells_life(self.trace, name, field):
            return self.lives.keys(pack(index, self.trace.values(name, "life", rows)))
        return self.lives.at(index, rows)

    def keys_at(self, name: str, field: str, rows: Array) -> Array:
        """The same for the events in these rows."""
        return np.asarray(self.keys_of(name, field)[np.searchsorted(self.trace.which(name), rows)])

    @cached_property
    def idle(self) -> Array:
        """For each thread: whether it is a CPU's idle thread."""
        return np.array([thread.idle for thread in self.threads], bool)


def build(trace: Trace) -> Model:
    """All of it, from the arrays of read.py."""
    labels.name_waits(trace)
    lives = Lives(trace)
    references, marked = _named(trace, lives)
    lives.settle([*marked, *(one.guess for one in references.values())])
    _find_idle(trace, lives, references)
    ns = np.clip(trace.clock.ns(trace.rows["clock"]), 0, MOST_NS).astype(np.int64)
    end = max(min(int(trace.clock.end_ns), MOST_NS), int(ns[-1]) if len(ns) else 0)
    model = Model(trace, ns, _coverage(trace, end), end, lives, references)
    trace.remarks += _stopped(model)
    return model


def _stopped(model: Model) -> list[str]:
    """Time in which CPUs ran threads, as the trace has it, and the process no processor."""
    used, spans = model.trace.header["used_ns"], model.cpu_spans
    if not used or model.trace.lost or len(model.gaps):
        return []
    busy = ~model.idle[spans["key"]] if len(spans) else np.empty(0, bool)
    ran = int((spans["end"] - spans["start"])[busy].sum())
    if ran - used < max(LEAST_STOPPED, ran // 10):
        return []
    return [
        f"threads ran for {ran / 1e9:.3f} s, the process had processors for {used / 1e9:.3f} s: "
        "the rest, in which CPUs waited for a processor or in the kernel, is drawn as running"
    ]


def _named(trace: Trace, lives: Lives) -> tuple[dict[tuple[str, str], Reference], list[Array]]:
    """The meanings of events' fields, and the lives that events tell; settle needs them all."""
    ran = lives.refer(trace.rows["thread"], np.arange(len(trace.rows)))
    references = {("", "thread"): ran}  # of each row: who ran
    marked = []
    for event in trace.table.events.values():
        rows = trace.which(event.name)
        for one in event.fields:
            if one.type != "thread":
                continue
            index = trace.values(event.name, one.name, rows)
            if tells_life(trace, event.name, one.name):
                marked.append(pack(index, trace.values(event.name, "life", rows)))
            else:
                references[event.name, one.name] = lives.refer(index, rows)
    for ring in trace.rings:
        if ring.first_clock:
            row = np.searchsorted(trace.rows["clock"], np.uint64(ring.first_clock))
            marked.append(lives.refer(np.array([ring.first_thread]), np.array([row])).guess)
    return references, marked


def _find_idle(trace: Trace, lives: Lives, references: dict[tuple[str, str], Reference]) -> None:
    """Idle threads of spare carriers, also where the `carry` that names them is lost."""
    if not len(trace.gaps):  # after a pause it may not be known which thread runs
        ran = lives.meant(references["", "thread"])
        for name in IDLING:
            lives.idle(ran[trace.which(name)])
    rows, code = trace.which("thread"), trace.table.enum_value("state", "idle")
    if code is not None:
        named = lives.at(trace.values("thread", "thread", rows), rows)
        lives.idle(named[trace.values("thread", "state", rows) == code])
    rows = trace.which("carry")
    if tells_life(trace, "carry", "idle"):
        life = trace.values("carry", "life", rows)
        lives.idle(lives.keys(pack(trace.values("carry", "idle", rows), life)))
    elif ("carry", "idle") in references:
        lives.idle(lives.meant(references["carry", "idle"]))
    why = trace.table.enum_value("switch", "idle")
    if why is not None and ("switch", "previous") in references:
        left = trace.values("switch", "why", trace.which("switch")) == why
        lives.idle(lives.meant(references["switch", "previous"])[left])


def _coverage(trace: Trace, end: int) -> Array:
    """From when to when the events of each CPU are complete."""
    covered = np.zeros((trace.cpus, 2), np.int64)
    rows = trace.rows
    for ring in trace.rings:
        if ring.kind != RING_THREAD or ring.cpu < 0:
            continue
        if not ring.first_clock:
            continue
        start = 0 if ring.whole else _ns_of(trace, ring.first_clock)
        stop = end
        if ring.cut and trace.header["flags"] & KEEPS_OLDEST:
            own = np.flatnonzero((rows["cpu"] == ring.cpu) & ~rows["any"])
            stop = _ns_of(trace, int(rows["clock"][own[-1]])) if len(own) else start
        covered[ring.cpu] = start, max(start, stop)
    return covered


def _ns_of(trace: Trace, clock: int) -> int:
    return max(0, min(int(trace.clock.seconds(clock) * 1e9), MOST_NS))


def _cpu_spans(model: Model) -> Array:
    """From switch to switch; the first one of a CPU begins with what the first block says."""
    trace, covered = model.trace, model.covered
    switches, carries = trace.which("switch"), trace.which("carry")
    rows = np.concatenate([switches, carries])
    key = np.concatenate([model.keys_of("switch", "next"), model.keys_of("carry", "idle")])
    why = np.concatenate(
        [trace.values("switch", "why", switches), np.full(len(carries), -1, np.int64)]
    )
    inside = ~trace.rows["any"][rows] & (trace.rows["cpu"][rows] >= 0) & (model.stretch[rows] >= 0)
    rows, key, why = rows[inside], key[inside], why[inside]
    made = np.zeros(len(rows), CPU_SPAN)
    made["start"], made["row"], made["why"] = model.ns[rows], rows, why
    made["cpu"], made["stretch"] = trace.rows["cpu"][rows], model.stretch[rows]
    made["key"] = key
    spans = _in_order(np.concatenate([_first_spans(model), _after_gaps(model), made]))
    spans = _in_order(np.concatenate([spans, _left_alone(model, spans)]))
    spans["end"][:-1] = spans["start"][1:]
    last = np.flatnonzero(~_followed(spans))
    end = np.minimum(covered[spans["cpu"][last], 1], model.stretch_end[spans["stretch"][last]])
    spans["end"][last] = np.maximum(end, spans["start"][last])
    return spans[spans["key"] >= 0]


def _in_order(spans: Array) -> Array:
    """By CPU and stretch; there by time."""
    return np.asarray(spans[np.lexsort((spans["row"], spans["stretch"], spans["cpu"]))])


def _followed(spans: Array) -> Array:
    """Whether the next span is of the same CPU and stretch."""
    same = (spans["cpu"][1:] == spans["cpu"][:-1]) & (spans["stretch"][1:] == spans["stretch"][:-1])
    return np.append(same, np.zeros(min(len(spans), 1), bool))


def _left_alone(model: Model, spans: Array) -> Array:
    """CPUs are idle from the wake-up of the thread whose call ended without them."""
    trace, rows = model.trace, np.int64(len(model.ns))
    called, own = trace.which("called"), model.keys_of("called", "thread")
    elsewhere = trace.rows["any"][called] & (own >= 0)
    called = np.sort((own * rows + called)[elsewhere])
    wakes, own = trace.which("wake"), model.keys_of("wake", "thread")
    wakes = np.sort((own * rows + wakes)[own >= 0])
    if not len(called) or not len(wakes):
        return np.empty(0, CPU_SPAN)
    next_row = np.where(_followed(spans), np.roll(spans["row"], -1), rows - 1)
    begin, end = spans["key"] * rows + np.maximum(spans["row"], 0), spans["key"] * rows + next_row
    ended = called[np.minimum(np.searchsorted(called, begin), len(called) - 1)]
    woken = wakes[np.minimum(np.searchsorted(wakes, ended), len(wakes) - 1)]
    found = (spans["key"] >= 0) & (begin <= ended) & (ended < woken) & (woken <= end)
    at = woken[found] % rows
    made = spans[found]
    found = model.stretch[at] == made["stretch"]
    made, at = made[found], at[found]
    idle = model.lives.at(made["cpu"].astype(np.int64), at)
    known = np.array([model.threads[key].index for key in idle.tolist()], np.int64) == made["cpu"]
    made["start"], made["row"], made["why"] = model.ns[at], at, -1
    made["key"] = np.where(known, idle, -1)
    return np.asarray(made)


def _first_spans(model: Model) -> Array:
    trace = model.trace
    rings = [r for r in trace.rings if r.kind == RING_THREAD and r.cpu >= 0 and r.first_clock]
    made = np.zeros(len(rings), CPU_SPAN)
    if not rings:
        return made
    made["cpu"] = [ring.cpu for ring in rings]
    made["start"] = model.covered[made["cpu"], 0]
    index = np.array([ring.first_thread for ring in rings])
    row = np.searchsorted(
        trace.rows["clock"], np.array([ring.first_clock for ring in rings], np.uint64)
    )
    made["key"] = model.lives.at(index, row)
    made["row"], made["why"] = -1, -1
    made["stretch"] = np.searchsorted(model.gaps[:, 1], made["start"], side="right")
    in_gap = made["start"] >= model.stretch_end[made["stretch"]]
    return np.asarray(made[~(in_gap & (made["stretch"] < len(model.gaps)))])


def _after_gaps(model: Model) -> Array:
    """Behind a gap a CPU runs the thread that its first switch stops."""
    trace, rows = model.trace, model.trace.which("switch")
    own = ~trace.rows["any"][rows] & (trace.rows["cpu"][rows] >= 0) & (model.stretch[rows] > 0)
    rows, key = rows[own], model.keys_of("switch", "previous")[own]
    cpu, stretch = trace.rows["cpu"][rows], model.stretch[rows]
    _, first = np.unique(stretch.astype(np.int64) << 32 | cpu, return_index=True)
    made = np.zeros(len(first), CPU_SPAN)
    made["cpu"], made["stretch"], made["key"] = cpu[first], stretch[first], key[first]
    made["row"], made["why"] = -1, -1
    made["start"] = model.gaps[made["stretch"] - 1, 1]
    return np.asarray(made[made["start"] > model.covered[made["cpu"], 0]])


def _thread_spans(model: Model) -> Array:
    moves = _moves(model)
    both = moves["group"] * np.int64(2 * len(model.ns) + 2) + moves["at"]
    moves = moves[_sensible(model, moves, np.argsort(both, kind="stable"))]
    state, origin, reason = _states(model, moves)
    return _spans_of(model, moves, state, origin, reason)


def _moves(model: Model) -> Array:
    """Everything that happens to threads; idle threads are only ever running."""
    spans, trace = model.cpu_spans, model.trace
    parts = [_runs(spans, RUN)]
    for name, kind, detail in (
        ("spawn", SPAWN, ""),
        ("thread", SEEN, "state"),
        ("wake", WAKE, ""),
        ("exit", EXIT, ""),
        ("call", CALL, ""),
        ("called", CALLED, ""),
        ("block", BLOCK, "reason"),
    ):
        rows = trace.which(name)
        event = trace.table.named(name)
        named = event is not None and event.field("thread") is not None
        key = model.keys_of(name, "thread") if named else model.key[rows]
        part = np.zeros(len(rows), MOVE)
        part["key"], part["at"], part["ns"], part["kind"] = key, rows * 2, model.ns[rows], kind
        part["cpu"], part["span"] = trace.rows["cpu"][rows], -1
        part["detail"] = trace.values(name, detail, rows) if detail else -1
        part["group"] = model.stretch[rows]
        parts.append(part)
    parts.append(_runs(spans, STOP))  # last: what a wake-up stops has been woken before
    moves = np.concatenate(parts)
    idle = model.idle
    kept = (moves["key"] >= 0) & (moves["group"] >= 0)
    moves["group"] += moves["key"] * np.int64(len(model.stretch_end))
    if len(idle):
        kept &= ~idle[moves["key"]] | (moves["kind"] <= RUN)
    return moves[kept]


def _runs(spans: Array, kind: int) -> Array:
    """Beginnings or ends of a CPU's spans. An end happens at the row of the next span's begin."""
    made = np.zeros(len(spans), MOVE)
    made["key"], made["kind"], made["detail"] = spans["key"], kind, -1
    made["group"] = spans["stretch"]
    made["cpu"], made["span"] = spans["cpu"], np.arange(len(spans))
    if kind == RUN:
        made["ns"], made["at"] = spans["start"], spans["row"] * 2 + 1
        return made
    made["ns"] = spans["end"]
    made["at"][:-1] = spans["row"][1:] * 2
    return np.asarray(made[_followed(spans)])


def _same_thread(group: Array) -> Array:
    """Whether a move is of the same thread and stretch as the one in front of it."""
    same = np.zeros(len(group), bool)
    np.equal(group[1:], group[:-1], out=same[1:])
    return same


def _previous(key: Array, kind: Array) -> Array:
    """The kind of the thread's move before; -1: none."""
    made = np.full(len(kind), -1, np.int8)
    made[1:] = np.where(key[1:] == key[:-1], kind[:-1], -1)
    return made


def _sensible(model: Model, moves: Array, order: Array) -> Array:
    """The order without wake-ups of running threads, and ends of runs overtaken by the next."""
    key, kind, span = (moves[name][order] for name in ("group", "kind", "span"))
    run = np.where(kind == RUN, np.arange(len(kind)), -1)
    latest = np.maximum.accumulate(run) if len(run) else run
    valid = (latest >= 0) & (key[latest] == key)
    kept = ~((kind == STOP) & valid & (span[latest] != span))
    order, key, kind = order[kept], key[kept], kind[kept]
    # The thread that ran when the trace began: its CPU's first span says it better.
    seen = np.flatnonzero((kind[:-1] == SEEN) & (kind[1:] == RUN) & (key[1:] == key[:-1]))
    seen = seen[moves["detail"][order[seen]] == _running_code(model)]
    void = seen
    while True:
        kept = np.ones(len(order), bool)
        kept[void] = False
        order, key, kind = order[kept], key[kept], kind[kept]
        void = np.flatnonzero((kind == WAKE) & (_previous(key, kind) == RUN))
        if not len(void):
            return order


def _running_code(model: Model) -> int:
    """The number of the state "running" in this trace."""
    value = model.trace.table.enum_value("state", "running")
    return -1 if value is None else value


def _states(model: Model, moves: Array) -> tuple[Array, Array, Array]:
    """State, origin and reason from each move on."""
    kind, before = moves["kind"], _previous(moves["group"], moves["kind"])
    call = model.trace.table.enum_value("wait", "call")
    state = np.full(len(moves), RUNNING, np.int8)
    origin = np.zeros(len(moves), np.int8)
    reason = np.full(len(moves), -1, np.int16)
    state[kind == SPAWN], origin[kind == SPAWN] = READY, BY_SPAWN
    woken = (kind == WAKE) & (before != BLOCK)
    state[woken], origin[woken] = READY, BY_WAKE
    stop = kind == STOP
    state[stop], origin[stop] = READY, BY_STOP
    origin[stop & (before == WAKE)] = BY_WAKE
    blocked = stop & (before == BLOCK)
    state[blocked] = BLOCKED
    reason[blocked] = moves["detail"][np.flatnonzero(blocked) - 1]
    in_call = (stop & (before == CALL)) | ((kind == CALLED) & (before == STOP))
    state[in_call], reason[in_call] = BLOCKED, -1 if call is None else call
    state[stop & (before == EXIT)] = EXITED
    seen = kind == SEEN
    state[seen] = _seen_states(model, moves["detail"][seen])
    return state, origin, reason


def _seen_states(model: Model, values: Array) -> Array:
    """States by their names in the trace; what is not known counts as blocked."""
    names = model.trace.table.enums.get("state", {})
    lookup = {value: STATES.index(name) for value, name in names.items() if name in STATES}
    return np.array([lookup.get(value, BLOCKED) for value in values.tolist()], np.int8)


def _spans_of(model: Model, moves: Array, state: Array, origin: Array, reason: Array) -> Array:
    """One span for each move that changes something."""
    same = _same_thread(moves["group"])
    before = np.concatenate([[-1], state[:-1]]) if len(moves) else state
    run = moves["kind"] == RUN
    kept = ~same | (state != before) | run
    moves, state, origin, reason = moves[kept], state[kept], origin[kept], reason[kept]
    spans = np.zeros(len(moves), THREAD_SPAN)
    for name in ("key", "cpu"):
        spans[name] = moves[name]
    spans["start"], spans["state"], spans["origin"], spans["reason"] = (
        moves["ns"],
        state,
        origin,
        reason,
    )
    follows = _same_thread(moves["group"])
    spans["end"] = model.stretch_end[moves["group"] % len(model.stretch_end)]
    spans["open"] = True
    if len(moves) > 1:
        inner = np.flatnonzero(follows[1:])
        spans["end"][inner] = moves["ns"][inner + 1]
        spans["open"][inner] = False
    spans["end"] = np.maximum(spans["end"], spans["start"])
    _cut(model, spans)
    return np.asarray(spans[(spans["state"] != EXITED) & (spans["state"] != NEW)])


def _cut(model: Model, spans: Array) -> None:
    """The thread that runs when a CPU's events stop is known up to there."""
    running = np.flatnonzero(spans["open"] & (spans["state"] == RUNNING) & (spans["cpu"] >= 0))
    limit = model.covered[spans["cpu"][running], 1]
    spans["end"][running] = np.maximum(
        np.minimum(spans["end"][running], limit), spans["start"][running]
    )
