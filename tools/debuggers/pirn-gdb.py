# SPDX-License-Identifier: MIT
"""User threads of Pirn in gdb: `help info pirn`, `help pirn`; docs/guide/debugging.md.

The state of the runtime is read by pirn_gdb_state.py, which lies beside this file.

A thread that does not run is shown by an unwinder. While one is selected, the frame beneath frame
0 of the selected kernel thread (on a board: core) is said to be that thread's innermost one. So no
register and no memory of the process is written, core files work as well, and as soon as the kernel
thread moves or another one is selected, frame 0 is another and everything is as it was.
"""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import gdb
from gdb.unwinder import Unwinder, register_unwinder


def beside(name: str):  # noqa: ANN201
    """The module of that name in this file's folder, whatever gdb's path is. Nothing is written
    there."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    spec.loader.exec_module(module)
    sys.dont_write_bytecode = before
    return module


state = beside("pirn_gdb_state")
Record, Runtime = state.Record, state.Runtime


class FrameId:
    def __init__(self, sp: gdb.Value, pc: gdb.Value) -> None:
        self.sp, self.pc = sp, pc


class Selection(NamedTuple):
    """A thread that does not run, beneath frame 0 of a kernel thread."""

    ptid: tuple[int, int, int]
    sp0: int  # of frame 0, to know it again
    pc0: int
    index: int
    sp: int
    registers: dict[str, int]


chosen: Selection | None = None
past_main = False  # the user's own choice


def here(frame: "gdb.Frame | gdb.PendingFrame") -> tuple[int, int] | None:
    arch = state.arch_of(frame)
    if arch is None:
        return None
    return state.register(frame, arch.sp), state.register(frame, arch.pc)


def applies(frame: "gdb.Frame | gdb.PendingFrame") -> bool:
    """Is it the frame 0 beneath which a thread is shown?"""
    return (
        chosen is not None
        and gdb.selected_thread() is not None
        and gdb.selected_thread().ptid == chosen.ptid
        and here(frame) == (chosen.sp0, chosen.pc0)
    )


class PirnUnwinder(Unwinder):
    def __init__(self) -> None:
        super().__init__("pirn")

    def __call__(self, pending: gdb.PendingFrame) -> "gdb.UnwindInfo | None":
        if chosen is None or not applies(pending):
            return None
        arch = state.arch_of(pending)
        # Its id lies beneath that thread's frames: gdb refuses callers that lie deeper.
        sp0, pc0 = state.unsigned(chosen.sp - 8), state.unsigned(chosen.pc0)
        info = pending.create_unwind_info(FrameId(sp0, pc0))
        for name, value in chosen.registers.items():
            info.add_saved_register(name, state.unsigned(value))
        for name in arch.same:
            if pending.architecture().registers().find(name) is not None:
                info.add_saved_register(name, pending.read_register(name))
        return info


class ResetUnwinder(Unwinder):
    """A MIPS core that has not begun. gdb 13 would read in front of that address, where there is no
    memory, and end with an internal error if there are several cores."""

    RESET = 0xBFC00000

    def __init__(self) -> None:
        super().__init__("pirn-reset")

    def __call__(self, pending: gdb.PendingFrame) -> "gdb.UnwindInfo | None":
        if not pending.architecture().name().startswith("mips"):
            return None
        sp, pc = here(pending)
        if pc != self.RESET:
            return None
        info = pending.create_unwind_info(FrameId(state.unsigned(sp), state.unsigned(pc)))
        for name, value in {"pc": 0, "sp": sp, "ra": 0}.items():
            info.add_saved_register(name, state.unsigned(value))
        return info


class HideFrameZero:
    """`bt` begins with the thread's own innermost frame, and ends with its outermost one."""

    def __init__(self) -> None:
        self.name, self.priority, self.enabled = "pirn", 100, True
        gdb.frame_filters[self.name] = self

    def hides(self, frame: gdb.Frame) -> bool:
        if frame.level() != 0:
            return frame.pc() == 0
        return chosen is not None and applies(frame)

    def filter(self, frames: Iterator[object]) -> Iterator[object]:
        for frame in frames:
            inner = frame.inferior_frame()
            if not self.hides(inner):
                yield frame


