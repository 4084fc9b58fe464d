# SPDX-License-Identifier: MIT
"""The two kinds of rings: blocks of records that one CPU writes, slots that anybody writes.

A ring is read as a whole, by operations on arrays; a loop goes only over events with text, since
what follows such an event is no record, whatever it looks like.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pirn_tools.trace.clock import Knots
from pirn_tools.trace.table import Table, TraceError

Array = NDArray[Any]

BLOCK = 256
SYNC, CLOCK, PAD = 1, 2, 3
TEXT = 32
NO_THREAD = 0xFFFFFFFF

RECORD = np.dtype(
    [("delta", "<u4"), ("event", "u1"), ("more", "u1"), ("small", "<u2"), ("ab", "<u8")]
)
SLOT = np.dtype(
    [
        ("ticket", "<u4"),
        ("event", "u1"),
        ("more", "u1"),
        ("small", "<u2"),
        ("ab", "<u8"),
        ("clock", "<u8"),
        ("thread", "<u4"),
        ("unused", "<u4"),
        ("text", f"S{TEXT}"),
    ]
)
EMPTY = Knots(np.empty(0, np.uint64), np.empty(0, np.uint64))


@dataclass(frozen=True)
class Source:
    """The file, and what its contents are checked against."""

    path: Path
    data: Array
    table: Table
    start_clock: int
    most_ticks: int

    def check_events(self, events: Array, offsets: Array) -> None:
        """All must be in the list of events."""
        known = np.zeros(256, bool)
        known[list(self.table.events)] = True
        wrong = np.flatnonzero(~known[events])
        if len(wrong):
            at = int(wrong[0])
            text = f"event {int(events[at])} is not in the list of events"
            raise TraceError(self.path, int(offsets[at]), text)

    def check_clock(self, clock: Array, offsets: Array) -> None:
        """All must lie behind the start, at a distance that a trace can have."""
        wrong = np.flatnonzero(clock - np.uint64(self.start_clock) >= np.uint64(self.most_ticks))
        if len(wrong):
            at = int(wrong[0])
            text = f"the clock is {int(clock[at])}, at the start it was {self.start_clock}"
            raise TraceError(self.path, int(offsets[at]), text)

    def with_text(self, events: Array) -> Array:
        has = np.zeros(256, bool)
        has[[event.id for event in self.table.events.values() if event.has_text]] = True
        return np.asarray(has[events])


@dataclass(frozen=True)
class Part:
    """The events of one ring."""

    clock: Array
    event: Array
    small: Array
    ab: Array
    thread: Array
    text: Array  # in texts; -1: none
    texts: Array
    knots: Knots
    first_clock: int = 0
    first_thread: int = NO_THREAD
    whole: bool = True
    cut: bool = False


def nothing() -> Part:
    """A ring without events."""
    long, short = np.empty(0, np.uint64), np.empty(0, np.uint32)
    texts = np.empty(0, f"S{TEXT}")
    return Part(long, short, short, long, short, np.empty(0, np.int64), texts, EMPTY)


def valid_blocks(head: int, capacity: int, keeps_oldest: bool) -> range:
    """Numbers of the blocks whose contents count; the last may be unfinished."""
    written, room = -(-head // BLOCK), capacity // BLOCK
    if keeps_oldest:
        return range(written)
    # The block that comes next may be overwritten already, before `head` says so.
    following = head // BLOCK
    return range(max(0, following - room + 1), written)


def read_thread(source: Source, entry: Array, keeps_oldest: bool) -> Part:
    """A ring of blocks."""
    head, capacity, begin = int(entry["head"]), int(entry["capacity"]), int(entry["offset"])
    if keeps_oldest and head > capacity:
        text = f"{head} records in a ring of {capacity} that stops when it is full"
        raise TraceError(source.path, begin, text)
    numbers = valid_blocks(head, capacity, keeps_oldest)
    if not numbers:
        return nothing()
    room = capacity // BLOCK
    size = capacity * RECORD.itemsize
    every = np.frombuffer(source.data[begin : begin + size], RECORD).reshape(room, BLOCK)
    places = np.arange(numbers.start, numbers.stop) % room
    records = every[places].reshape(-1)
    offsets = (
        begin + (places[:, None] * BLOCK + np.arange(BLOCK)[None, :]).reshape(-1) * RECORD.itemsize
    )
    last = head - (numbers.stop - 1) * BLOCK  # records of the newest block
    records, offsets = records[: len(records) - BLOCK + last], offsets[: len(records)]
    _check_heads(source, records, offsets)
    own = _find_events(source, records, offsets)
    source.check_events(records["event"][own], offsets[own])
    _check_counts(source, records, offsets, own)
    return _part(source, records, own, numbers.start == 0)


def _check_heads(source: Source, records: Array, offsets: Array) -> None:
    for place, want, name in ((0, SYNC, "SYNC"), (1, CLOCK, "CLOCK")):
        found = records["event"][place::BLOCK]
        wrong = np.flatnonzero(found != want)
        if len(wrong):
            at = int(offsets[place + int(wrong[0]) * BLOCK])
            text = f"expected {name} ({want}) in a block, found record {int(found[wrong[0]])}"
            raise TraceError(source.path, at, text)
    if len(records) % BLOCK == 1:
        at = int(offsets[-1])
        raise TraceError(source.path, at, "the newest block ends before its second record")
    clock = records["ab"][::BLOCK]
    source.check_clock(clock, offsets[::BLOCK])
    back = np.flatnonzero(clock[1:] < clock[:-1])
    if len(back):
        at = int(offsets[(int(back[0]) + 1) * BLOCK])
        raise TraceError(source.path, at, "a block's clock is in front of the block before")


def _find_events(source: Source, records: Array, offsets: Array) -> Array:
    """Places of the records that are events: neither heads of blocks, nor padding, nor text."""
    mask = np.ones(len(records), bool)
    mask[0::BLOCK] = mask[1::BLOCK] = False
    special = np.flatnonzero((records["event"] == PAD) | (records["more"] != 0))
    more = records["more"].tolist()
    event = records["event"].tolist()
    gone: list[int] = []  # beginnings and ends of what is no event
    ends: list[int] = []
    until = 0
    for at in special.tolist():
        block_end = (at // BLOCK + 1) * BLOCK
        if at < until or at % BLOCK < 2:
            continue
        if event[at] == PAD:
            gone.append(at)
            until = min(block_end, len(records))
        else:
            until = at + 1 + more[at]
            if until > min(block_end, len(records)):
                text = f"an event with {more[at]} more records crosses the end of its block"
                raise TraceError(source.path, int(offsets[at]), text)
            gone.append(at + 1)
        ends.append(until)
    depth = np.zeros(len(records) + 1, np.int32)
    np.add.at(depth, gone, 1)
    np.add.at(depth, ends, -1)
    mask &= np.cumsum(depth[:-1]) == 0
    return np.flatnonzero(mask)


def _check_counts(source: Source, records: Array, offsets: Array, own: Array) -> None:
    """A finished block says how many events it has."""
    count = np.bincount(own // BLOCK, minlength=-(-len(records) // BLOCK))
    said = records["small"][::BLOCK]
    wrong = np.flatnonzero(count[:-1] != said[:-1])
    if len(wrong):
        at = int(wrong[0])
        text = f"the block says that it holds {int(said[at])} events, it holds {int(count[at])}"
        raise TraceError(source.path, int(offsets[at * BLOCK]), text)


def _part(source: Source, records: Array, own: Array, whole: bool) -> Part:
    heads = records[::BLOCK]
    base = heads["ab"][own // BLOCK]
    event = records["event"][own]
    has_text = source.with_text(event) & (records["more"][own] * RECORD.itemsize >= TEXT)
    text = np.full(len(own), -1, np.int64)
    text[has_text] = np.arange(np.count_nonzero(has_text))
    named = own[has_text]
    raw = np.stack([records[named + 1], records[named + 2]], axis=1) if len(named) else None
    texts = np.empty(0, f"S{TEXT}") if raw is None else raw.view(f"S{TEXT}").reshape(-1)
    return Part(
        clock=base + records["delta"][own],
        event=event,
        small=records["small"][own],
        ab=records["ab"][own],
        thread=_running(source, records, own, event),
        text=text,
        texts=texts,
        knots=Knots(heads["ab"], records["ab"][1::BLOCK]),
        first_clock=int(heads["ab"][0]),
        first_thread=int(heads["delta"][0]),
        whole=whole,
    )


def _running(source: Source, records: Array, own: Array, event: Array) -> Array:
    """Which thread ran at each event: said by the block's head, then by switches."""
    thread = np.repeat(records["delta"][::BLOCK], BLOCK)[: len(records)].copy()
    decides = np.zeros(len(records), bool)
    decides[::BLOCK] = True
    for name, field in (("switch", "next"), ("carry", "idle")):
        known = source.table.named(name)
        wanted = known.field(field) if known is not None else None
        if known is None or wanted is None or wanted.place not in ("a", "b"):
            continue
        places = own[event == known.id]
        shift = np.uint64(0 if wanted.place == "a" else 32)
        thread[places] = (records["ab"][places] >> shift) & np.uint64(0xFFFFFFFF)
        decides[places] = True
    latest = np.maximum.accumulate(np.where(decides, np.arange(len(records)), 0))
    # A switch itself belongs to the thread that stops.
    return np.asarray(thread[latest[own - 1]])


