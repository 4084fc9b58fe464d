# SPDX-License-Identifier: MIT
"""What pirn-gdb.py shows: the state of the runtime, read from the memory of a process or a board.

Everything is read through pirn_debug_layout (src/sync/layout.h), a table in the library: neither
its debug information nor a running process is needed. On boards the table is in the image's file,
in a section that is not loaded.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import gdb

VERSION = 1
NS = 1_000_000_000
SECTION = ".pirn_debug"  # of a board's image
LIBRARY = ("bare_text_begin", "bare_library_end")  # ... in which it is: start code, traps, library


class Arch(NamedTuple):
    """How the context of a thread that does not run is kept: port/arch/*/port_arch.h."""

    pc: str  # names of registers
    sp: str
    pushed: int  # bytes that port_ctx_switch has pushed
    saved: dict[str, int]  # registers among them
    room: int  # bytes that are left free above the stack pointer of a thread that has not run
    step: int  # bytes of the shortest instruction
    link: str  # register of the return address; a thread that has not run returns to 0
    same: tuple[
        str, ...
    ] = ()  # registers that are alike on all stacks, and gdb asks for if it has them


ARCHES = {  # by the beginning of gdb's name
    # The red zone, too; the return address is on the stack.
    "i386:x86-64": Arch("rip", "rsp", 136, {"rbp": 0}, 120, 1, "rbp"),
    "riscv:rv64": Arch("pc", "sp", 16, {"fp": 0, "s1": 8}, 0, 2, "ra"),
    "riscv:rv32": Arch("pc", "sp", 16, {"fp": 0, "s1": 4}, 0, 2, "ra"),
    "aarch64": Arch("pc", "sp", 16, {"x29": 0, "x19": 8}, 0, 4, "x30"),
    # Microcontrollers (xpsr), too.
    "arm": Arch("pc", "sp", 16, {"r11": 8, "r7": 12}, 8, 2, "lr", ("cpsr", "xpsr")),
    "mips": Arch("pc", "sp", 32, {"s8": 28}, 32, 4, "ra"),
}


def arch_of(frame: "gdb.Frame | gdb.PendingFrame") -> Arch | None:
    name = frame.architecture().name()
    return next((arch for begin, arch in ARCHES.items() if name.startswith(begin)), None)


def unsigned(number: int) -> gdb.Value:
    """As large as an address."""
    return gdb.Value(number).cast(gdb.lookup_type("unsigned long"))


def register(frame: "gdb.Frame | gdb.PendingFrame", name: str) -> int:
    """An address; gdb has some as signed numbers."""
    return int(frame.read_register(name).cast(gdb.lookup_type("unsigned long")))


def innermost(thread: gdb.InferiorThread) -> gdb.Frame:
    """Frame 0 of a kernel thread or core, which is selected then."""
    thread.switch()
    return gdb.newest_frame()


def read(address: int, size: int) -> bytes:
    try:
        return gdb.selected_inferior().read_memory(address, size).tobytes()
    except gdb.MemoryError:
        msg = f"cannot read {size} bytes at {address:#x}: the process or core file lacks them"
        raise gdb.GdbError(msg) from None


def text_of(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode(errors="replace")


def section(path: str, wanted: str) -> bytes | None:
    """A section of an ELF file; None: it has none of that name, or is no such file."""
    try:
        with Path(path).open("rb") as file:

            def at(offset: int, size: int) -> bytes:
                file.seek(offset)
                return file.read(size)

            head = at(0, 64)
            if head[:4] != b"\x7fELF":
                return None
            order, wide = "<" if head[5] == 1 else ">", head[4] == 2
            (begin,) = struct.unpack_from(order + "IQ"[wide], head, 0x28 if wide else 0x20)
            size, count, names = struct.unpack_from(f"{order}3H", head, 0x3A if wide else 0x2E)
            form = struct.Struct(order + ("I20xQQ" if wide else "I12xII"))
            table = at(begin, size * count)
            found = [form.unpack_from(table, i * size) for i in range(count)]
            texts = at(*found[names][1:])
            for name, offset, length in found:
                if texts[name:].startswith(wanted.encode() + b"\0"):
                    return at(offset, length)
    except (OSError, IndexError, struct.error):
        pass
    return None


def expand() -> None:
    """gdb 13 finds no functions by MIPS's addresses above 2 GiB, which are negative numbers for it,
    in the index that .debug_aranges is; but in symbols that it has read in full."""
    if gdb.selected_frame().architecture().name().startswith("mips"):
        gdb.execute("maint expand-symtabs", to_string=True)


class Layout:
    """The library's own table: where which field is."""

    def __init__(self) -> None:
        image = gdb.current_progspace().filename
        self.tables = section(image, SECTION) if image else None
        self.board = self.tables is not None
        self.pointer = gdb.lookup_type("unsigned long").sizeof
        big = "big endian" in gdb.execute("show endian", to_string=True)
        self.order = "big" if big else "little"
        self.form = ">" if big else "<"
        letter = "Q" if self.pointer == 8 else "I"
        head = struct.Struct(f"{self.form}8sII3{letter}II{letter}")
        try:
            self.at = 0 if self.board else address_of("pirn_debug_layout")
            fields = head.unpack(self._table(self.at, head.size))
        except (gdb.error, gdb.GdbError, struct.error):
            raise gdb.GdbError(missing()) from None
        magic, version, count, entries, self.rt, self.chunks, reasons, width, names = fields
        if magic != b"pirn-dbg":
            raise gdb.GdbError(missing())
        if version != VERSION:
            msg = (
                f"this script reads version {VERSION} of the library's table, the library has "
                f"{version}: use the pirn-gdb.py that was installed with the library"
            )
            raise gdb.GdbError(msg)
        self.entry: dict[str, tuple[int, int]] = {}
        table = self._table(entries, count * 36)
        for name, value, size in struct.iter_unpack(f"{self.form}28sII", table):
            self.entry[text_of(name)] = (value, size)
        raw = self._table(names, reasons * width)
        self.reason = [text_of(raw[i * width : (i + 1) * width]) for i in range(reasons)]
        self.library = self._library()

    def _table(self, at: int, size: int) -> bytes:
        """On boards from the file."""
        return read(at, size) if self.tables is None else self.tables[at : at + size]

    def _library(self) -> tuple[int, int] | None:
        """Where a board's image has the library; None: its symbols are not there."""
        try:
            begin, end = (address_of(name) for name in LIBRARY)
        except gdb.error:
            return None
        return begin, end

    def in_library(self, pc: int) -> bool:
        if self.board:
            at = int(unsigned(pc))
            return self.library is not None and self.library[0] <= at < self.library[1]
        return gdb.solib_name(pc) == gdb.solib_name(self.at)

    def pointers(self, at: int, count: int) -> list[int]:
        raw, size = read(at, count * self.pointer), self.pointer
        return [int.from_bytes(raw[i * size : (i + 1) * size], self.order) for i in range(count)]

    def has(self, name: str) -> bool:
        """Libraries for small boards lack some."""
        return name in self.entry

    def __getattr__(self, name: str) -> int:
        return self.entry[name][0]

    def size(self, kind: str) -> int:
        return self.entry[f"sizeof.{kind}"][0]

    def field(self, base: int, name: str) -> int:
        at, size = self.entry[name]
        return int.from_bytes(read(base + at, size), self.order)


class Record:
    """A copy of one structure."""

    def __init__(self, layout: Layout, kind: str, at: int) -> None:
        self.layout, self.kind, self.at = layout, kind, at
        self.raw = read(at, layout.size(kind))

    def __getitem__(self, field: str) -> int:
        at, size = self.layout.entry[f"{self.kind}.{field}"]
        return int.from_bytes(self.raw[at : at + size], self.layout.order)

    def text(self, field: str) -> str:
        at, size = self.layout.entry[f"{self.kind}.{field}"]
        return text_of(self.raw[at : at + size])


def address_of(name: str) -> int:
    return int(gdb.parse_and_eval(f"(unsigned long)&{name}"))


def missing() -> str:
    if gdb.selected_inferior().connection.type in ("remote", "extended-remote"):
        return (
            f"this image has no section {SECTION}, by which Pirn's threads are found: is it the "
            "board's ELF file, and linked with Pirn's board.ld?"
        )
    return (
        "this program has no Pirn runtime, or its libraries are not loaded yet: "
        "is it linked with libpirn or libpirn-pthread, and started?"
    )


def symbol(address: int) -> str:
    """`0x1234 <name>`. The address of a function of Thumb has its lowest bit set."""
    said = gdb.execute(f"info symbol {address:#x}", to_string=True)
    if " + 1 in section " in said:
        return symbol(address - 1)
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
        if layout.board:
            expand()
        self.place = "CPU" if layout.board else "worker"
        if layout.field(layout.rt, "rt.started") != 2:
            begins = "the program's first call, for instance pthread_create"
            begins = "the start of the program, before main" if layout.board else begins
            msg = f"the runtime has not started yet: it does at {begins}"
            raise gdb.GdbError(msg)
        self.lwp = {t.ptid[1]: t for t in inferior.threads()}
        at = layout.rt + layout.entry["rt.cpus"][0]
        count = layout.field(layout.rt, "rt.ncpu")
        self.cpus = [Record(layout, "cpu", one) for one in layout.pointers(at, count)]
        self.runs_on = {cpu["current"]: i for i, cpu in enumerate(self.cpus)}
        living = list(self._threads())
        self.threads = [t for t in living if not t["flags"] & layout.THREAD_IDLE]
        self.by_at = {t.at: t for t in self.threads}
        self.by_index = {t["index"]: t for t in self.threads}
        self.cores = self._cores(living) if layout.board else {}

    def _threads(self) -> Iterator[Record]:
        layout = self.layout
        per, size = 1 << layout.ID_CHUNK_BITS, layout.size("id_slot")
        for chunk in layout.pointers(layout.chunks, layout.ID_CHUNKS):
            if chunk == 0:
                break
            raw = read(chunk, per * size)
            at, pointer = layout.entry["id_slot.thread"]
            for i in range(per):
                t = int.from_bytes(raw[i * size + at :][:pointer], layout.order)
                try:
                    record = Record(layout, "thread", t) if t != 0 else None
                except gdb.GdbError as error:
                    gdb.write(f"a thread is left out: {error}\n")
                    continue
                if record is not None and record["state"] != layout.THREAD_EXITED:
                    yield record

    def _cores(self, living: list[Record]) -> dict[int, gdb.InferiorThread]:
        """The core on which a board executes a thread, by the thread: on whose stack it is. (What
        a debugger's server calls the cores differs; a core that the runtime does not use may be
        anywhere.)"""
        lows = sorted((t["port.low"], t.at) for t in living)
        found: dict[int, gdb.InferiorThread] = {}
        before = gdb.selected_thread()
        for thread in gdb.selected_inferior().threads():
            frame = innermost(thread)
            arch = arch_of(frame)
            sp = register(frame, arch.sp) if arch is not None else 0
            beneath = [t for low, t in lows if low <= sp]
            if beneath and beneath[-1] in self.runs_on:
                found[beneath[-1]] = thread
        if before is not None:
            before.switch()
        return found

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
        """The kernel thread, or the board's core, that executes t now, if any."""
        if self.layout.board:
            return self.cores.get(t.at)
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

    def label_text(self, at: int) -> str:
        """What a library says that its thread waits for: <pirn/label.h>."""
        layout = self.layout

        def text(address: int) -> str:
            kind = gdb.lookup_type("char").pointer()
            return gdb.Value(address).cast(kind).string(errors="replace")

        name, fields = (layout.field(at, f"pirn_label.{one}") for one in ("name", "fields"))
        names = text(fields).split() if fields else []
        values = read(at + layout.entry["pirn_label.values"][0], 48)
        words = [text(name)]
        for field, value in zip(names, struct.unpack(f"{layout.form}6q", values), strict=False):
            which, _, how = field.partition(":")
            if value == -(1 << 63) or (how == "s" and value == 0):
                continue
            word = value & (1 << 64) - 1
            said = "any" if value == 1 - (1 << 63) else text(word) if how == "s" else str(value)
            words.append(f"{which}={hex(word) if how == 'x' and said != 'any' else said}")
        return " ".join(words)

    def limit(self, t: Record) -> str:
        if not self.layout.has("thread.timer.armed") or not t["timer.armed"]:
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
        if reason == layout.WAIT_LABEL:
            return Waits(f"waiting for {self.label_text(what)}{self.limit(t)}", None)
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
            return f"running on {self.place} {self.runs_on[t.at]}"
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
