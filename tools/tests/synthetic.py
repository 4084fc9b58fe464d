# SPDX-License-Identifier: MIT
"""Traces made here, byte by byte as the runtime writes them (src/trace/format.h, ring.c).

A Writer keeps rings of fixed size, so that full rings, overwritten blocks and crashes look as
they do in real files. `play` runs a small made-up scheduler on one, whose books (Truth) tests
compare with what the tools find.
"""

from __future__ import annotations

import random
import re
import struct
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BLOCK = 256
NONE = 0xFFFFFFFF
START_CLOCK = 7_000_000_000
START_NS = 5_000_000_000
HZ = 2_000_000_000  # ticks of the clock in a second
SWITCH = {0: "start", 1: "yield", 2: "block", 3: "exit", 4: "preempt", 5: "idle"}
WAIT = {1: "mutex", 2: "cond", 3: "sem", 8: "join", 9: "sleep", 12: "call", 22: "label"}
WAKE = {0: "unlock", 1: "post", 2: "timer"}
STATE = {0: "new", 1: "ready", 2: "running", 3: "blocked", 4: "exited", 5: "idle"}


def event_lines() -> list[str]:
    """The list of events as the runtime writes it, from the source."""
    text = (ROOT / "src" / "trace" / "events.def").read_text()
    pattern = (
        r'TRACE_EVENT\((\d+),\s*(\w+),\s*"(\w+)",\s*(\w+),'
        r'\s*"([^"]*)",\s*((?:"[^"]*"\s*)+)\)'
    )
    lines = []
    for number, _, name, ring, fields, words in re.findall(pattern, text):
        says = "".join(re.findall(r'"([^"]*)"', words))
        lines.append("\t".join(["event", number, name, ring, fields, says]))
    return lines


def text_section() -> bytes:
    lines = event_lines()
    for kind, names in (("switch", SWITCH), ("wait", WAIT), ("wake", WAKE), ("state", STATE)):
        lines += [f"enum\t{kind}\t{value}\t{name}" for value, name in names.items()]
    lines += ["meta\tversion\t0.1.0", "meta\tprogram\tsynthetic", "meta\tsched\tsteal"]
    return ("\n".join([*lines, "later\tkind of line"]) + "\n").encode()


IDS = {line.split("\t")[2]: int(line.split("\t")[1]) for line in event_lines()}