def read_any(source: Source, entry: Array, keeps_oldest: bool) -> Part:
    """A ring of slots."""
    head, capacity, begin = int(entry["head"]), int(entry["capacity"]), int(entry["offset"])
    last = min(head, capacity) if keeps_oldest else head
    first = 0 if keeps_oldest else max(0, head - capacity)
    if last == first:
        return nothing()
    size = capacity * SLOT.itemsize
    slots = np.frombuffer(source.data[begin : begin + size], SLOT)
    numbers = np.arange(last - first, dtype=np.uint64) + np.uint64(first)
    places = (numbers % np.uint64(capacity)).astype(np.int64)
    tickets = ((numbers + np.uint64(1)) & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    kept = places[slots["ticket"][places] == tickets]
    slots, offsets = slots[kept], begin + kept * SLOT.itemsize
    source.check_events(slots["event"], offsets)
    source.check_clock(slots["clock"], offsets + 16)
    has_text = source.with_text(slots["event"]) & (slots["more"] != 0)
    text = np.full(len(slots), -1, np.int64)
    text[has_text] = np.arange(np.count_nonzero(has_text))
    return Part(
        clock=slots["clock"],
        event=slots["event"],
        small=slots["small"],
        ab=slots["ab"],
        thread=slots["thread"],
        text=text,
        texts=slots["text"][has_text],
        knots=EMPTY,
        whole=first == 0,
        cut=keeps_oldest and head > capacity,
    )
