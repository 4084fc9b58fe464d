# SPDX-License-Identifier: MIT
"""The traces of a job's processes on one time line, with the messages between them.

Each process has a clock of its own. Its library has compared that with rank 0's when the job
began and when it ended (events `align`): how many ns it was ahead, and by how much that may be
wrong, as half of the shortest round trip. Between the two, and beyond them, the difference is a
straight line.
Times of the merged trace are rank 0's, from the moment at which the first of all traces begins.

A message is an event `send` and an event `receive` with the same number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pirn_tools.errors import UserError, listing
from pirn_tools.trace.model import MOST_NS, Model

Array = NDArray[Any]
BEGIN, END = 1, 2
MOST_RANKS = 1 << 16
MOST_SAID = 8  # ranks in a message
MESSAGE = np.dtype(
    [("from", "<i4"), ("send", "<i8"), ("to", "<i4"), ("receive", "<i8")]  # ranks, rows
)


@dataclass(frozen=True)
class Point:
    """One comparison of clocks."""

    at: int  # ns, of this clock
    ahead: int  # ns
    error: int  # ns


@dataclass
class Rank:
    """One process."""

    path: Path
    model: Model
    rank: int
    size: int
    job: int
    points: list[Point]

    @property
    def start(self) -> int:
        """Of the trace, by the process's own clock."""
        return self.model.trace.header["start_ns"]

    @property
    def drift(self) -> float | None:
        """By how many ns it gets ahead of rank 0's in each ns of its own; None: not known."""
        if self.rank == 0:
            return 0.0
        if len(self.points) < 2 or self.points[1].at <= self.points[0].at:
            return None
        first, last = self.points
        return (last.ahead - first.ahead) / (last.at - first.at)

    @property
    def drift_error(self) -> float:
        """By how much that may be wrong."""
        first, last = self.points
        return (first.error + last.error) / (last.at - first.at)

    @property
    def error(self) -> int:
        """By how many ns its times may be wrong beside rank 0's, at the points."""
        return max(point.error for point in self.points)

    def common(self, ns: Array) -> Array:
        """Times since its start as times of rank 0's clock."""
        first = self.points[0]
        since = ns + (self.start - first.at)
        ahead = np.rint(since * (self.drift or 0.0)).astype(np.int64) + first.ahead
        return np.asarray(since - ahead + first.at)


@dataclass
class Job:
    """All of them, in the order of ranks; their models' times are those of the job."""

    ranks: list[Rank]
    messages: Array  # MESSAGE
    end: int
    remarks: list[str]


def merge(models: Iterable[Model]) -> Job:
    """Changes the models."""
    ranks = [_rank(model) for model in models]
    ranks.sort(key=lambda one: one.rank)
    _check(ranks)
    remarks = [text for rank in ranks for text in _remarks(rank)]
    zero = min(int(rank.common(np.zeros(1, np.int64))[0]) for rank in ranks)
    for rank in ranks:
        _move(rank, zero)
    messages, said = _messages(ranks)
    end = max(rank.model.end for rank in ranks)
    return Job(ranks, messages, end, [*_clock_remarks(ranks), *remarks, *said])


def _rank(model: Model) -> Rank:
    trace, path = model.trace, model.trace.path
    rows = trace.which("job")
    lost = f" (it has lost {trace.lost:,} of its events)" if trace.lost else ""
    if not len(rows):
        raise UserError(
            f"{path}: it has no exchange with other ranks{lost}: traces to merge are those of a "
            "program with libpirn-mpi, all of whose ranks were started with PIRN_TRACE"
        )
    row = int(rows[-1])
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", trace.text(row))
    if match is None or not int(match[1]) < int(match[2]) <= MOST_RANKS:
        raise UserError(
            f'{path}: damaged: "{trace.text(row)}" is no rank (expected, for instance, 1/4)'
        )
    found: dict[int, Point] = {}
    rows = trace.which("align")
    ahead = trace.values("align", "ahead", rows).astype(np.uint64).astype(np.int64).tolist()
    point = trace.values("align", "point", rows).tolist()
    for place, at in enumerate(rows.tolist()):
        words = re.fullmatch(r"(\d{1,18}) (\d{1,15})", trace.text(at))
        if words is None or point[place] not in (BEGIN, END) or abs(ahead[place]) > MOST_NS:
            raise UserError(f'{path}: damaged: "{trace.text(at)}" is no comparison of clocks')
        found[point[place]] = Point(int(words[2]) * 1000, ahead[place], int(words[1]))
    if BEGIN not in found:
        raise UserError(f"{path}: its clock was not compared with that of rank 0{lost}")
    points = [found[number] for number in sorted(found)]
    job = int(trace.values("job", "job", np.array([row]))[0])
    return Rank(path, model, int(match[1]), int(match[2]), job, points)


