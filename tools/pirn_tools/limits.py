# SPDX-License-Identifier: MIT
"""Limits of CPU time and memory for reading what somebody else has written.

    with guard(seconds, memory, "reading the symbols of x"):
        ...

raises a LimitError when the block takes more. Guards may stand inside each other; the tightest one
counts. The time is that of this process's CPU, not of a clock on the wall: other programs' load
does not use it up.

Invariants:
1. While a guard is active SIGPROF comes every TICK of CPU time; its handler looks at the deadlines.
   Outside the main thread, where Python handles no signals, only the memory is limited.
2. The handler raises something that is no Exception: a library that takes every Exception for
   damage of its file does not swallow it. If something does swallow it, it comes again after GRACE.
3. A guard gives back the limit of the address space that it has found.
"""

from __future__ import annotations

import mmap
import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from pirn_tools.errors import UserError

TICK = 0.05  # s
GRACE = 0.25  # s, to leave the block that has used up its time
MIB = 1 << 20


class LimitError(UserError):
    """It would take more time or more memory than it may."""


class _Expired(BaseException):
    """Raised by the handler: the outermost guard whose time is up."""

    def __init__(self, which: _Deadline) -> None:
        super().__init__()
        self.which = which


class _Deadline:
    def __init__(self, seconds: float) -> None:
        self.at = time.process_time() + seconds


_active: list[_Deadline] = []  # the outermost first


def _tick(number: int, frame: FrameType | None) -> None:
    now = time.process_time()
    for one in _active:
        if now >= one.at:
            one.at = now + GRACE
            raise _Expired(one)


@contextmanager
def guard(seconds: float, memory: int, what: str) -> Iterator[None]:
    """The block may take so many seconds of CPU time, and so many bytes more than there are."""
    try:
        with _address_space(memory), _time(seconds):
            yield
    except MemoryError:
        raise LimitError(f"{what} takes more than {memory // MIB} MiB of memory") from None
    except _OwnExpired:
        raise LimitError(f"{what} takes more than {seconds:g} s of CPU time") from None


class _OwnExpired(Exception):  # noqa: N818 - never leaves this module
    """The guard's own time is up, not that of one around it."""


@contextmanager
def _time(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    own = _Deadline(seconds)
    if not _active:
        signal.signal(signal.SIGPROF, _tick)
        signal.setitimer(signal.ITIMER_PROF, TICK, TICK)
    _active.append(own)
    try:
        yield
    except _Expired as expired:
        if expired.which is own:
            raise _OwnExpired from None
        raise
    finally:
        _active.remove(own)
        if not _active:
            signal.setitimer(signal.ITIMER_PROF, 0)


@contextmanager
def _address_space(more: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _address_space_used() + more
    if soft != resource.RLIM_INFINITY:
        wanted = min(wanted, soft)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space_used() -> int:
    fd = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return int(os.read(fd, 64).split()[0]) * mmap.PAGESIZE
    finally:
        os.close(fd)
