# SPDX-License-Identifier: MIT
"""`pirn dump`: what each thread does or waits for, with its back trace."""

from __future__ import annotations

import time
from collections.abc import Iterator

from pirn_tools.binary.memory import UnreadableError
from pirn_tools.binary.unwind import MACHINES, Machine, Registers, Unwinder
from pirn_tools.live.equal import Found, Group, Trace, groups
from pirn_tools.live.places import Places
from pirn_tools.live.snapshot import TRIES, Runtime, Snapshot, Thread
from pirn_tools.live.waits import Wait, Waits, state_text


class MovedError(Exception):
    """The thread has gone on."""


class Dump:
    """Of one snapshot."""

    def __init__(self, runtime: Runtime, snapshot: Snapshot) -> None:
        self.runtime, self.snapshot = runtime, snapshot
        self.process, self.layout = runtime.process, runtime.layout
        self.waits = Waits(runtime, snapshot, time.monotonic_ns())
        self.machine = MACHINES.get(runtime.library.file.machine)
        self.unwinder = (
            Unwinder(runtime.process, runtime.objects.at, self.machine) if self.machine else None
        )
        self.places = Places(runtime.objects)

    def lines(self, all_threads: bool = False) -> Iterator[str]:
        """All of it; equal threads are one group, or not. Circles of waiting at the end."""
        found = map(self._look, sorted(self.snapshot.threads, key=lambda t: t.index))
        shown = (Group((one,)) for one in found) if all_threads else groups(found)
        seen: dict[tuple[int, ...], Thread] = {}
        for group in shown:
            yield ""
            yield group.head
            if group.others:
                yield f"    ({group.others})"
            yield from self._trace_lines(group.first, seen)
        for cycle in self.waits.cycles():
            yield ""
            yield "Cycle: " + " -> ".join(t.label for t in [*cycle, cycle[0]])

    def _trace_lines(self, one: Found, seen: dict[tuple[int, ...], Thread]) -> Iterator[str]:
        trace = one.trace
        if trace.why:
            yield f"    ({trace.why})"
        elif len(trace.frames) > 1 and trace.frames in seen:
            yield f"    (back trace: as thread {seen[trace.frames].id})"
        else:
            seen[trace.frames] = one.thread
            for i, frame in enumerate(trace.frames):
                yield f"    #{i:<2} {self.places.text(frame)}"

    def _look(self, t: Thread) -> Found:
        wait = self.waits.of(t)
        return Found(t, self.trace(t), self._does(t, wait), wait)

    def _does(self, t: Thread, wait: Wait | None) -> str:
        if wait is not None:
            asleep = t.reason == self.layout["WAIT_SLEEP"]
            return wait.text.replace("sleep", "sleeps", 1) if asleep else f"waits for {wait.text}"
        if t.state == "running" and t.cpu is not None:
            return f"running on CPU {t.cpu}"
        call = self.waits.call_text(t)
        return f"{state_text(t)}: {call}" if call else state_text(t)

    def trace(self, t: Thread) -> Trace:
        """Taken again if the thread has moved meanwhile."""
        if self.unwinder is None:
            return Trace(why="back traces are there on x86-64 and AArch64 only")
        for _ in range(TRIES):
            found = (
                self._saved_trace(self.unwinder, t)
                if t.tid is None
                else self._kernel_trace(self.unwinder, t.tid)
            )
            if found is not None:
                return found
        return Trace(why="no back trace: it moves")

    def _kernel_trace(self, unwinder: Unwinder, tid: int) -> Trace | None:
        """On a kernel thread: only if that waits in the kernel."""
        before = self.process.registers(tid)
        if before is None:
            return Trace(why="no back trace: it runs, and is not stopped to look at it")
        frames = unwinder.trace(unwinder.machine.registers(*before))
        return Trace(tuple(frames)) if self.process.registers(tid) == before else None

    def _saved_trace(self, unwinder: Unwinder, t: Thread) -> Trace | None:
        """The trace from when the thread stopped; valid if its context is the same."""
        try:
            before = self._context(unwinder.machine, t)
            frames = unwinder.trace(before) if before else []
            if self._context(unwinder.machine, t) != before:
                return None
        except MovedError:
            return None
        except UnreadableError:
            return Trace(why="no back trace: it has ended")
        if not frames:
            return Trace(why=f"has not run yet: begins at {self.places.text(t.start)}")
        return Trace(tuple(frames))

    def _context(self, machine: Machine, t: Thread) -> Registers:
        """Empty: it has not run."""
        layout, process = self.layout, self.process
        raw = process.read(t.at, layout.size("thread"))
        state = layout.get(raw, "thread.state")
        same = layout.get(raw, "thread.generation") == t.generation
        if not same or state == layout["THREAD_RUNNING"]:
            raise MovedError
        sp, pc = layout.get(raw, "thread.ctx.sp"), layout.get(raw, "thread.ctx.pc")
        top = layout.get(raw, "thread.stack_top")
        if top != 0 and sp + machine.pushed > top:
            return {}
        return machine.stopped(sp, pc, process.word(sp))
