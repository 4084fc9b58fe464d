# SPDX-License-Identifier: MIT
"""User threads of Pirn in gdb: `help info pirn`, `help pirn`; docs/guide/debugging.md.

Everything is read through pirn_debug_layout (src/sync/layout.h), a table in the library: neither
its debug information nor a running process is needed.

A thread that does not run is shown by an unwinder. While one is selected, the frame beneath frame
0 of the selected kernel thread is said to be that thread's innermost one. So no register and no
memory of the process is written, core files work as well, and as soon as the kernel thread moves or
another one is selected, frame 0 is another and everything is as it was.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

import gdb
from gdb.unwinder import Unwinder, register_unwinder

VERSION = 1
SWITCH_PUSHED = 136  # port_ctx_switch, x86-64: the red zone and rbp
NS = 1_000_000_000


def read(address: int, size: int) -> bytes:
    try:
        return gdb.selected_inferior().read_memory(address, size).tobytes()
    except gdb.MemoryError:
        msg = f"cannot read {size} bytes at {address:#x}: the process or core file lacks them"
        raise gdb.GdbError(msg) from None


def word(address: int) -> int:
    return struct.unpack("=Q", read(address, 8))[0]


def text_of(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode(errors="replace")


class Layout:
    """The library's own table: where which field is."""

    def __init__(self) -> None:
        try:
            at = int(gdb.parse_and_eval("(unsigned long)&pirn_debug_layout"))
            head = read(at, 56)
        except (gdb.error, gdb.GdbError):
            msg = (
                "this program has no Pirn runtime, or its libraries are not loaded yet: "
                "is it linked with libpirn or libpirn-pthread, and started?"
            )
            raise gdb.GdbError(msg) from None
        magic, version, count, entries, rt, chunks, reasons, width, names = struct.unpack(
            "=8sIIQQQIIQ", head
        )
        if magic != b"pirn-dbg" or version != VERSION:
            msg = (
                f"this script reads version {VERSION} of the library's table, the library has "
                f"{version}: use the pirn-gdb.py that was installed with the library"
            )
            raise gdb.GdbError(msg)
        self.at, self.rt, self.chunks = at, rt, chunks
        table = read(entries, count * 36)
        self.entry: dict[str, tuple[int, int]] = {}
        for name, value, size in struct.iter_unpack("=28sII", table):
            self.entry[text_of(name)] = (value, size)
        raw = read(names, reasons * width)
        self.reason = [text_of(raw[i * width : (i + 1) * width]) for i in range(reasons)]

    def __getattr__(self, name: str) -> int:
        return self.entry[name][0]

    def size(self, kind: str) -> int:
        return self.entry[f"sizeof.{kind}"][0]

    def field(self, base: int, name: str) -> int:
        at, size = self.entry[name]
        return int.from_bytes(read(base + at, size), "little")


class Record:
    """A copy of one structure."""

    def __init__(self, layout: Layout, kind: str, at: int) -> None:
        self.layout, self.kind, self.at = layout, kind, at
        self.raw = read(at, layout.size(kind))

    def __getitem__(self, field: str) -> int:
        at, size = self.layout.entry[f"{self.kind}.{field}"]
        return int.from_bytes(self.raw[at : at + size], "little")

    def text(self, field: str) -> str:
        at, size = self.layout.entry[f"{self.kind}.{field}"]
        return text_of(self.raw[at : at + size])


def symbol(address: int) -> str:
    """`0x1234 <name>`."""
    said = gdb.execute(f"info symbol {address:#x}", to_string=True)
    if said.startswith("No symbol"):
        return f"{address:#x}"
    return f"{address:#x} <{said.split(' in section ')[0]}>"


class Waits(NamedTuple):
    text: str
    on: int | None  # the thread (its descriptor's address) that is to end the wait


