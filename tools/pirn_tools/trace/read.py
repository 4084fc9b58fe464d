# SPDX-License-Identifier: MIT
"""Reads a trace file into arrays: one row for each event, in the order of time.

The format is that of docs/internals/trace-format.md. Nothing here knows single events: the table
in the file says what they are called and which fields they have (table.py). A file that is
damaged, cut off or of another version is a TraceError; one that a crash has left is read like any
other, with a remark.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pirn_tools.errors import UserError
from pirn_tools.trace import blocks, gaps
from pirn_tools.trace.clock import Clock, Knots
from pirn_tools.trace.table import Table, TraceError, parse

MAGIC = b"PIRNTRC\n"
VERSION = 1
HEADER_SIZE = 128
RING_SIZE = 64
KEEPS_OLDEST, ENDED = 1, 2
RING_THREAD, RING_ANY = 1, 2
MOST_CPUS = 4096
NOT_OURS = "this is not a trace of Pirn"
NO_CPU = 0xFFFFFFFF
NO_THREAD = 0xFFFFFFFF
MOST_TICKS = 1 << 62  # between two moments of one trace

Array = NDArray[Any]

HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("header_size", "<u4"),
        ("flags", "<u4"),
        ("cpus", "<u4"),
        ("rings", "<u4"),
        ("record_size", "<u4"),
        ("slot_size", "<u4"),
        ("block", "<u4"),
        ("text_offset", "<u8"),
        ("text_size", "<u8"),
        ("clock_hz", "<u8"),
        ("start_clock", "<u8"),
        ("start_ns", "<u8"),
        ("start_unix_ns", "<u8"),
        ("end_clock", "<u8"),
        ("end_ns", "<u8"),
        ("pid", "<u8"),
        ("file_size", "<u8"),
        ("used_ns", "<u8"),
    ]
)
RING = np.dtype(
    [
        ("head", "<u8"),
        ("events", "<u8"),
        ("lost", "<u8"),
        ("offset", "<u8"),
        ("capacity", "<u8"),
        ("kind", "<u4"),
        ("cpu", "<u4"),
        ("keeps_oldest", "<u4"),
        ("unused", "<u4", 3),
    ]
)
COLUMNS = np.dtype(
    [
        ("clock", "<u8"),
        ("ab", "<u8"),
        ("thread", "<u4"),
        ("text", "<i4"),  # in Trace.texts; -1: none
        ("cpu", "<i4"),  # -1: a kernel thread that executes none
        ("small", "<u2"),
        ("event", "u1"),
        ("any", "?"),  # from a ring of any context
    ]
)


@dataclass(frozen=True)
class Ring:
    """One ring of the file."""

    cpu: int  # -1: kernel threads that execute no CPU
    kind: int
    written: int  # events ever
    present: int
    lost: int  # written - present, and what was never written as the ring was full
    first_clock: int  # THREAD: from when on its events are complete; 0: no event
    first_thread: int  # THREAD: which thread ran at that time
    whole: bool  # nothing that was in front of first_clock is missing
    cut: bool  # what came after the last event is missing


@dataclass
class Trace:
    """A whole trace. `rows` is one array with a row for each event (COLUMNS)."""

    path: Path
    header: dict[str, int]
    table: Table
    rows: Array
    texts: Array
    rings: list[Ring]
    clock: Clock
    gaps: gaps.Gaps = gaps.NONE
    remarks: list[str] = field(default_factory=list)
    _which: dict[str, Array] = field(default_factory=dict)

    @property
    def cpus(self) -> int:
        return self.header["cpus"]

    @property
    def lost(self) -> int:
        return sum(ring.lost for ring in self.rings)

    def which(self, name: str) -> Array:
        """The places of all events of that name; none if the trace does not know it."""
        found = self._which.get(name)
        if found is None:
            event = self.table.named(name)
            if event is None:
                return np.empty(0, np.int64)
            found = self._which[name] = np.flatnonzero(self.rows["event"] == event.id)
        return found

    def values(self, name: str, field_name: str, places: Array) -> Array:
        """A field of the events at these places, all of them of that name; unsigned numbers."""
        event = self.table.named(name)
        wanted = event.field(field_name) if event is not None else None
        if wanted is None:
            return np.zeros(len(places), np.int64)
        return place_values(self.rows, wanted.place, places)

    def text(self, row: int) -> str:
        """The text of an event; empty if it has none."""
        index = int(self.rows["text"][row])
        return clean(bytes(self.texts[index])) if index >= 0 else ""


def clean(raw: bytes) -> str:
    """Text from a trace, fit to be shown: what cannot be printed becomes a question mark."""
    text = raw.split(b"\0", 1)[0].decode("utf-8", errors="replace")
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "?" for char in text)


def place_values(rows: Array, place: str, places: Array) -> Array:
    """The values of a field of the records in these rows."""
    if place == "small":
        return rows["small"][places].astype(np.int64)
    if place == "text":
        return rows["text"][places].astype(np.int64)
    both = np.asarray(rows["ab"][places])
    if place == "a":
        return (both & np.uint64(0xFFFFFFFF)).astype(np.int64)
    if place == "b":
        return (both >> np.uint64(32)).astype(np.int64)
    return both


def load(path: Path) -> Trace:
    """Reads a file."""
    data = _map(path)
    header = _header(path, data)
    begin, size = header["text_offset"], header["text_size"]
    if begin + size > len(data):
        raise TraceError(
            path,
            _at("text_offset"),
            f"the list of events would end at {begin + size}, {_end(data)}",
        )
    table = parse(path, bytes(data[begin : begin + size]), begin)
    return _assemble(path, data, header, table)


def _map(path: Path) -> Array:
    """The file's bytes, without reading what nobody looks at: rings may be large and empty."""
    if path.is_dir():
        raise UserError(f"{path} is a folder, not a trace")
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    if size >= HEADER_SIZE:
        return np.memmap(path, np.uint8, "r")
    with path.open("rb") as stream:
        start = stream.read(len(MAGIC))
    what = f"{size} bytes, but a header has {HEADER_SIZE}" if start == MAGIC else NOT_OURS
    raise TraceError(path, 0, what)


