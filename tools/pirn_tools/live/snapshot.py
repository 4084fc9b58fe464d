# SPDX-License-Identifier: MIT
"""The CPUs and threads of a process by its runtime, read while they go on.

Nothing is stopped, so what is read was not true all at one moment. A descriptor may be recycled
between two reads; its number and generation tell. Data that makes no sense is read again, and
left out if it still makes none.

Threads are read one after the other, while CPUs go from one to the next. So at the end CPUs are
read again, and the threads that run are those that they say: never more than there are CPUs.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pirn_tools.allowance import Allowance
from pirn_tools.binary.layout import text_of
from pirn_tools.binary.memory import UnreadableError
from pirn_tools.errors import UserError
from pirn_tools.live.objects import Objects
from pirn_tools.live.process import Process
from pirn_tools.live.table import find

STARTED = 2
MOST_CPUS = 4096
TRIES = 3


@dataclass(frozen=True)
class Thread:
    """A user thread, as its descriptor says."""

    at: int
    index: int
    generation: int
    name: str
    state: str  # running, call, ready, blocked, foreign
    flags: int
    cpu: int | None  # that it runs or ran on last
    tid: int | None  # the kernel thread that executes it
    reason: int
    object: int
    deadline: int | None  # ns, CLOCK_MONOTONIC
    attr: int
    priority: int
    base: int
    start: int
    sp: int
    pc: int
    stack_top: int
    time_ns: int | None
    main: bool = False  # the program's first thread, which has the program's name

    @property
    def id(self) -> str:
        """As people write it."""
        return f"{self.index}.{self.generation}"

    @property
    def label(self) -> str:
        """Number and name."""
        what = " (main)" if self.main and self.name != "main" else ""
        return f'{self.id} "{self.name}"{what}'


@dataclass(frozen=True)
class Cpu:
    """A worker."""

    number: int
    at: int
    tid: int
    current: int  # the descriptor of who runs, the idle thread's where nobody does
    idle: int
    switches: int
    steals: int | None
    migrations: int | None
    preemptions: int | None
    idle_ns: int | None
    now: int  # when this was read

    @property
    def runs(self) -> int | None:
        """The descriptor of the user thread that runs."""
        return self.current if self.current != self.idle else None


@dataclass(frozen=True)
class Snapshot:
    """All of it."""

    policy: str
    started: int | None
    counted: bool  # CPU time of threads
    cpus: list[Cpu]
    threads: list[Thread]

    @cached_property
    def by_at(self) -> dict[int, Thread]:
        """By address of the descriptor."""
        return {t.at: t for t in self.threads}

    @cached_property
    def by_index(self) -> dict[int, Thread]:
        """By the first half of the id."""
        return {t.index: t for t in self.threads}

    def ready_on(self, cpu: int | None) -> int:
        """Threads that wait for a CPU, and ran on this one last; None: on none."""
        return self._ready.get(cpu, 0)

    @cached_property
    def _ready(self) -> dict[int | None, int]:
        count: dict[int | None, int] = {}
        for t in self.threads:
            if t.state == "ready":
                count[t.cpu] = count.get(t.cpu, 0) + 1
        return count


class Runtime:
    """The runtime in a process; `look` as often as one likes."""

    def __init__(self, process: Process, allowance: Allowance | None = None) -> None:
        self.process = process
        self.objects = Objects(process, allowance)
        self.layout, self.library = find(process, self.objects)
        try:
            started = self._field("rt.started") == STARTED
        except UnreadableError:
            started = False
        if not started:  # until then there are no CPUs
            raise UserError(
                f"process {self.process.pid} has not started its runtime yet: it does at the "
                "program's first call, for instance pthread_create"
            )

    def _field(self, name: str) -> int:
        return self.layout.read(self.process, self.layout.rt, name)

    def look(self) -> Snapshot:
        """How it is now, more or less."""
        for _ in range(TRIES):
            try:
                return self._look()
            except UnreadableError:
                continue
        raise UserError(
            f"process {self.process.pid}: its runtime's data could not be read in {TRIES} tries"
        )

    def _look(self) -> Snapshot:
        layout = self.layout
        count = self._field("rt.ncpu")
        if not 0 < count <= MOST_CPUS:
            raise UnreadableError
        at = layout.rt + layout["rt.cpus"]
        pointers = struct.unpack(f"<{count}Q", self.process.read(at, 8 * count))
        cpus = self._cpus(pointers)
        counted = False
        if layout.has("TIMES_BIT"):
            words = (layout.read(self.process, at, "cpu.port.cpus") for at in pointers)
            counted = any(word & layout["TIMES_BIT"] for word in words)
        name = text_of(self.process.read(self._field("rt.policy.name"), 16))
        started = self._field("rt.start_ns") if layout.has("rt.start_ns") else None
        reader = _Threads(self, cpus, counted)
        threads = list(reader.all())
        for _ in range(TRIES):
            cpus = self._cpus(pointers)
            threads, moved = reader.settled(threads, cpus)
            if not moved:
                break
        return Snapshot(name, started, counted, cpus, agreed(threads, cpus))

    def _cpus(self, pointers: Sequence[int]) -> list[Cpu]:
        size = self.layout.size("cpu")
        return [self._cpu(i, at, self.process.read(at, size)) for i, at in enumerate(pointers)]

    def _cpu(self, number: int, at: int, raw: bytes) -> Cpu:
        def get(name: str) -> int:
            return self.layout.get(raw, f"cpu.{name}")

        def stat(name: str) -> int | None:
            return get(f"stats.{name}") if self.layout.has(f"cpu.stats.{name}") else None

        now, idle = time.monotonic_ns(), stat("idle_ns")
        if idle is not None and self.layout.has("cpu.idle_since") and get("idle_since"):
            idle += max(now - get("idle_since"), 0)
        return Cpu(
            number=number,
            at=at,
            tid=self.layout.read(self.process, get("carrier"), "carrier.port.tid"),
            current=get("current"),
            idle=get("idle"),
            switches=get("stats.switches"),
            steals=stat("steals"),
            migrations=stat("migrations"),
            preemptions=stat("preemptions"),
            idle_ns=idle,
            now=now,
        )


def agreed(threads: list[Thread], cpus: list[Cpu]) -> list[Thread]:
    """Those run that the CPUs say; of others that is over, or has not begun."""
    runs = {cpu.runs: cpu for cpu in cpus}
    found = []
    for t in threads:
        cpu = runs.get(t.at)
        if cpu is not None and (t.state, t.cpu) != ("running", cpu.number):
            t = replace(t, state="running", cpu=cpu.number, tid=cpu.tid)
        elif cpu is None and t.state == "running":
            t = replace(t, state="ready", tid=None)
        found.append(t)
    return found


class _Threads:
    """Reads the descriptors that the table of ids names."""

    def __init__(self, runtime: Runtime, cpus: list[Cpu], counted: bool) -> None:
        self.process, self.layout, self.counted = runtime.process, runtime.layout, counted
        self.cpus = cpus
        self.number = {cpu.at: cpu.number for cpu in cpus}
        self.tasks = runtime.process.tasks()
        layout = runtime.layout
        self.size, self.not_ours = layout.size("thread"), layout["THREAD_IDLE"]
        self.states = {
            layout[f"THREAD_{name.upper()}"]: name for name in ("ready", "running", "blocked")
        }
        self.states[layout["THREAD_NEW"]] = "ready"  # its creator is about to make it so
        self.fields = {  # where each one begins and ends
            name.removeprefix("thread."): slice(at, at + size)
            for name, (at, size) in layout.entry.items()
            if name.startswith("thread.")
        }

    def all(self) -> Iterator[Thread]:
        for index, at in self._addresses():
            for _ in range(TRIES):
                try:
                    found = self._read(index, at)
                except UnreadableError:
                    break  # the memory of one that has ended
                if found is not None:
                    yield found
                    break

    def settled(self, threads: list[Thread], cpus: list[Cpu]) -> tuple[list[Thread], bool]:
        """Reads those again that run where the CPUs do not say so, or the other way round. True:
        there were some."""
        runs = {cpu.runs for cpu in cpus}
        found, moved = [], False
        for t in threads:
            if (t.state == "running") == (t.at in runs):
                found.append(t)
                continue
            moved = True
            try:
                again = self._read(t.index, t.at)
            except UnreadableError:
                continue  # it has ended
            if again is not None:
                found.append(again)
            elif t.at in runs:
                found.append(t)
        return found, moved

    def _addresses(self) -> Iterator[tuple[int, int]]:
        """Index and address of each descriptor."""
        layout = self.layout
        per, size = 1 << layout["ID_CHUNK_BITS"], layout.size("id_slot")
        offset = layout["id_slot.thread"]
        raw = self.process.read(layout.chunks, 8 * layout["ID_CHUNKS"])
        for number, (chunk,) in enumerate(struct.iter_unpack("<Q", raw)):
            if chunk == 0:
                return
            slots = self.process.read(chunk, per * size)
            for i in range(per):
                begin = i * size + offset
                at = int.from_bytes(slots[begin : begin + 8], "little")
                if at:
                    yield number * per + i, at

    def _read(self, index: int, at: int) -> Thread | None:
        """None: it is none that lives, or changes just now, or is another one's by now."""
        raw, fields = self.process.read(at, self.size), self.fields

        def get(name: str) -> int:
            return int.from_bytes(raw[fields[name]], "little")

        flags = get("flags")
        name = self.states.get(get("state"), "")
        if flags & self.not_ours or not name or get("index") != index:
            return None
        cpu, tid = self.number.get(get("cpu")), None
        if flags & self.layout["THREAD_FOREIGN"]:
            name, cpu, tid = "blocked" if name == "blocked" else "foreign", None, get("port.tid")
        elif name == "running":
            name, tid = self._runs_where(at, get("cpu"), get("carrier"))
        return Thread(
            at=at,
            index=get("index"),
            generation=get("generation"),
            name=text_of(raw[fields["name"]]),
            state=name,
            flags=flags,
            cpu=cpu,
            tid=tid,
            reason=get("wait_reason"),
            object=get("wait_object"),
            deadline=get("timer.deadline") if get("timer.armed") else None,
            attr=get("sched.attr"),
            priority=get("priority"),
            base=get("base_priority"),
            start=get("start"),
            sp=get("ctx.sp"),
            pc=get("ctx.pc"),
            stack_top=get("stack_top"),
            time_ns=self._time(at, raw) if self.counted else None,
            main=bool(flags & self.layout["THREAD_MAIN"]),
        )

    def _runs_where(self, at: int, cpu: int, carrier: int) -> tuple[str, int | None]:
        """Its CPU says so; else it is in a call, on a kernel thread of its own."""
        number = self.number.get(cpu)
        if number is not None and self.layout.read(self.process, cpu, "cpu.current") == at:
            return "running", self.cpus[number].tid
        try:
            tid = self.layout.read(self.process, carrier, "carrier.port.tid")
        except UnreadableError:
            return "running", None
        return ("call", tid) if tid in self.tasks else ("running", None)

    def _time(self, at: int, raw: bytes) -> int | None:
        """CPU time charged, and the span that has not ended: port/env/linux/linux_times.c."""
        layout = self.layout
        used, carrier = layout.get(raw, "thread.port.used"), layout.get(raw, "thread.port.timed_on")
        if carrier == 0:
            return used
        try:
            account = self.process.read(carrier, layout.size("port_carrier"))
        except UnreadableError:
            return used

        def get(name: str) -> int:
            return layout.get(account, f"times.{name}", layout["port_carrier.times"])

        if get("seq") & 1 or get("timed") != at + layout["thread.port"]:
            return used
        span = max(time.monotonic_ns() - get("span_at"), 0)
        kernel = self.process.cpu_time(layout.get(account, "port_carrier.tid"))
        if kernel is not None:
            known = get("kernel_at") + get("short_ns")
            span = min(span, max(kernel - known, 0))
        return used + span