class Runtime:
    """The state found when a command is given; nothing is kept until the next one."""

    def __init__(self) -> None:
        inferior = gdb.selected_inferior()
        if inferior.pid == 0 or not inferior.threads():
            msg = "the program is not being run: `run` it, `attach` to it, or open a core file"
            raise gdb.GdbError(msg)
        self.layout = layout = Layout()
        if layout.field(layout.rt, "rt.started") != 2:
            msg = (
                "the runtime has not started yet: it does at the program's first call, "
                "for instance pthread_create"
            )
            raise gdb.GdbError(msg)
        self.lwp = {t.ptid[1]: t for t in inferior.threads()}
        at = layout.rt + layout.entry["rt.cpus"][0]
        count = layout.field(layout.rt, "rt.ncpu")
        self.cpus = [Record(layout, "cpu", word(at + 8 * i)) for i in range(count)]
        self.runs_on = {cpu["current"]: i for i, cpu in enumerate(self.cpus)}
        self.threads = list(self._threads())
        self.by_at = {t.at: t for t in self.threads}
        self.by_index = {t["index"]: t for t in self.threads}

    def _threads(self) -> Iterator[Record]:
        layout = self.layout
        per, size = 1 << layout.ID_CHUNK_BITS, layout.size("id_slot")
        at = layout.entry["id_slot.thread"][0]
        for (chunk,) in struct.iter_unpack("=Q", read(layout.chunks, 8 * layout.ID_CHUNKS)):
            if chunk == 0:
                break
            raw = read(chunk, per * size)
            for i in range(per):
                (t,) = struct.unpack_from("=Q", raw, i * size + at)
                try:
                    record = Record(layout, "thread", t) if t != 0 else None
                except gdb.GdbError as error:
                    gdb.write(f"a thread is left out: {error}\n")
                    continue
                lives = record is not None and record["state"] != layout.THREAD_EXITED
                if lives and not record["flags"] & layout.THREAD_IDLE:
                    yield record

    def find(self, text: str) -> Record:
        """By number, or by a name that no other thread has."""
        found = [t for t in self.threads if str(t["index"]) == text.split(".")[0]]
        found = found or [t for t in self.threads if t.text("name") == text]
        if len(found) != 1:
            count = f"are {len(found)} threads" if found else "is no thread"
            msg = f"there {count} {text}: `info pirn threads` shows the number and name of each"
            raise gdb.GdbError(msg)
        return found[0]

    def kernel_thread(self, t: Record) -> gdb.InferiorThread | None:
        """The CPU or kernel thread that executes t now, if any."""
        if t["flags"] & self.layout.THREAD_FOREIGN:
            return self.lwp.get(t["port.tid"])
        if t.at in self.runs_on:
            carrier = self.cpus[self.runs_on[t.at]]["carrier"]
        elif t["state"] == self.layout.THREAD_RUNNING:
            carrier = t["carrier"]
        else:
            return None
        try:
            return self.lwp.get(self.layout.field(carrier, "carrier.port.tid"))
        except gdb.GdbError:
            return None

    def label(self, at: int) -> str:
        t = self.by_at.get(at)
        return f'{t["index"]} "{t.text("name")}"' if t is not None else f"?? ({at:#x})"

    def mutex_owner(self, mutex: int) -> int | None:
        layout = self.layout
        kind = layout.field(mutex, "rt_mutex.kind")
        if kind & (layout.OM_ROBUST | layout.OM_INHERIT | layout.OM_PROTECT):
            index = layout.field(mutex, "rt_omutex.word") & layout.OM_OWNER
            t = self.by_index.get(index)
            return t.at if t is not None else None
        owner = layout.field(mutex, "rt_mutex.owner")
        return owner if owner in self.by_at else None

    def writer(self, lock: int) -> int | None:
        t = self.by_index.get(self.layout.field(lock, "rt_rwlock.owner_hint") - 1)
        return t.at if t is not None else None

    def descriptors(self, waiter: int) -> str:
        layout = self.layout
        at, n = layout.field(waiter, "io_waiter.io"), layout.field(waiter, "io_waiter.n")
        size, shown = layout.size("rt_io"), min(n, 8)
        fds = [str(layout.field(at + i * size, "rt_io.fd")) for i in range(shown)]
        return f"waiting for descriptor {', '.join(fds)}" + (" ..." if n > shown else "")

    def limit(self, t: Record) -> str:
        if not t["timer.armed"]:
            return ""
        return f", until {t['timer.deadline'] / NS:.3f} s (CLOCK_MONOTONIC)"

    def waits(self, t: Record) -> Waits:
        """Of a thread that is blocked."""
        layout, reason, what = self.layout, t["wait_reason"], t["wait_object"]
        on, said = None, ""
        if reason == layout.WAIT_SLEEP:
            return Waits("sleeping" + self.limit(t), None)
        if reason == layout.WAIT_IO:
            return Waits(self.descriptors(what) + self.limit(t), None)
        if reason == layout.WAIT_JOIN:
            return Waits(f"waiting for the end of thread {self.label(what)}{self.limit(t)}", what)
        name = layout.reason[reason] if reason < len(layout.reason) else f"reason {reason}"
        if reason == layout.WAIT_MUTEX:
            on = self.mutex_owner(what)
            said = ", owned by " + (f"thread {self.label(on)}" if on else "who is not known")
        elif reason in (layout.WAIT_RDLOCK, layout.WAIT_WRLOCK):
            on = self.writer(what)
            said = f", held by writer {self.label(on)}" if on else ""
        return Waits(f"waiting for {name} {symbol(what)}{said}{self.limit(t)}", on)

    def state(self, t: Record) -> str:
        layout = self.layout
        if t.at in self.runs_on:
            return f"running on worker {self.runs_on[t.at]}"
        if t["state"] == layout.THREAD_BLOCKED:
            return self.waits(t).text
        if t["state"] in (layout.THREAD_READY, layout.THREAD_NEW):
            return "ready"
        kernel = self.kernel_thread(t)
        where = f" (LWP {kernel.ptid[1]})" if kernel is not None else ""
        if t["flags"] & layout.THREAD_FOREIGN:
            return f"a kernel thread of the program's{where}"
        return f"in a call{where}"

    def sched(self, t: Record) -> str:
        layout, attr = self.layout, t["sched.attr"]
        kind = attr & layout.SCHED_CLASS_MASK
        if kind in (layout.SCHED_CLASS_FIFO, layout.SCHED_CLASS_RR):
            name = "FIFO" if kind == layout.SCHED_CLASS_FIFO else "RR"
            raised = f" (base {t['base_priority']})" if t["priority"] != t["base_priority"] else ""
            return f"{name} {t['priority']}{raised}"
        weight = (attr >> layout.SCHED_WEIGHT_SHIFT) or layout.SCHED_WEIGHT_DEFAULT
        raised = f" (priority {t['priority']})" if t["priority"] else ""
        return f"OTHER {weight}{raised}"


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
    pc: int
    bp: int


