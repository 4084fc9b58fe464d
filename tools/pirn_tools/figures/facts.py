# SPDX-License-Identifier: MIT
"""Sentences about a run, made from its trace."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pirn_tools.figures.markdown import counted
from pirn_tools.trace.loads import cpu_loads
from pirn_tools.trace.model import Model
from pirn_tools.trace.show import duration

Array = NDArray[Any]


@dataclass(frozen=True)
class Join:
    """A thread that waited for another one's end."""

    time: int  # ns from the end to the joiner's going on
    crosses: bool  # it ended on another CPU than where the joiner goes on


def joins(model: Model) -> list[Join]:
    """Those in which the joiner waited; a joiner that comes after the end does not wait."""
    trace = model.trace
    ended = dict(zip(_keys(model, "exit"), trace.which("exit").tolist(), strict=True))
    blocked: dict[int, int] = {}
    found = []
    joined = dict(zip(trace.which("join").tolist(), _keys(model, "join"), strict=True))
    waits = {code for code, name in trace.table.enums.get("wait", {}).items() if name == "join"}
    blocks = trace.which("block")
    blocks = blocks[np.isin(trace.values("block", "reason", blocks), list(waits))]
    for row in np.sort(np.concatenate([blocks, trace.which("join")])).tolist():
        joiner = int(model.key[row])
        if row not in joined:
            blocked[joiner] = row
            continue
        end = ended.get(joined[row])
        if end is not None and joiner in blocked and blocked[joiner] < end < row:
            crosses = bool(trace.rows["cpu"][end] != trace.rows["cpu"][row])
            found.append(Join(int(model.ns[row] - model.ns[end]), crosses))
        blocked.pop(joiner, None)
    return found


def _keys(model: Model, event: str) -> list[int]:
    return [int(key) for key in model.keys_of(event, "thread")]


def chain(model: Model) -> str:
    """A chain of joins."""
    every = joins(model)
    parts = [f"{counted(len(model.trace.which('join')), 'join')} in {duration(extent(model))}"]
    for crosses, where in ((True, "across CPUs"), (False, "on one CPU")):
        times = [one.time for one in every if one.crosses == crosses]
        if times:
            said = duration(statistics.median(times))
            if len(times) > 1:
                said += f" (median; longest {duration(max(times))})"
            parts.append(
                f"{counted(len(times), 'joiner')} waited {where}: {said} from the end of the "
                "thread to its joiner"
            )
    return "; ".join(parts) + "."


def extent(model: Model) -> int:
    """From the first thread that is created to the last that is joined (ns)."""
    rows = np.concatenate([model.trace.which("spawn"), model.trace.which("join")])
    return int(model.ns[rows].max() - model.ns[rows].min()) if len(rows) else 0


def requests(model: Model) -> str:
    """CPUs that ask others for work."""
    times, threads = [], 0
    for asked, answered in request_pairs(model):
        times.append(int(model.ns[answered] - model.ns[asked]))
        threads += int(model.trace.values("answer", "amount", np.array([answered]))[0])
    number = len(model.trace.which("request"))
    said = f"{counted(number, 'request')}, {counted(len(times), 'answer')} with "
    said += counted(threads, "thread")
    if times:
        said += f"; from request to answer {duration(min(times))} to {duration(max(times))}"
    return said + "."


def request_pairs(model: Model) -> list[tuple[int, int]]:
    """Rows of requests and of their answers: a pair of CPUs has one of each under way at most."""
    trace = model.trace
    asking = {
        row: (int(trace.rows["cpu"][row]), int(other))
        for name, field in (("request", "asked"), ("answer", "asking"))
        for row, other in zip(
            trace.which(name).tolist(),
            trace.values(name, field, trace.which(name)).tolist(),
            strict=True,
        )
    }
    is_request = set(trace.which("request").tolist())
    open_: dict[tuple[int, int], int] = {}
    found = []
    for row in sorted(asking):
        cpu, other = asking[row]
        if row in is_request:
            open_[cpu, other] = row
        elif (other, cpu) in open_:
            found.append((open_.pop((other, cpu)), row))
    return found


def workers(model: Model) -> str:
    """Threads that compute: where, in how many turns."""
    spans = model.cpu_spans
    spans = spans[~model.idle[spans["key"]]] if len(spans) else spans
    born = np.unique(model.keys_of("spawn", "thread"))
    own = spans[np.isin(spans["key"], born)]
    places = np.unique(np.stack([own["key"], own["cpu"].astype(np.int64)], axis=1), axis=0)
    moved = len(places) - len(np.unique(own["key"]))
    each = np.bincount(places[:, 1], minlength=model.trace.cpus)
    spread = ", ".join(str(number) for number in each.tolist())
    stay = f"{counted(moved, 'change')} of CPU" if moved else "none changed its CPU"
    return (
        f"{counted(len(born), 'worker')} in {duration(extent(model))}, by CPU: {spread}; {stay}; "
        f"{counted(len(own), 'turn')}."
    )


def load(model: Model) -> str:
    """How full the CPUs were."""
    loads = cpu_loads(model)
    highest = ", ".join(str(int(one.threads.max())) if len(one.threads) else "0" for one in loads)
    return f"{chain(model)} Most threads at once, by CPU: {highest}."
