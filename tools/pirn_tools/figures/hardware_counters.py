# SPDX-License-Identifier: MIT
"""The processor's counters of cache misses of a program that is run: perf_event_open, as in
port/env/linux/linux_misses.c, but of all threads of the program.

A counter is opened for this process, disabled, and is inherited by its children, in which `exec`
enables it. So it counts what programs do that are run meanwhile, and nothing of this one.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass

# The system call's number.
NUMBERS = {"x86_64": 298, "aarch64": 241, "riscv64": 241}
CLOEXEC = 8
# struct perf_event_attr: type, size, config, sample_period, sample_type, read_format, flags,
# wakeup_events, bp_type, config1.
ATTRIBUTES = struct.Struct("=IIQQQQQIIQ")
HARDWARE, SOFTWARE, CACHE = 0, 1, 3
TIMES = 1 | 2  # of read_format: how long it was enabled, and how long it counted
DISABLED, INHERIT, NO_KERNEL, NO_HYPERVISOR, ON_EXEC = (1 << bit for bit in (0, 1, 5, 6, 12))
SIZE = 24  # of what is read: the value, and two times


@dataclass(frozen=True)
class Event:
    kind: int
    config: int


# PERF_COUNT_HW_CACHE_MISSES, the last level on the processors that count them; misses of the L1
# by reads: PERF_COUNT_HW_CACHE_L1D, OP_READ, RESULT_MISS.
EVENTS: Mapping[str, Event] = {
    "l1_read_misses": Event(CACHE, 0 | 0 << 8 | 1 << 16),
    "llc_misses": Event(HARDWARE, 3),
}


def reason(error: int) -> str:
    """Why there is no counter, as linux_misses.c says it."""
    if error in (errno.EACCES, errno.EPERM):
        return (
            "the kernel does not let this process count cache misses (perf_event_open; see "
            "/proc/sys/kernel/perf_event_paranoid)"
        )
    if error == errno.ENOSYS:
        return "the kernel has no perf_event_open, which counts cache misses"
    if error in (errno.EMFILE, errno.ENFILE):
        return "too many files are open for counters of cache misses (perf_event_open)"
    return "this machine has no hardware counter of cache misses (perf_event_open)"


def attributes(event: Event) -> bytes:
    flags = DISABLED | INHERIT | NO_KERNEL | NO_HYPERVISOR | ON_EXEC
    size = ATTRIBUTES.size
    return ATTRIBUTES.pack(event.kind, size, event.config, 0, 0, TIMES, flags, 0, 0, 0)


def open_event(event: Event) -> int:
    """A descriptor; -errno."""
    number = NUMBERS.get(platform.machine())
    if number is None:
        return -errno.ENOSYS
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    given = ctypes.create_string_buffer(attributes(event), ATTRIBUTES.size)
    # Of this process, on any CPU, without a group.
    whole = [ctypes.c_long(value) for value in (0, -1, -1, CLOEXEC)]
    made = call(ctypes.c_long(number), given, *whole)
    return int(made) if made >= 0 else -ctypes.get_errno()


def value_of(fd: int) -> float:
    """So far; what was missed while other events had the counter is estimated."""
    value, enabled, running = struct.unpack("=QQQ", os.read(fd, SIZE))
    return value * enabled / running if running else 0.0


class Counters:
    """Events of the programs that this process runs. Of no use where `refusal` is not empty."""

    def __init__(self, events: Mapping[str, Event] = EVENTS) -> None:
        self.refusal = ""
        self._opened: dict[str, int] = {}
        for name, event in events.items():
            made = open_event(event)
            if made < 0:
                self.close()
                self.refusal = reason(-made)
                return
            self._opened[name] = made

    def count(self, run: Callable[[], None]) -> dict[str, float]:
        """What `run` counts; nothing if there are no counters."""
        before = {name: value_of(fd) for name, fd in self._opened.items()}
        run()
        return {name: value_of(fd) - before[name] for name, fd in self._opened.items()}

    def close(self) -> None:
        for fd in self._opened.values():
            os.close(fd)
        self._opened = {}
