# SPDX-License-Identifier: MIT
"""Words for a thread's activity or wait, and for the thread that is to end the wait."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pirn_tools.binary.memory import UnreadableError
from pirn_tools.live import labels
from pirn_tools.live.descriptors import Descriptors
from pirn_tools.live.snapshot import Runtime, Snapshot, Thread

NS = 1_000_000_000
MOST_DESCRIPTORS = 8
OWNED, ENDED = "owned by", "ended"


def _calls(table: str) -> dict[int, str]:
    words = table.split()
    return {int(number): name for number, name in zip(words[::2], words[1::2], strict=True)}


@dataclass(frozen=True)
class Calls:
    """System calls by number: those whose first argument is a descriptor, and others that wait."""

    of_descriptors: dict[int, str]
    others: dict[int, str]


X86_64 = Calls(
    _calls(
        "0 read 1 write 16 ioctl 17 pread64 18 pwrite64 19 readv 20 writev 42 connect 43 accept "
        "44 sendto 45 recvfrom 46 sendmsg 47 recvmsg 72 fcntl 73 flock 74 fsync 75 fdatasync "
        "232 epoll_wait 281 epoll_pwait 288 accept4 295 preadv 296 pwritev 299 recvmmsg "
        "307 sendmmsg"
    ),
    _calls(
        "7 poll 23 select 34 pause 35 nanosleep 61 wait4 128 rt_sigtimedwait 202 futex "
        "230 clock_nanosleep 247 waitid 270 pselect6 271 ppoll"
    ),
)
NEWER = Calls(  # the numbers of all newer architectures
    _calls(
        "63 read 64 write 29 ioctl 67 pread64 68 pwrite64 65 readv 66 writev 203 connect "
        "202 accept 206 sendto 207 recvfrom 211 sendmsg 212 recvmsg 25 fcntl 32 flock 82 fsync "
        "83 fdatasync 22 epoll_pwait 242 accept4 69 preadv 70 pwritev 243 recvmmsg 269 sendmmsg"
    ),
    _calls(
        "101 nanosleep 260 wait4 137 rt_sigtimedwait 98 futex 115 clock_nanosleep 95 waitid "
        "72 pselect6 73 ppoll"
    ),
)
CALLS = {"EM_X86_64": X86_64, "EM_AARCH64": NEWER, "EM_RISCV": NEWER}


@dataclass(frozen=True)
class Wait:
    """Of one thread."""

    reason: str
    object: str
    on: Thread | None = None  # who is to end it
    owner: str = ""  # the same in words
    left: float | None = None  # seconds, of a wait that ends by itself

    @property
    def text(self) -> str:
        """The object, its owner, the time left."""
        words = " ".join(word for word in (self.reason, self.object) if word)
        return ", ".join(part for part in (words, self.owner, left_text(self.left)) if part)


class Waits:
    """For the threads of a snapshot."""

    def __init__(self, runtime: Runtime, snapshot: Snapshot, now: int) -> None:
        self.runtime, self.snapshot, self.now = runtime, snapshot, now
        self.layout = runtime.layout
        self.descriptors = Descriptors(runtime.process)
        self.command = runtime.process.command()

    def call_text(self, t: Thread) -> str:
        """The system call that a thread is in: `read, descriptor 5 (pipe)`; empty: not known."""
        calls = CALLS.get(self.runtime.library.file.machine)
        if t.state != "call" or t.tid is None or calls is None:
            return ""
        number, argument = self.runtime.process.call(t.tid) or (-1, 0)
        if number in calls.of_descriptors and argument < 1 << 31:
            return f"{calls.of_descriptors[number]}, descriptor {self.descriptors.text(argument)}"
        return calls.others.get(number, "")

    def of(self, t: Thread) -> Wait | None:
        """None if it does not wait."""
        if t.state != "blocked":
            return None
        layout, reasons = self.layout, self.layout.reasons
        name = reasons[t.reason] if t.reason < len(reasons) else f"reason {t.reason}"
        left = self._left(t)
        try:
            if t.reason == layout["WAIT_SLEEP"]:
                return Wait(name, "", left=left)
            if t.reason == layout["WAIT_IO"]:
                return Wait(name, self._descriptors(t.object), left=left)
            if t.reason == layout["WAIT_LABEL"]:
                return Wait(*labels.read(self.runtime, t.object))
            if t.reason == layout["WAIT_JOIN"]:
                on = self.snapshot.by_at.get(t.object)
                return Wait(name, on.label if on is not None else "?", on, left=left)
            on, how = self._owner(t)
        except UnreadableError:  # the object is gone, so is the wait
            on, how = None, ""
        owner = f"{how} {on.label}" if on is not None else ""
        if on is None and t.reason == layout["WAIT_MUTEX"]:
            owner = "its owner has ended" if how == ENDED else "owner not known"
        return Wait(name, self._name(t.object), on, owner, left)

    def _owner(self, t: Thread) -> tuple[Thread | None, str]:
        layout = self.layout
        if t.reason == layout["WAIT_MUTEX"]:
            return self._mutex_owner(t.object)
        if t.reason in (layout["WAIT_RDLOCK"], layout["WAIT_WRLOCK"]):
            hint = layout.read(self.runtime.process, t.object, "rt_rwlock.owner_hint")
            return self.snapshot.by_index.get(hint - 1), "held by writer"
        return None, ""

    def _mutex_owner(self, mutex: int) -> tuple[Thread | None, str]:
        """The thread that has locked it last; ENDED: none that lives."""
        layout, process = self.layout, self.runtime.process
        kind = layout.read(process, mutex, "rt_mutex.kind")
        if kind & (layout["OM_ROBUST"] | layout["OM_INHERIT"] | layout["OM_PROTECT"]):
            word = layout.read(process, mutex, "rt_omutex.word")
            return self.snapshot.by_index.get(word & layout["OM_OWNER"]), OWNED
        owner = layout.read(process, mutex, "rt_mutex.owner")
        found = self.snapshot.by_at.get(owner)
        return found, ENDED if owner and found is None else OWNED

    def _descriptors(self, waiter: int) -> str:
        layout, process = self.layout, self.runtime.process
        at, n = (layout.read(process, waiter, f"io_waiter.{name}") for name in ("io", "n"))
        size, offset = layout.size("rt_io"), layout["rt_io.fd"]
        shown = min(n, MOST_DESCRIPTORS)
        raw = process.read(at, shown * size)
        fds = (raw[i + offset : i + offset + 4] for i in range(0, len(raw), size))
        numbers = (int.from_bytes(fd, "little", signed=True) for fd in fds)
        text = ", ".join(self.descriptors.text(number) for number in numbers)
        return text + (" ..." if n > shown else "")

    def _name(self, address: int) -> str:
        if address == 0:
            return ""
        found = self.runtime.objects.at(address)
        symbol = found.nearest(address) if found is not None else None
        if symbol is None:
            return f"{address:#x}"
        name, offset = symbol
        return f"{address:#x} <{name}{f'+{offset}' if offset else ''}>"

    def _left(self, t: Thread) -> float | None:
        if t.deadline is None or t.deadline >= 1 << 63:
            return None
        return max(t.deadline - self.now, 0) / NS

    def cycles(self) -> Iterator[list[Thread]]:
        """Threads that wait for each other in a circle: each circle once."""
        edges: dict[int, Thread] = {}
        for t in self.snapshot.threads:
            wait = self.of(t)
            if wait is not None and wait.on is not None:
                edges[t.at] = wait.on
        done: set[int] = set()
        for start in self.snapshot.threads:
            path: dict[int, Thread] = {}  # by address, in order
            at: Thread | None = start
            while at is not None and at.at not in done and at.at not in path:
                path[at.at] = at
                at = edges.get(at.at)
            if at is not None and at.at in path:
                chain = list(path.values())
                yield chain[chain.index(path[at.at]) :]
            done.update(path)


def left_text(*seconds: float | None) -> str:
    """How long some waits last yet: `3.0 s left`, `1.0 to 3.0 s left`."""
    known = [one for one in seconds if one is not None]
    if not known:
        return ""
    least, most = f"{min(known):.1f}", f"{max(known):.1f}"
    span = least if least == most else f"{least} to {most}"
    return f"{span} s left" if len(known) == len(seconds) else f"{span} s left, or no limit"


def state_text(t: Thread) -> str:
    """A word for each state."""
    return {"call": "in a call", "foreign": "not Pirn's"}.get(t.state, t.state)


def sched_text(runtime: Runtime, t: Thread) -> str:
    """Class, and priority or weight."""
    layout = runtime.layout
    kind = t.attr & layout["SCHED_CLASS_MASK"]
    if kind in (layout["SCHED_CLASS_FIFO"], layout["SCHED_CLASS_RR"]):
        name = "FIFO" if kind == layout["SCHED_CLASS_FIFO"] else "RR"
        raised = f" (base {t.base})" if t.priority != t.base else ""
        return f"{name} {t.priority}{raised}"
    weight = (t.attr >> layout["SCHED_WEIGHT_SHIFT"]) or layout["SCHED_WEIGHT_DEFAULT"]
    return f"OTHER {weight}" + (f" (priority {t.priority})" if t.priority else "")