def _header(path: Path, data: Array) -> dict[str, int]:
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise TraceError(path, 0, NOT_OURS)
    record = np.frombuffer(data[:HEADER_SIZE], HEADER)[0]
    header = {name: int(record[name]) for name in HEADER.names or () if name != "magic"}
    version = header["version"]
    if version != VERSION:
        text = f"it is of version {version} of the format, this pirn reads version {VERSION}"
        raise TraceError(path, _at("version"), text)
    for name, want in (
        ("header_size", HEADER_SIZE),
        ("record_size", blocks.RECORD.itemsize),
        ("slot_size", blocks.SLOT.itemsize),
        ("block", blocks.BLOCK),
    ):
        if header[name] != want:
            raise TraceError(path, _at(name), f"{name} is {header[name]}, expected {want}")
    if not 1 <= header["cpus"] <= MOST_CPUS:
        raise TraceError(path, _at("cpus"), f"{header['cpus']} CPUs (valid: 1 to {MOST_CPUS})")
    want = 2 * header["cpus"] + 1
    if header["rings"] != want:
        text = f"{header['rings']} rings, expected {want} for {header['cpus']} CPUs"
        raise TraceError(path, _at("rings"), text)
    if HEADER_SIZE + header["rings"] * RING_SIZE > len(data):
        raise TraceError(path, HEADER_SIZE, f"{header['rings']} rings, but {_end(data)}")
    if header["file_size"] > len(data):
        text = f"the file should have {header['file_size']} bytes, but {_end(data)}"
        raise TraceError(path, _at("file_size"), text)
    if header["flags"] & ENDED and not (
        0 <= header["end_clock"] - header["start_clock"] < MOST_TICKS
        and 0 <= header["end_ns"] - header["start_ns"] < MOST_TICKS
    ):
        raise TraceError(path, _at("end_clock"), "the trace ends before it begins")
    return header


def _at(name: str) -> int:
    """Where a field of the header is."""
    fields = HEADER.fields
    return 0 if fields is None else int(fields[name][1])


def _end(data: Array) -> str:
    return f"the file ends at {len(data)}: it is cut off or damaged"


def _assemble(path: Path, data: Array, header: dict[str, int], table: Table) -> Trace:
    """Reads the rings one by one, then sorts their events by time."""
    raw = np.frombuffer(data[HEADER_SIZE : HEADER_SIZE + header["rings"] * RING_SIZE], RING)
    source = blocks.Source(path, data, table, header["start_clock"], MOST_TICKS)
    rings: list[Ring] = []
    parts: list[Array] = []
    texts: list[Array] = []
    knots: list[Knots] = []
    names = 0
    for number, entry in enumerate(raw):
        _check_ring(path, data, header, HEADER_SIZE + number * RING_SIZE, entry)
        keeps_oldest = bool(header["flags"] & KEEPS_OLDEST)
        if int(entry["kind"]) == RING_THREAD:
            part = blocks.read_thread(source, entry, keeps_oldest)
        else:
            part = blocks.read_any(source, entry, keeps_oldest)
        rows = np.zeros(len(part.clock), COLUMNS)
        for name in ("clock", "ab", "thread", "small", "event"):
            rows[name] = getattr(part, name)
        rows["text"] = np.where(part.text >= 0, part.text + names, -1)
        rows["cpu"] = -1 if int(entry["cpu"]) == NO_CPU else int(entry["cpu"])
        rows["any"] = int(entry["kind"]) == RING_ANY
        names += len(part.texts)
        parts.append(rows)
        texts.append(part.texts)
        knots.append(part.knots)
        rings.append(_ring(entry, part))
    twice = [ring for place, ring in enumerate(rings) if _known(ring, rings[:place])]
    if twice:
        raise TraceError(path, HEADER_SIZE, f"two rings for CPU {twice[0].cpu}")
    rows = np.concatenate(parts)
    rows = rows[np.argsort(rows["clock"], kind="stable")]
    clock = Clock.of(header, knots, int(rows["clock"][-1]) if len(rows) else None)
    trace = Trace(path, header, table, rows, np.concatenate(texts), rings, clock)
    trace.gaps = gaps.find(trace.which("pause"), trace.which("resume"), len(rows))
    switches = trace.which("switch")
    previous = trace.values("switch", "previous", switches)
    gaps.mend(rows, trace.gaps, trace.cpus, switches, previous)
    trace.remarks = remarks(trace)
    return trace