def _check(ranks: Sequence[Rank]) -> None:
    first = ranks[0]
    for one in ranks:
        if (one.job, one.size) != (first.job, first.size):
            raise UserError(f"{first.path} and {one.path} are of different runs of a program")
    for before, one in pairwise(ranks):
        if before.rank == one.rank:
            raise UserError(f"{before.path} and {one.path} are both of rank {one.rank}")
    there = {one.rank for one in ranks}
    missing = [str(rank) for rank in range(first.size) if rank not in there]
    if missing:
        more = f" and {len(missing) - MOST_SAID} more" if len(missing) > MOST_SAID else ""
        raise UserError(
            f"the program had {first.size} ranks; no trace of rank "
            f"{listing(missing[:MOST_SAID])}{more}"
        )
    events = first.model.trace.table.events
    for one in ranks:
        if one.model.trace.table.events != events:
            raise UserError(
                f"{first.path} and {one.path} are of different versions of the library: "
                "their events differ"
            )


def _remarks(rank: Rank) -> list[str]:
    model, found = rank.model, []
    for row in model.trace.which("untold").tolist():
        found.append(f"its messages by {model.trace.text(row)} have no arrows")
    if len(model.gaps):
        found.append("its trace was paused: messages of that time have no arrows")
    if model.trace.lost:
        found.append(f"{model.trace.lost:,} events are lost: messages may have no arrows")
    return [f"rank {rank.rank}: {text}" for text in [*model.trace.remarks, *found]]


def _clock_remarks(ranks: Sequence[Rank]) -> Iterable[str]:
    for rank in ranks[1:]:
        drift = rank.drift
        how = (
            f"faster by {drift / (1 - drift) * 1e6:+,.3f} ppm (± {rank.drift_error * 1e6:,.3f})"
            if drift is not None
            else "how fast it goes is not known, as the program did not reach MPI_Finalize"
        )
        yield (
            f"clock of rank {rank.rank}: {rank.points[0].ahead / 1e3:+,.3f} µs ahead of rank 0's "
            f"at the beginning, {how}; the error is at most {rank.error / 1e3:,.3f} µs at the "
            "beginning and the end"
        )


def _move(rank: Rank, zero: int) -> None:
    """The times of a model become those of the job."""
    model = rank.model

    def moved(ns: Array) -> Array:
        return np.asarray(np.clip(rank.common(ns.astype(np.int64)) - zero, 0, MOST_NS))

    model.move(moved)


def _messages(ranks: Sequence[Rank]) -> tuple[Array, list[str]]:
    """By the time at which they are sent; and what is to be said of them."""
    sides = []
    for name in ("send", "receive"):
        rows = [one.model.trace.which(name) for one in ranks]
        numbers = [
            one.model.trace.values(name, "message", own).astype(np.uint64)
            for one, own in zip(ranks, rows, strict=True)
        ]
        which = np.concatenate([np.full(len(own), i) for i, own in enumerate(rows)])
        sides.append((np.concatenate(numbers), which.astype(np.int32), np.concatenate(rows)))
    (sent, source, out), (received, target, arrived) = sides
    _, first, second = np.intersect1d(sent, received, return_indices=True)
    made = np.zeros(len(first), MESSAGE)
    made["from"], made["send"] = source[first], out[first]
    made["to"], made["receive"] = target[second], arrived[second]
    times = _times(ranks, made)
    said = []
    alone = len(sent) + len(received) - 2 * len(made)
    if alone:
        said.append(f"{alone:,} ends of messages have no other end in these traces")
    early = times[:, 0] - times[:, 1]
    if len(early) and early.max() > 0:
        said.append(
            f"{int((early > 0).sum()):,} messages arrive before they are sent, by up to "
            f"{early.max() / 1e3:,.3f} µs: their arrows are left out "
            "of files for Perfetto. By so much the clocks are off, or threads have sent equal "
            "messages at the same time"
        )
    return made[np.argsort(times[:, 0], kind="stable")], said


def _times(ranks: Sequence[Rank], messages: Array) -> Array:
    times = np.zeros((len(messages), 2), np.int64)
    for i, one in enumerate(ranks):
        for column, side, row in ((0, "from", "send"), (1, "to", "receive")):
            own = messages[side] == i
            times[own, column] = one.model.ns[messages[row][own]]
    return times


def times(job: Job) -> Array:
    """Of each message: sent, received."""
    return _times(job.ranks, job.messages)