def choose(selection: Selection | None) -> None:
    """Frame 0 may be main's, which gdb else takes for the outermost."""
    global chosen, past_main
    if (chosen is None) != (selection is None):
        if selection is not None:
            past_main = gdb.parameter("backtrace past-main")
        gdb.set_parameter("backtrace past-main", selection is not None or past_main)
    chosen = selection
    gdb.invalidate_cached_frames()


def beneath(runtime: Runtime, t: Record) -> Selection:
    if gdb.selected_thread() is None:
        gdb.selected_inferior().threads()[0].switch()
    frame = gdb.newest_frame()
    arch = state.arch_of(frame)
    if arch is None or not (runtime.layout.board or arch.pc == "rip"):
        msg = "threads that do not run can be shown on x86-64 only; those that run, by `thread`"
        if runtime.layout.board:
            known = ", ".join(state.ARCHES)
            msg = (
                f"threads that do not run cannot be shown on {frame.architecture().name()}: {known}"
            )
        raise gdb.GdbError(msg)
    sp, pc, top = t["ctx.sp"], t["ctx.pc"], t["stack_top"]
    fresh = top != 0 and sp + arch.room + 16 > top  # it has not run yet
    layout, sp0, pc0 = runtime.layout, *here(frame)
    if fresh:
        registers = dict.fromkeys([*arch.saved, arch.link], 0)
        pc += arch.step  # gdb takes it for a return address, and looks at what is in front of it
    else:
        registers = {name: layout.pointers(sp + at, 1)[0] for name, at in arch.saved.items()}
        sp += arch.pushed
    registers |= {arch.sp: sp, arch.pc: pc}
    return Selection(gdb.selected_thread().ptid, sp0, pc0, t["index"], sp, registers)


class Visit:
    """In between, the frames are those of a thread, whether it runs or not."""

    def __init__(self, runtime: Runtime, t: Record) -> None:
        self.runtime, self.t = runtime, t

    def __enter__(self) -> gdb.Frame | None:
        choose(None)
        self.before = gdb.selected_thread()
        kernel = self.runtime.kernel_thread(self.t)
        if kernel is not None:
            return state.innermost(kernel)
        if self.t["state"] == self.runtime.layout.THREAD_RUNNING:
            return None
        choose(beneath(self.runtime, self.t))
        frame = gdb.newest_frame().older()
        if frame is not None:
            frame.select()
        return frame

    def __exit__(self, *_: object) -> None:
        choose(None)
        if self.before is not None and self.before.is_valid():
            self.before.switch()


def is_library(name: str | None) -> bool:
    """The C library and the dynamic linker: not what somebody wants to read first."""
    base = (name or "").rsplit("/", 1)[-1]
    return base.startswith(("libc.so", "libc-", "ld-linux", "ld-"))


def top_frame(runtime: Runtime, t: Record) -> str:
    """The innermost function of the program's own; without one, of the C library."""
    found = None
    with Visit(runtime, t) as frame:
        for _ in range(64):
            if frame is None:
                break
            solib = gdb.solib_name(frame.pc())
            outside = not runtime.layout.in_library(frame.pc())
            if outside and frame.type() != gdb.SIGTRAMP_FRAME and frame.name():
                sal = frame.find_sal()
                line = f" at {sal.symtab.filename}:{sal.line}" if sal.symtab is not None else ""
                if not is_library(solib):
                    return f"{frame.name()} (){line}"
                found = found or f"{frame.name()} ()"
            try:
                frame = frame.older()
            except gdb.error:
                break
    if found is None and t["state"] in (runtime.layout.THREAD_READY, runtime.layout.THREAD_NEW):
        return f"begins at {state.symbol(t['start'])}"
    return found or "??"


def print_table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        gdb.write("  ".join([*cells, row[-1]]).rstrip() + "\n")


