# SPDX-License-Identifier: MIT
"""A job's traces in one file for Perfetto or Chrome: export_chrome for each rank, and the messages.

A message is a flow, from a slice of no length on the sender's track to one on the receiver's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from pirn_tools.trace import columns
from pirn_tools.trace.columns import Column
from pirn_tools.trace.export_chrome import END, FIRST, SHOWN, Place, Writer, chunks, quoted, us
from pirn_tools.trace.merge import Job, times

Array = NDArray[Any]
SIDES = (("send", "from", "send"), ("receive", "to", "receive"))  # event, rank, row


def write(job: Job, stream: TextIO) -> None:
    """The whole job."""
    first = job.ranks[0].model.trace.table.meta
    other = quoted({**first, "ranks": str(len(job.ranks)), "remarks": job.remarks})
    stream.write(f'{{"displayTimeUnit": "ns", "otherData": {other}, "traceEvents": [\n')
    writers: list[Writer] = []
    tid, flow = FIRST, len(job.messages)
    for number, rank in enumerate(job.ranks):
        place = Place(
            2 * number + 1,
            2 * number + 2,
            tid,
            flow,
            f"rank {number}: ",
            (*SHOWN, "send", "receive"),
        )
        writer = Writer(rank.model, place)
        for text in writer.slices():
            stream.write(text)
        tid, flow = writer.end, writer.flows
        writers.append(writer)
    for text in _ends(writers):
        stream.write(text)
    for part in chunks(np.arange(len(job.messages))):
        stream.write(_messages(job, writers, part))
    for writer in writers:
        for text in writer.events():
            stream.write(text)
    stream.write(",\n".join(line for writer in writers for line in writer.names()))
    stream.write("\n]}\n")


def _slices(writer: Writer, event: str, rows: Array) -> str:
    model = writer.model
    ns = model.ns[rows]
    found = model.trace.table.named(event)
    field = found.field("what") if found is not None else None
    what: list[Column | str] = []
    if found is not None and field is not None:
        what = [',"args":{"what":', writer.fields.column(found, field, rows, quoted), "}"]
    return columns.lines(
        [
            f'{{"ph":"X","cat":"message","name":"{event}","pid":{writer.pid},"tid":',
            _tracks(writer, rows),
            *(',"ts":', us(ns), ',"dur":', us(ns - ns)),
            *what,
            END,
        ],
        len(rows),
    )


def _tracks(writer: Writer, rows: Array) -> Column:
    """Of the threads that wrote these events; where none is known, the first one."""
    return columns.numbers(np.maximum(writer.model.key[rows], 0) + writer.threads)


def _messages(job: Job, writers: list[Writer], part: Array) -> str:
    """Flows."""
    messages, when = job.messages[part], times(job)[part]
    # A flow goes forward.
    late = when[:, 0] <= when[:, 1]
    part, messages, when = part[late], messages[late], when[late]
    text: list[str] = []
    for number, writer in enumerate(writers):
        for column, (_, side, row) in enumerate(SIDES):
            own = np.flatnonzero(messages[side] == number)
            text.append(
                columns.lines(
                    [
                        '{"ph":"s",' if column == 0 else '{"ph":"f","bp":"e",',
                        '"cat":"message","name":"message","id":',
                        columns.numbers(part[own] + 1),
                        f',"pid":{writer.pid},"tid":',
                        _tracks(writer, messages[row][own]),
                        ',"ts":',
                        us(when[own, column]),
                        END,
                    ],
                    len(own),
                )
            )
    return "".join(text)


def _ends(writers: list[Writer]) -> Iterator[str]:
    """Slices, also of messages whose other end is not there."""
    for writer in writers:
        for event, _, _ in SIDES:
            for part in chunks(writer.model.trace.which(event)):
                yield _slices(writer, event, part)
