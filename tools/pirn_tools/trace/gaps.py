# SPDX-License-Identifier: MIT
"""Where the program had its trace paused (pirn_trace): from when to when, and what that hides.

A gap is from `pause` to `resume`. Events in between are few and by chance; they are shown, and
nothing is concluded from them. Nor from anything in front of a gap for what comes behind it: time
falls into stretches, numbered from 0, and threads and CPUs begin anew in each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
IN_GAP = -1


@dataclass(frozen=True)
class Gaps:
    """By rows: `pause` of each gap (-1: it is lost, or before the beginning), and `resume`."""

    first: Array
    last: Array  # the number of rows: the trace was paused up to its end

    def __len__(self) -> int:
        return len(self.first)

    def stretches(self, rows: Array) -> Array:
        """In which stretch of time each of these rows is, or IN_GAP."""
        number = np.searchsorted(self.last, rows, side="right")
        paused = np.searchsorted(self.first, rows, side="left") > number
        return np.where(paused, IN_GAP, number)


NONE = Gaps(np.empty(0, np.int64), np.empty(0, np.int64))


def find(pauses: Array, resumes: Array, rows: int) -> Gaps:
    """From the rows of the two events; what is said twice counts once."""
    every = np.concatenate([pauses, resumes])
    if not len(every):
        return NONE
    is_pause = np.arange(len(every)) < len(pauses)
    order = np.argsort(every, kind="stable")
    every, is_pause = every[order], is_pause[order]
    new = np.ones(len(every), bool)
    new[1:] = is_pause[1:] != is_pause[:-1]
    first, last = every[new & is_pause], every[new & ~is_pause]
    if not is_pause[0]:
        first = np.concatenate([[-1], first])
    if is_pause[-1]:
        last = np.append(last, rows)
    return Gaps(first, last)


def mend(rows: Array, gaps: Gaps, cpus: int, switches: Array, previous: Array) -> None:
    """The thread that ran at the events behind a gap: up to the first switch, the one it stops.

    The rings say which ran before the gap. Where no switch comes, none is known.
    """
    none = np.uint32(0xFFFFFFFF)
    inside = ~rows["any"]
    for cpu in range(cpus if len(gaps) else 0):
        own = np.flatnonzero(inside & (rows["cpu"] == cpu))
        mine = np.flatnonzero(rows["cpu"][switches] == cpu)
        # The stretch behind a gap goes up to the next one's pause.
        until = np.append(gaps.first[1:], len(rows))
        begin, end = np.searchsorted(own, gaps.last), np.searchsorted(own, until)
        place = np.searchsorted(switches[mine], gaps.last)
        for number in range(len(gaps)):
            known = place[number] < len(mine) and switches[mine[place[number]]] < until[number]
            row = switches[mine[place[number]]] if known else until[number]
            stop = min(int(np.searchsorted(own, row, side="right")), int(end[number]))
            who = previous[mine[place[number]]] if known else none
            rows["thread"][own[begin[number] : stop]] = who