class Keep:
    """Leaves what the user has selected: thread of Pirn, kernel thread, frame."""

    def __enter__(self) -> None:
        self.chosen, self.thread = chosen, gdb.selected_thread()
        self.level = gdb.selected_frame().level() if self.thread is not None else 0

    def __exit__(self, *_: object) -> None:
        if self.thread is not None and self.thread.is_valid():
            self.thread.switch()
        choose(self.chosen)
        frame = gdb.newest_frame() if self.thread is not None else None
        for _ in range(self.level):
            frame = frame.older() if frame is not None else None
        if frame is not None:
            frame.select()


class InfoPirn(gdb.Command):
    """Threads and workers of Pirn: threads, workers, waits."""

    def __init__(self) -> None:
        super().__init__("info pirn", gdb.COMMAND_STATUS, prefix=True)


class InfoThreads(gdb.Command):
    """List the user threads that live: number, name, class, state, innermost function.

    info pirn threads [NUMBER]...   An asterisk marks the one that is selected."""

    def __init__(self) -> None:
        super().__init__("info pirn threads", gdb.COMMAND_STATUS)

    def invoke(self, argument: str, from_tty: bool) -> None:
        runtime = Runtime()
        wanted = [runtime.find(text) for text in gdb.string_to_argv(argument)] or runtime.threads
        rows: list[tuple[str, ...]] = [("", "Num", "Name", "Class", "State", "Where")]
        current = chosen.index if chosen is not None and applies(gdb.newest_frame()) else None
        with Keep():
            for t in wanted:
                what = (t.text("name"), runtime.sched(t), runtime.state(t), top_frame(runtime, t))
                rows.append(("*" if t["index"] == current else "", str(t["index"]), *what))
        print_table(rows)


class InfoWorkers(gdb.Command):
    """List the workers: number, kernel thread, gdb's thread, what it runs, switches so far.

    On a board they are its CPUs."""

    def __init__(self) -> None:
        super().__init__("info pirn workers", gdb.COMMAND_STATUS)

    def invoke(self, argument: str, from_tty: bool) -> None:
        runtime = Runtime()
        layout = runtime.layout
        heading = ("CPU",) if layout.board else ("Worker", "LWP")
        rows: list[tuple[str, ...]] = [(*heading, "gdb", "Switches", "Runs")]
        for i, cpu in enumerate(runtime.cpus):
            if layout.board:
                names, known = (str(i),), runtime.cores.get(cpu["current"])
            else:
                tid = layout.field(cpu["carrier"], "carrier.port.tid")
                names, known = (str(i), str(tid)), runtime.lwp.get(tid)
            runs = "nothing" if cpu["current"] == cpu["idle"] else runtime.label(cpu["current"])
            number = str(known.num) if known is not None else "-"
            switches = cpu["stats.switches"] if layout.has("cpu.stats.switches") else "-"
            rows.append((*names, number, str(switches), runs))
        name = layout.field(layout.rt, "rt.policy.name")
        gdb.write(f"policy {state.text_of(state.read(name, 16))}\n")
        print_table(rows)


def cycles(edges: dict[int, int]) -> list[list[int]]:
    found: list[list[int]] = []
    done: set[int] = set()
    for start in edges:
        path: list[int] = []
        at: int | None = start
        while at is not None and at not in done and at not in path:
            path.append(at)
            at = edges.get(at)
        if at in path:
            found.append(path[path.index(at) :])
        done.update(path)
    return found


class InfoWaits(gdb.Command):
    """List who waits for what, and name the cycles: deadlocks."""

    def __init__(self) -> None:
        super().__init__("info pirn waits", gdb.COMMAND_STATUS)

    def invoke(self, argument: str, from_tty: bool) -> None:
        runtime = Runtime()
        edges: dict[int, int] = {}
        blocked = [t for t in runtime.threads if t["state"] == runtime.layout.THREAD_BLOCKED]
        for t in blocked:
            waits = runtime.waits(t)
            gdb.write(f"{runtime.label(t.at)} {waits.text}\n")
            if waits.on is not None:
                edges[t.at] = waits.on
        for cycle in cycles(edges):
            names = [runtime.label(at) for at in [*cycle, cycle[0]]]
            gdb.write(f"deadlock: {' -> '.join(names)}\n")
        if not blocked:
            gdb.write("no thread waits\n")