class Ring:
    """A ring of blocks, written like ring.c does."""

    def __init__(self, capacity: int, keeps_oldest: bool) -> None:
        self.data = bytearray(16 * capacity)
        self.capacity = capacity
        self.keeps_oldest = keeps_oldest
        self.head = self.events = self.lost = self.block_at = self.in_block = 0

    def _put(self, delta: int, event: int, more: int, small: int, ab: int) -> None:
        at = self.head % self.capacity * 16
        struct.pack_into("<IBBHQ", self.data, at, delta, event, more, small, ab)
        self.head += 1

    def write(self, now: int, running: int, event: int, small: int, ab: int, text: bytes) -> None:
        more = 2 if text else 0
        place = self.head % BLOCK
        if place == 0 or place + 1 + more > BLOCK or now - self.block_at > NONE:
            if self.keeps_oldest and self.head >= self.capacity:
                self.lost += 1
                return
            if not self._next_block(now, running):
                self.lost += 1
                return
        self._put(now - self.block_at, event, more, small, ab)
        if text:
            at = self.head % self.capacity * 16
            self.data[at : at + 32] = text[:32].ljust(32, b"\0")
            self.head += 2
        self.in_block += 1
        self.events += 1

    def _next_block(self, now: int, running: int) -> bool:
        place = self.head % BLOCK
        if place:
            self._put(0, 3, 0, 0, 0)
            self.head += BLOCK - place - 1
        if self.head:
            at = (self.head - BLOCK) % self.capacity * 16
            struct.pack_into("<H", self.data, at + 6, self.in_block)
        if self.keeps_oldest and self.head >= self.capacity:
            return False
        self.block_at, self.in_block = now, 0
        self._put(running, 1, 0, 0, now)
        self._put(0, 2, 0, 0, START_NS + (now - START_CLOCK) * 10**9 // HZ + random.randrange(50))
        return True


class Slots:
    """A ring of slots."""

    def __init__(self, capacity: int, keeps_oldest: bool) -> None:
        self.data = bytearray(64 * capacity)
        self.capacity = capacity
        self.keeps_oldest = keeps_oldest
        self.head = self.events = self.lost = 0

    def write(self, now: int, running: int, event: int, small: int, ab: int, text: bytes) -> None:
        number = self.head
        self.head += 1
        if self.keeps_oldest and number >= self.capacity:
            return
        more = 2 if text else 0
        packed = struct.pack(
            "<IBBHQQII32s", (number + 1) & NONE, event, more, small, ab, now, running, 0, text
        )
        at = number % self.capacity * 64
        self.data[at : at + 64] = packed


class Writer:
    """A trace in the making."""

    def __init__(
        self,
        cpus: int,
        capacity: int = 4096,
        slots: int = 1024,
        keeps_oldest: bool = False,
    ) -> None:
        self.cpus = cpus
        self.keeps_oldest = keeps_oldest
        self.rings = [Ring(capacity, keeps_oldest) for _ in range(cpus)]
        self.any = [Slots(slots, keeps_oldest) for _ in range(cpus + 1)]
        self.running = list(range(cpus))
        self.now = START_CLOCK + 1000
        self.written: list[str] = []

    def event(
        self, cpu: int, name: str, small: int = 0, a: int = 0, b: int = 0, text: str = ""
    ) -> None:
        self.written.append(name)
        packed = a | b << 32
        self.rings[cpu].write(self.now, self.running[cpu], IDS[name], small, packed, text.encode())
        if name == "switch":
            self.running[cpu] = a

    def anywhere(self, cpu: int, name: str, small: int = 0, ab: int = 0, text: str = "") -> None:
        """cpu -1: a kernel thread without one."""
        self.written.append(name)
        running = self.running[cpu] if cpu >= 0 else NONE
        ring = self.any[cpu] if cpu >= 0 else self.any[-1]
        ring.write(self.now, running, IDS[name], small, ab & (2**64 - 1), text.encode())

    def switch(self, cpu: int, to: int, why: str) -> None:
        number = next(value for value, name in SWITCH.items() if name == why)
        self.event(cpu, "switch", small=number, a=to, b=self.running[cpu])

    def bytes(self, ended: bool = True) -> bytes:
        text = text_section()
        rings = [(ring, 1, cpu) for cpu, ring in enumerate(self.rings)]
        slots = [(ring, 2, cpu if cpu < self.cpus else NONE) for cpu, ring in enumerate(self.any)]
        every = [*rings, *slots]
        place = _align(128 + 64 * len(every) + len(text))
        offsets = []
        for ring, _, _ in every:
            offsets.append(place)
            place = _align(place + len(ring.data))
        out = bytearray(place)
        end = (self.now, START_NS + (self.now - START_CLOCK) * 10**9 // HZ) if ended else (0, 0)
        struct.pack_into(
            "<8sIIIIIIIIQQQQQQQQQQ",
            out,
            0,
            b"PIRNTRC\n",
            *(1, 128, (1 if self.keeps_oldest else 0) | (2 if ended else 0)),
            *(self.cpus, len(every), 16, 64, BLOCK),
            *(128 + 64 * len(every), len(text), 0, START_CLOCK, START_NS, 10**18),
            *(*end, 4711, place),
        )
        for number, ((ring, kind, cpu), offset) in enumerate(zip(every, offsets, strict=True)):
            oldest = int(self.keeps_oldest)
            counts = (ring.head, ring.events, ring.lost, offset, ring.capacity)
            struct.pack_into("<QQQQQIII12x", out, 128 + 64 * number, *counts, kind, cpu, oldest)
            out[offset : offset + len(ring.data)] = ring.data
        begin = 128 + 64 * len(every)
        out[begin : begin + len(text)] = text
        return bytes(out)


def _align(value: int) -> int:
    return (value + 4095) // 4096 * 4096


@dataclass
class Truth:
    """The events of play, in ticks of the clock."""

    run: dict[str, int] = field(default_factory=lambda: defaultdict(int))  # by index.life
    blocked: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    ready: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    switches: int = 0
    latencies: list[int] = field(default_factory=list)


@dataclass
class Fake:
    """A thread of play."""

    index: int
    life: int
    name: str
    since: int = 0
    state: str = "ready"
    woken: bool = False

    @property
    def number(self) -> str:
        return f"{self.index}.{self.life}"


class Play:
    """A scheduler with one queue and threads that yield, block and end; its clock is its own."""

    def __init__(self, writer: Writer, threads: int, events: int, seed: int = 1) -> None:
        self.w = writer
        self.random = random.Random(seed)
        self.truth = Truth()
        self.most = threads
        self.events = events
        self.lives: dict[int, int] = defaultdict(int)
        self.free = list(range(writer.cpus + threads, writer.cpus, -1))
        self.ready: list[Fake] = []
        self.blocked: list[Fake] = []
        self.on: list[Fake | None] = [None] * writer.cpus
        main = self._born("main")
        self.w.event(0, "thread", small=1, a=main.index, b=main.life, text="main")
        self.ready.append(main)

    def _born(self, name: str) -> Fake:
        index = self.free.pop()
        self.lives[index] += 1
        return Fake(index, self.lives[index], name, self.w.now)

    def _account(self, t: Fake, state: str) -> None:
        books = {"run": self.truth.run, "ready": self.truth.ready, "blocked": self.truth.blocked}
        books[t.state][t.number] += self.w.now - t.since
        t.state, t.since = state, self.w.now

    def _pick(self, cpu: int, why: str) -> None:
        t = self.ready.pop(0) if self.ready else None
        if t is None:
            self.w.switch(cpu, cpu, why)
            self.w.event(cpu, "idle_in")
        else:
            if self.on[cpu] is None and self.w.running[cpu] == cpu:
                self.w.event(cpu, "idle_out")
            if t.woken:
                self.truth.latencies.append(self.w.now - t.since)
            t.woken = False
            self._account(t, "run")
            self.w.switch(cpu, t.index, why)
        self.truth.switches += 1
        self.on[cpu] = t

    def _wake(self, cpu: int) -> None:
        if not self.blocked:
            return
        t = self.blocked.pop(self.random.randrange(len(self.blocked)))
        waker = self.on[cpu]
        self.w.event(cpu, "wake", small=1, a=t.index, b=waker.index if waker else NONE)
        self._account(t, "ready")
        t.woken = True
        self.ready.append(t)

    def _spawn(self, cpu: int) -> None:
        if not self.free:
            return
        t = self._born(f"worker {self.lives[self.free[-1]]}")
        self.w.event(cpu, "spawn", a=t.index, b=t.life, text=t.name)
        self.ready.append(t)

    def _stop(self, cpu: int, t: Fake) -> None:
        how = self.random.random()
        if how < 0.35:
            self._account(t, "ready")
            self.ready.append(t)
            self._pick(cpu, "yield")
        elif how < 0.45:
            self.w.anywhere(cpu, "tick_in")
            self.w.now += self.random.randrange(200, 900)
            self.w.anywhere(cpu, "tick_out", small=1)
            self.w.event(cpu, "preempt", a=t.index)
            self._account(t, "ready")
            self.ready.append(t)
            self._pick(cpu, "preempt")
        elif how < 0.9 or t.name == "main":
            self.w.event(cpu, "block", small=self.random.choice((1, 3, 9)), a=0x1000 + t.index)
            self._account(t, "blocked")
            self.blocked.append(t)
            self._pick(cpu, "block")
        else:
            self.w.event(cpu, "exit", a=t.index, b=t.life)
            self._account(t, "gone")
            self.free.append(t.index)
            self._pick(cpu, "exit")

    def _step(self) -> None:
        cpu = self.random.randrange(self.w.cpus)
        self.w.now += self.random.randrange(20, 4000)
        t = self.on[cpu]
        if t is None:
            if self.ready:
                self._pick(cpu, "idle")
            elif self.blocked:
                self._wake(cpu)
            return
        how = self.random.random()
        if how < 0.25:
            self._wake(cpu)
        elif how < 0.35:
            self._spawn(cpu)
        elif how < 0.37:
            self.w.anywhere(cpu, "mark", ab=self.random.randrange(-5, 5), text="frame")
        else:
            self._stop(cpu, t)

    def run(self) -> Truth:
        while len(self.w.written) < self.events:
            self._step()
        self.w.now += 5000
        every = [*self.ready, *self.blocked, *(t for t in self.on if t)]
        for t in every:
            self._account(t, t.state)
        return self.truth


def play(
    cpus: int = 2,
    threads: int = 10,
    events: int = 2000,
    seed: int = 1,
    capacity: int = 4096,
    slots: int = 1024,
    keeps_oldest: bool = False,
) -> tuple[Writer, Truth]:
    writer = Writer(cpus, capacity, slots, keeps_oldest)
    truth = Play(writer, threads, events, seed).run()
    return writer, truth
