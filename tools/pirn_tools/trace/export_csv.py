# SPDX-License-Identifier: MIT
"""A trace as CSV, in the columns of the thesis on pthreads for SHMAC:

    timestamp in ticks of the clock since the start, core (-1: a kernel thread that executes none),
    event's number, event's name, thread's index, thread's id (index.life), parameters

The parameters are name=value, with a space between; a text is in quotes of its own. The thread is
the one that ran.
"""

from __future__ import annotations

from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from pirn_tools.trace.fields import Fields
from pirn_tools.trace.model import Model
from pirn_tools.trace.read import NO_THREAD

Array = NDArray[Any]
HEAD = "timestamp,core,event_id,event,thread_index,thread_id,parameters"
CHUNK = 1 << 17  # rows in memory at a time


def write(model: Model, stream: TextIO) -> None:
    """The whole trace."""
    stream.write(HEAD + "\n")
    fields = Fields(model)
    for begin in range(0, len(model.trace.rows), CHUNK):
        rows = np.arange(begin, min(begin + CHUNK, len(model.trace.rows)))
        stream.write("".join(_lines(fields, rows)))


def _lines(fields: Fields, rows: Array) -> list[str]:
    model = fields.model
    trace = model.trace
    data = trace.rows[rows]
    ticks = (data["clock"] - np.uint64(trace.clock.start)).tolist()
    index = ["" if one == NO_THREAD else str(one) for one in data["thread"].tolist()]
    number = fields.thread_numbers(model.key[rows])
    kinds = {event.id: f"{event.id},{event.name}" for event in trace.table.events.values()}
    return [
        f"{tick},{cpu},{kinds[kind]},{thread},{life},{parameters}\n"
        for tick, cpu, kind, thread, life, parameters in zip(
            ticks,
            data["cpu"].tolist(),
            data["event"].tolist(),
            index,
            number,
            _parameters(fields, rows),
            strict=True,
        )
    ]


def _parameters(fields: Fields, rows: Array) -> list[str]:
    made = np.full(len(rows), "", object)
    ids = fields.model.trace.rows["event"][rows]
    for event in fields.model.trace.table.events.values():
        places = np.flatnonzero(ids == event.id)
        if not len(places) or not event.fields:
            continue
        own = rows[places]
        columns = []
        for field in event.fields:
            words = fields.words(event, field, own)
            if field.type == "text":
                words = [_quoted(word) for word in words]
            columns.append([f"{field.name}={word}" for word in words])
        joined = [" ".join(words) for words in zip(*columns, strict=True)]
        if event.has_text:
            joined = ['"' + line.replace('"', '""') + '"' for line in joined]
        made[places] = joined
    return list(made.tolist())


def _quoted(word: str) -> str:
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'