class Pirn(gdb.Command):
    """Commands for user threads of Pirn."""

    def __init__(self) -> None:
        super().__init__("pirn", gdb.COMMAND_STACK, prefix=True)


class Thread(gdb.Command):
    """Select a user thread, or show its stack.

    pirn thread NUMBER|NAME         frames are those of this thread: bt, frame, info locals, ...
    pirn thread NUMBER|NAME bt ...  only this once; or any other command
    pirn thread apply all bt ...    for each thread
    pirn thread apply 3 7 bt ...
    pirn thread none                frames are those of the kernel thread again
    pirn thread                     which is selected

    For a thread that does not run, frame 0 stays that of the kernel thread; bt leaves it out. The
    process is not changed. Going on ends the selection."""

    def __init__(self) -> None:
        super().__init__("pirn thread", gdb.COMMAND_STACK)

    def invoke(self, argument: str, from_tty: bool) -> None:
        words = argument.split()
        if not words:
            self.which()
        elif words[0] == "none":
            choose(None)
        elif words[0] == "apply":
            self.apply(words[1:])
        elif len(words) == 1:
            self.select(words[0])
        else:
            runtime = Runtime()
            self.one(runtime, runtime.find(words[0]), " ".join(words[1:]))

    def which(self) -> None:
        if chosen is not None and applies(gdb.newest_frame()):
            gdb.write(f"thread {chosen.index} is selected\n")
        else:
            gdb.write("no thread is selected: frames are those of the kernel thread\n")

    def select(self, text: str) -> None:
        runtime = Runtime()
        t = runtime.find(text)
        kernel = runtime.kernel_thread(t)
        choose(None)
        gdb.write(f"[thread {runtime.label(t.at)}: {runtime.state(t)}]\n")
        if kernel is not None:
            gdb.execute(f"thread {kernel.num}")
            return
        if t["state"] == runtime.layout.THREAD_RUNNING:
            msg = f"thread {text} runs, but where gdb does not know"
            raise gdb.GdbError(msg)
        choose(beneath(runtime, t))
        gdb.execute("frame 1")

    def apply(self, words: list[str]) -> None:
        runtime = Runtime()
        if words[:1] == ["all"]:
            threads, rest = runtime.threads, words[1:]
        else:
            count = next((i for i, w in enumerate(words) if not w[0].isdigit()), len(words))
            threads, rest = [runtime.find(text) for text in words[:count]], words[count:]
        if not threads or not rest:
            msg = "usage: pirn thread apply all|NUMBER... COMMAND"
            raise gdb.GdbError(msg)
        for t in threads:
            self.one(runtime, t, " ".join(rest), heading=True)

    def one(self, runtime: Runtime, t: Record, command: str, heading: bool = False) -> None:
        with Keep():
            if heading:
                gdb.write(f"\nThread {runtime.label(t.at)}, {runtime.state(t)}:\n")
            with Visit(runtime, t) as frame:
                if frame is None:
                    gdb.write("no stack: it runs where gdb does not know\n")
                else:
                    gdb.execute(command)


register_unwinder(None, PirnUnwinder(), replace=True)
register_unwinder(None, ResetUnwinder(), replace=True)
HideFrameZero()
# The runtime's own signals: ticks, a worker that sleeps in the kernel, cancellation.
gdb.execute("handle SIG62 SIG63 SIG64 nostop noprint pass", to_string=True)
gdb.events.cont.connect(lambda _: choose(None))
gdb.events.exited.connect(lambda _: choose(None))
for command in (InfoPirn, InfoThreads, InfoWorkers, InfoWaits, Pirn, Thread):
    command()