chosen: Selection | None = None
past_main = False  # the user's own choice


def here(frame: "gdb.Frame | gdb.PendingFrame") -> tuple[int, int]:
    return int(frame.read_register("rsp")), int(frame.read_register("rip"))


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
        if chosen is None or pending.architecture().name() != "i386:x86-64" or not applies(pending):
            return None
        value = gdb.Value(0).cast(gdb.lookup_type("unsigned long"))
        # Its id lies beneath that thread's frames: gdb refuses callers that lie deeper.
        info = pending.create_unwind_info(FrameId(value + chosen.sp - 8, value + chosen.pc0))
        info.add_saved_register("rip", value + chosen.pc)
        info.add_saved_register("rsp", value + chosen.sp)
        info.add_saved_register("rbp", value + chosen.bp)
        return info


class HideFrameZero:
    """`bt` begins with the thread's own innermost frame."""

    def __init__(self) -> None:
        self.name, self.priority, self.enabled = "pirn", 100, True
        gdb.frame_filters[self.name] = self

    def filter(self, frames: Iterator[object]) -> Iterator[object]:
        for frame in frames:
            inner = frame.inferior_frame()
            if chosen is None or inner.level() != 0 or not applies(inner):
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
    if frame.architecture().name() != "i386:x86-64":
        msg = "threads that do not run can be shown on x86-64 only; those that run, by `thread`"
        raise gdb.GdbError(msg)
    sp, pc, top = t["ctx.sp"], t["ctx.pc"], t["stack_top"]
    fresh = top != 0 and sp + SWITCH_PUSHED > top  # it has not run yet
    sp0, pc0 = here(frame)
    bp = 0 if fresh else word(sp)
    sp += 0 if fresh else SWITCH_PUSHED
    return Selection(gdb.selected_thread().ptid, sp0, pc0, t["index"], sp, pc, bp)


class Visit:
    """In between, the frames are those of a thread, whether it runs or not."""

    def __init__(self, runtime: Runtime, t: Record) -> None:
        self.runtime, self.t = runtime, t

    def __enter__(self) -> gdb.Frame | None:
        choose(None)
        self.before = gdb.selected_thread()
        kernel = self.runtime.kernel_thread(self.t)
        if kernel is not None:
            kernel.switch()
            return gdb.newest_frame()
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
    library = gdb.solib_name(runtime.layout.at)
    found = None
    with Visit(runtime, t) as frame:
        for _ in range(64):
            if frame is None:
                break
            solib = gdb.solib_name(frame.pc())
            if solib != library and frame.type() != gdb.SIGTRAMP_FRAME and frame.name():
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
        return f"begins at {symbol(t['start'])}"
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
    """List the workers: number, kernel thread, gdb's thread, what it runs, switches so far."""

    def __init__(self) -> None:
        super().__init__("info pirn workers", gdb.COMMAND_STATUS)

    def invoke(self, argument: str, from_tty: bool) -> None:
        runtime = Runtime()
        rows: list[tuple[str, ...]] = [("Worker", "LWP", "gdb", "Switches", "Runs")]
        for i, cpu in enumerate(runtime.cpus):
            tid = runtime.layout.field(cpu["carrier"], "carrier.port.tid")
            known = runtime.lwp.get(tid)
            runs = "nothing" if cpu["current"] == cpu["idle"] else runtime.label(cpu["current"])
            number = str(known.num) if known is not None else "-"
            rows.append((str(i), str(tid), number, str(cpu["stats.switches"]), runs))
        name = runtime.layout.field(runtime.layout.rt, "rt.policy.name")
        gdb.write(f"policy {text_of(read(name, 16))}\n")
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
            msg = f"thread {text} runs, but on a kernel thread that gdb does not know"
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
                    gdb.write("no stack: it runs on a kernel thread that gdb does not know\n")
                else:
                    gdb.execute(command)


register_unwinder(None, PirnUnwinder(), replace=True)
HideFrameZero()
# The runtime's own signals: ticks, a worker that sleeps in the kernel, cancellation.
gdb.execute("handle SIG62 SIG63 SIG64 nostop noprint pass", to_string=True)
gdb.events.cont.connect(lambda _: choose(None))
gdb.events.exited.connect(lambda _: choose(None))
for command in (InfoPirn, InfoThreads, InfoWorkers, InfoWaits, Pirn, Thread):
    command()