def _known(ring: Ring, others: list[Ring]) -> bool:
    return any(ring.cpu == other.cpu and ring.kind == other.kind for other in others)


def _check_ring(path: Path, data: Array, header: dict[str, int], at: int, entry: Array) -> None:
    kind, cpu, capacity = int(entry["kind"]), int(entry["cpu"]), int(entry["capacity"])
    if kind not in (RING_THREAD, RING_ANY):
        raise TraceError(path, at + 40, f"a ring of kind {kind} (valid: 1, 2)")
    if cpu >= header["cpus"] and cpu != NO_CPU:
        raise TraceError(path, at + 44, f"a ring of CPU {cpu}, but there are {header['cpus']}")
    unit = blocks.RECORD.itemsize if kind == RING_THREAD else blocks.SLOT.itemsize
    if capacity == 0 or (kind == RING_THREAD and capacity % blocks.BLOCK):
        text = f"a ring of {capacity} places (valid: multiples of {blocks.BLOCK})"
        raise TraceError(path, at + 32, text)
    begin = int(entry["offset"])
    if begin < HEADER_SIZE or begin % unit or begin + capacity * unit > len(data):
        text = f"a ring's data is at {begin}, {capacity} places of {unit} bytes, but {_end(data)}"
        raise TraceError(path, at + 24, text)


def _ring(entry: Array, part: blocks.Part) -> Ring:
    kind, present = int(entry["kind"]), len(part.clock)
    written = int(entry["events"]) if kind == RING_THREAD else int(entry["head"])
    never = int(entry["lost"])
    # A crash may come between an event and its count.
    return Ring(
        cpu=-1 if int(entry["cpu"]) == NO_CPU else int(entry["cpu"]),
        kind=kind,
        written=max(written, present),
        present=present,
        lost=max(0, written - present) + never,
        first_clock=part.first_clock,
        first_thread=part.first_thread,
        whole=part.whole,
        cut=part.cut or never > 0,
    )


def remarks(trace: Trace) -> list[str]:
    """Remarks for the reader of any number from this trace."""
    said = []
    if not trace.header["flags"] & ENDED:
        said.append("the program has not ended in the ordinary way, or still runs")
    said += _crowded(trace)
    if trace.lost:
        which = (
            "after the rings were full" if trace.header["flags"] & KEEPS_OLDEST else "the oldest"
        )
        total = sum(ring.present + ring.lost for ring in trace.rings)
        said.append(f"{trace.lost:,} of {total:,} events are lost, {which}")
    if len(trace.gaps):
        paused = _paused(trace)
        times = "once" if len(trace.gaps) == 1 else f"{len(trace.gaps):,} times"
        said.append(
            f"the program paused the trace {times}, {paused:.6f} s: nothing is known of that"
        )
    starts = [ring.first_clock for ring in trace.rings if ring.first_clock and not ring.whole]
    if starts:
        late = trace.clock.seconds(max(starts))
        said.append(f"events of all CPUs are there from {late:.6f} s on")
    return said


def _crowded(trace: Trace) -> list[str]:
    """More CPUs than the machine has processors for the program."""
    text = trace.table.meta.get("processors", "")
    processors = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if not trace.header["used_ns"] or not 0 < processors < trace.cpus:
        return []
    return [
        f"{trace.cpus} CPUs on {processors} processors: a CPU that waits for a processor counts as "
        "running"
    ]


def _paused(trace: Trace) -> float:
    """Seconds in all."""
    clock, inner = trace.rows["clock"], trace.gaps.last < len(trace.rows)
    first = trace.clock.ns(clock[np.maximum(trace.gaps.first, 0)])
    last = np.full(len(trace.gaps), max(trace.clock.end_ns, 0.0))
    last[inner] = trace.clock.ns(clock[trace.gaps.last[inner]])
    first[trace.gaps.first < 0] = 0
    return float(np.maximum(last - first, 0).sum()) / 1e9
