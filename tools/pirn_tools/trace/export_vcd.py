# SPDX-License-Identifier: MIT
"""A trace as a value change dump (IEEE 1364), the waveforms that gtkwave shows.

For each CPU the index of the thread that it runs, and whether it is idle. For each index of threads
the state (STATE_CODES) and the number of the life: an index is used again when its thread is gone.
Time is in nanoseconds since the trace began.
"""

from __future__ import annotations

import re
import time
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from pirn_tools.trace import columns
from pirn_tools.trace.model import BLOCKED, READY, RUNNING, Model

Array = NDArray[Any]
NONE, IS_READY, IS_RUNNING, IS_BLOCKED = range(4)
STATE_CODES = ("none", "ready", "running", "blocked")
CHUNK = 1 << 16
FIRST, LAST = 33, 126  # characters of a signal's code


def code(number: int) -> str:
    """The short name of a signal."""
    base = LAST - FIRST + 1
    text = chr(FIRST + number % base)
    while number >= base:
        number = number // base - 1
        text += chr(FIRST + number % base)
    return text


def write(model: Model, stream: TextIO) -> None:
    """The whole trace."""
    indexes = sorted({thread.index for thread in model.threads if not thread.idle})
    cpus = model.trace.cpus
    codes = [code(number) for number in range(2 * cpus + 2 * len(indexes))]
    _header(model, stream, indexes, codes)
    changes = [*_cpu_changes(model), *_thread_changes(model, indexes, 2 * cpus)]
    changes += _unknown(model, len(codes))
    when = np.concatenate([part[0] for part in changes])
    signal = np.concatenate([part[1] for part in changes])
    value = np.concatenate([part[2] for part in changes])
    change = _last_of_each(when, signal, value)
    _dump(stream, codes, 2 * cpus, change, model.end)


def _header(model: Model, stream: TextIO, indexes: list[int], codes: list[str]) -> None:
    when = time.gmtime(model.trace.header["start_unix_ns"] // 10**9 % 2**33)
    meaning = ", ".join(f"{number} {name}" for number, name in enumerate(STATE_CODES))
    lines = [
        f"$date {time.strftime('%Y-%m-%d %H:%M:%S', when)} UTC $end",
        "$version pirn trace $end",
        f"$comment state of a thread: {meaning} $end",
        "$timescale 1 ns $end",
        "$scope module pirn $end",
    ]
    place = iter(codes)
    for cpu in range(model.trace.cpus):
        lines += [
            f"$scope module cpu{cpu} $end",
            f"$var integer 32 {next(place)} thread $end",
            f"$var wire 1 {next(place)} idle $end",
            "$upscope $end",
        ]
    names = {thread.index: thread.name for thread in model.threads}
    for index in indexes:
        word = re.sub(r"[^A-Za-z0-9_]+", "_", names[index]).strip("_")
        scope = f"thread{index}_{word}" if word else f"thread{index}"
        lines += [
            f"$scope module {scope} $end",
            f"$var reg 2 {next(place)} state $end",
            f"$var integer 32 {next(place)} life $end",
            "$upscope $end",
        ]
    lines += ["$upscope $end", "$enddefinitions $end", "$dumpvars"]
    # Nothing is known of CPUs before their first switch; threads are not there before they are.
    two = len(codes) - 2 * len(indexes)
    lines += [f"x{word}" if at % 2 else f"bx {word}" for at, word in enumerate(codes[:two])]
    lines += [f"b0 {word}" for word in codes[two:]]
    stream.write("\n".join([*lines, "$end", ""]))


Change = tuple[Array, Array, Array]
UNKNOWN = -1


def _unknown(model: Model, signals: int) -> list[Change]:
    """All are unknown while the trace is paused, and behind that until something is said."""
    every = np.arange(signals)
    return [
        (np.full(signals, begin), every, np.full(signals, UNKNOWN))
        for begin in model.gaps[:, 0].tolist()
    ]


def _cpu_changes(model: Model) -> list[Change]:
    spans = model.cpu_spans
    index = np.array([thread.index for thread in model.threads], np.int64)
    if not len(spans):
        return [(np.empty(0, np.int64),) * 3]
    idle = model.idle[spans["key"]].astype(np.int64)
    cpu = spans["cpu"].astype(np.int64)
    return [
        (spans["start"], 2 * cpu, index[spans["key"]]),
        (spans["start"], 2 * cpu + 1, idle),
    ]


def _thread_changes(model: Model, indexes: list[int], first: int) -> list[Change]:
    spans = model.thread_spans
    if not len(spans):
        return []
    spans = spans[~model.idle[spans["key"]]]
    index = np.array([thread.index for thread in model.threads], np.int64)[spans["key"]]
    life = np.array([thread.life for thread in model.threads], np.int64)[spans["key"]]
    place = first + 2 * np.searchsorted(np.array(indexes, np.int64), index)
    states = np.zeros(8, np.int64)
    states[[READY, RUNNING, BLOCKED]] = IS_READY, IS_RUNNING, IS_BLOCKED
    # A life ends where its last span does; the next life of the index comes after it in time.
    last = np.ones(len(spans), bool)
    last[:-1] = spans["key"][1:] != spans["key"][:-1]
    over = last & ~spans["open"]
    gone = np.zeros(int(over.sum()), np.int64)
    return [
        (spans["end"][over], place[over], gone),
        (spans["start"], place, states[spans["state"]]),
        (spans["start"], place + 1, life),
    ]


def _last_of_each(when: Array, signal: Array, value: Array) -> Change:
    """Of several changes of a signal at one time the last; none that changes nothing."""
    order = np.lexsort((when, signal))  # stable: what is equal stays in its order
    when, signal, value = when[order], signal[order], value[order]
    if len(when):
        last = np.ones(len(when), bool)
        last[:-1] = (signal[1:] != signal[:-1]) | (when[1:] != when[:-1])
        when, signal, value = when[last], signal[last], value[last]
        new = np.ones(len(when), bool)
        new[1:] = (signal[1:] != signal[:-1]) | (value[1:] != value[:-1])
        when, signal, value = when[new], signal[new], value[new]
    order = np.lexsort((signal, when))
    return when[order], signal[order], value[order]


def _dump(stream: TextIO, codes: list[str], scalars: int, change: Change, end: int) -> None:
    """scalars: of so many signals from the first on each second one has one bit (idle)."""
    when, signal, value = change
    new = np.ones(len(when), bool)
    new[1:] = when[1:] != when[:-1]
    alone = (signal < scalars) & (signal % 2 == 1)
    for begin in range(0, len(when), CHUNK):
        part = slice(begin, begin + CHUNK)
        count = len(when[part])
        moment = columns.beside(["#", columns.numbers(when[part]), "\n"], count)
        moment[~new[part]] = 0
        both = (value[part] - UNKNOWN) * 2 + alone[part]
        values = columns.words(both, _value)
        name = columns.words(signal[part], codes.__getitem__)
        stream.write(columns.lines([moment, values, name, "\n"], count))
    if not len(when) or end > when[-1]:
        stream.write(f"#{end}\n")


def _value(both: int) -> str:
    """A number as the file has it; both: what it is more than UNKNOWN, twice, and 1 if a bit."""
    number, alone = (both >> 1) + UNKNOWN, both & 1
    text = "x" if number == UNKNOWN else f"{number:b}"
    return text if alone else f"b{text} "
