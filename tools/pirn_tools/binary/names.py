# SPDX-License-Identifier: MIT
"""The names that the commands look up in the library's table, and the valid entries.

The table belongs to the process that is looked at. Nothing of it is used before it has passed
check(): after that each name that is asked for is there, each field is inside its structure and
small enough to be read, and no size or count leads to more than its limit here.
"""

from __future__ import annotations

from collections.abc import Mapping

Entry = tuple[int, int]  # value or offset, size

# Structures that are read whole: the largest that is believed, in bytes.
SIZES = {
    "cpu": 1 << 18,
    "carrier": 1 << 18,
    "port_carrier": 1 << 16,
    "thread": 1 << 16,
    "id_slot": 256,
    "rt_io": 256,
}
CONSTANTS = {  # the largest that is believed
    "ID_CHUNK_BITS": 14,
    "ID_CHUNKS": 1 << 16,
    "SCHED_WEIGHT_SHIFT": 31,
    **dict.fromkeys(
        (
            *("THREAD_NEW", "THREAD_READY", "THREAD_RUNNING", "THREAD_BLOCKED"),
            *("THREAD_IDLE", "THREAD_MAIN", "THREAD_FOREIGN"),
            *("WAIT_MUTEX", "WAIT_RDLOCK", "WAIT_WRLOCK", "WAIT_JOIN", "WAIT_SLEEP", "WAIT_IO"),
            "WAIT_LABEL",
            *("SCHED_CLASS_FIFO", "SCHED_CLASS_RR", "SCHED_CLASS_MASK", "SCHED_WEIGHT_DEFAULT"),
            *("OM_ROBUST", "OM_INHERIT", "OM_PROTECT", "OM_OWNER"),
        ),
        (1 << 32) - 1,
    ),
}
STATES = ("THREAD_NEW", "THREAD_READY", "THREAD_RUNNING", "THREAD_BLOCKED")
FIELDS = (  # numbers
    *("rt.started", "rt.ncpu", "rt.policy.name"),
    *("cpu.current", "cpu.idle", "cpu.carrier", "cpu.stats.switches"),
    "carrier.port.tid",
    *("thread.ctx.sp", "thread.ctx.pc", "thread.cpu", "thread.state", "thread.flags"),
    *("thread.port.tid", "thread.priority", "thread.base_priority", "thread.sched.attr"),
    *("thread.wait_reason", "thread.start", "thread.timer.deadline", "thread.timer.armed"),
    *("thread.stack_top", "thread.index", "thread.generation", "thread.wait_object"),
    "thread.carrier",
    *("id_slot.thread", "rt_io.fd", "io_waiter.io", "io_waiter.n"),
    *("pirn_label.name", "pirn_label.fields"),
    *("rt_mutex.owner", "rt_mutex.kind", "rt_omutex.word", "rt_rwlock.owner_hint"),
)
PLACES = ("rt.cpus", "thread.name", "pirn_label.values")  # more than a number
TIMES = (  # of the CPU time of threads, where the library counts it
    *("cpu.port.cpus", "thread.port.used", "thread.port.timed_on", "port_carrier.tid"),
    *("times.seq", "times.timed", "times.span_at", "times.kernel_at", "times.short_ns"),
)
TIMES_PLACES = ("thread.port", "port_carrier.times")
OPTIONAL = (
    *("rt.start_ns", "cpu.idle_since"),
    *("cpu.stats.steals", "cpu.stats.migrations", "cpu.stats.preemptions", "cpu.stats.idle_ns"),
)
FURTHEST = 1 << 24  # of a field in a structure that is not read whole
LONGEST_NAME = 256  # of a thread


def check(entry: Mapping[str, Entry]) -> str:
    """The table's faults; empty: none."""
    counted = "TIMES_BIT" in entry
    sizes = {kind: most for kind, most in SIZES.items() if counted or kind != "port_carrier"}
    fields = (*FIELDS, *(TIMES if counted else ()))
    places = (*PLACES, *(TIMES_PLACES if counted else ()))
    wanted = (*(f"sizeof.{kind}" for kind in sizes), *CONSTANTS, *fields, *places)
    for name in wanted:
        if name not in entry:
            return f"it has no {name}"
    problems = (
        _sizes(entry, sizes),
        _constants(entry),
        _fields(entry, (*fields, *(name for name in OPTIONAL if name in entry)), places),
    )
    return next((text for text in problems if text), "")


def _sizes(entry: Mapping[str, Entry], sizes: Mapping[str, int]) -> str:
    for kind, most in sizes.items():
        size = entry[f"sizeof.{kind}"][0]
        if not 0 < size <= most:
            return f"sizeof.{kind} is {size} (at most {most} is possible)"
    return ""


def _constants(entry: Mapping[str, Entry]) -> str:
    for name, most in CONSTANTS.items():
        if entry[name][0] > most:
            return f"{name} is {entry[name][0]} (at most {most} is possible)"
    if len({entry[name][0] for name in STATES}) < len(STATES):
        return f"two of {', '.join(STATES)} are the same"
    return ""


def _fields(entry: Mapping[str, Entry], numbers: tuple[str, ...], places: tuple[str, ...]) -> str:
    for name in numbers:
        if entry[name][1] not in (1, 2, 4, 8):
            return f"{name} has {entry[name][1]} bytes, which is no number's size"
    if entry["thread.name"][1] > LONGEST_NAME:
        return f"thread.name has {entry['thread.name'][1]} bytes"
    whole = {kind: entry[f"sizeof.{kind}"][0] for kind in SIZES if f"sizeof.{kind}" in entry}
    for name in (*numbers, *places):
        offset, size = entry[name]
        kind = name.partition(".")[0]
        if kind in whole and offset + size > whole[kind]:
            return f"{name} is at {offset}, outside its structure of {whole[kind]} bytes"
        if offset > FURTHEST:
            return f"{name} is at {offset}"
    return ""
