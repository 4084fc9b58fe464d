# SPDX-License-Identifier: MIT
"""How many threads each CPU has over time: the one that it runs, and those that are ready for it.

A trace does not say in which queue a ready thread waits. It counts for the CPU that runs it next;
one that never runs again counts for the CPU on which it became ready. Idle threads do not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pirn_tools.trace.model import READY, RUNNING, Model

Array = NDArray[Any]


@dataclass(frozen=True)
class Load:
    """A step function: from each time on, so many threads."""

    times: Array  # ns, ascending
    threads: Array

    def averages(self, edges: Array) -> Array:
        """The mean over each interval between two edges."""
        # The integral at an edge: what has passed up to the last step, and what that step adds.
        area = np.concatenate([[0.0], np.cumsum(self.threads[:-1] * np.diff(self.times))])
        place = np.clip(np.searchsorted(self.times, edges, side="right") - 1, 0, None)
        at_edge = area[place] + self.threads[place] * np.maximum(edges - self.times[place], 0)
        return np.asarray(np.diff(at_edge) / np.maximum(np.diff(edges), 1))


def cpu_loads(model: Model) -> list[Load]:
    """One for each CPU."""
    spans = model.thread_spans
    own = (spans["state"] == READY) | (spans["state"] == RUNNING)
    if len(spans):
        own &= ~model.idle[spans["key"]]
    spans = spans[own]
    cpu = spans["cpu"].copy()
    if len(spans) > 1:
        runs_next = (
            (spans["state"][:-1] == READY)
            & (spans["state"][1:] == RUNNING)
            & (spans["key"][:-1] == spans["key"][1:])
        )
        cpu[:-1][runs_next] = spans["cpu"][1:][runs_next]
    return [_steps(spans[cpu == number]) for number in range(model.trace.cpus)]


def _steps(spans: Array) -> Load:
    times = np.concatenate([[0], spans["start"], spans["end"]])
    change = np.concatenate([[0], np.ones(len(spans)), -np.ones(len(spans))])
    order = np.argsort(times, kind="stable")
    times, level = times[order], np.cumsum(change[order])
    last = np.concatenate([times[1:] != times[:-1], [True]])
    return Load(times[last], level[last])
