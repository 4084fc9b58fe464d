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

from pirn_tools.trace import columns
from pirn_tools.trace.columns import Column
from pirn_tools.trace.fields import Fields, Quote
from pirn_tools.trace.model import Model
from pirn_tools.trace.table import EventType

Array = NDArray[Any]
HEAD = "timestamp,core,event_id,event,thread_index,thread_id,parameters"
CHUNK = 1 << 16  # rows in memory at a time


def write(model: Model, stream: TextIO) -> None:
    """The whole trace."""
    stream.write(HEAD + "\n")
    fields = Fields(model)
    for begin in range(0, len(model.trace.rows), CHUNK):
        rows = np.arange(begin, min(begin + CHUNK, len(model.trace.rows)))
        stream.write(_lines(fields, rows))


def _lines(fields: Fields, rows: Array) -> str:
    trace = fields.model.trace
    data, key = trace.rows[rows], fields.model.key[rows]
    thread = columns.numbers(fields.index[key])
    thread[key < 0] = 0
    events = trace.table.events
    parts: list[Column | str] = [
        columns.numbers(data["clock"] - np.uint64(trace.clock.start)),
        ",",
        columns.signed(data["cpu"]),
        columns.words(data["event"], lambda number: f",{number},{events[number].name},"),
        thread,
        ",",
        fields.numbers(key),
        ",",
        _parameters(fields, rows, data["event"]),
        "\n",
    ]
    return columns.lines(parts, len(rows))


def _parameters(fields: Fields, rows: Array, ids: Array) -> Column:
    """Of each event, in the order of the rows."""
    made = []
    for event in fields.model.trace.table.events.values():
        places = np.flatnonzero(ids == event.id)
        if len(places) and event.fields:
            made.append((places, _of_event(fields, event, rows[places])))
    both = np.zeros((len(rows), max((own.shape[1] for _, own in made), default=0)), np.uint8)
    for places, own in made:
        both[places, : own.shape[1]] = own
    return both


def _of_event(fields: Fields, event: EventType, rows: Array) -> Column:
    """Where there is a text the whole is in quotes."""
    edge, plain = ('"', _doubled) if event.has_text else ("", str)
    parts: list[Column | str] = []
    for field in event.fields:
        parts += [f"{' ' if parts else edge}{field.name}="]
        quote: Quote = _quoted if field.type == "text" else plain
        parts += [fields.column(event, field, rows, quote)]
    return columns.beside([*parts, edge], len(rows))


def _doubled(word: str) -> str:
    return word.replace('"', '""')


def _quoted(word: str) -> str:
    """A text, in quotes within quotes."""
    return _doubled('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"')
