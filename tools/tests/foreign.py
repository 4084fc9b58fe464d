# SPDX-License-Identifier: MIT
"""A process that is made up: its memory, the library's table and the runtime's data in it."""

from __future__ import annotations

import functools
import os
import struct
from collections.abc import Callable
from pathlib import Path

from profiles import program

from pirn_tools.binary import names
from pirn_tools.binary.layout import ENTRY, HEAD, SYMBOL
from pirn_tools.live.labels import ANY, NONE
from pirn_tools.live.process import Mapping, Process

PID = 4242
BIAS = 0x7F00_0000_0000
TABLE, RT, CPUS, CARRIERS = 0x10000, 0x30000, 0x40000, 0x50000
CHUNKS, CHUNK, THREADS, OBJECTS, STACKS = 0x60000, 0x70000, 0x80000, 0x90000, 0xA0000
ZEROES, ONES, ITSELF = 1 << 44, 2 << 44, 3 << 44  # without end: so many bytes
SLOTS, CROWD = 4 << 44, 5 << 44  # a table of threads without end, and they
ENDLESS = 1 << 44
APART = 0x400  # one descriptor from the next
REASONS = (
    "nothing",
    "mutex",
    "rwlock to read",
    "rwlock to write",
    "end",
    "sleep",
    "descriptor",
    "label",
)
VALUES = {
    "ID_CHUNK_BITS": 4,
    "ID_CHUNKS": 8,
    "SCHED_WEIGHT_SHIFT": 8,
    "SCHED_WEIGHT_DEFAULT": 10,
    "THREAD_NEW": 0,
    "THREAD_READY": 1,
    "THREAD_RUNNING": 2,
    "THREAD_BLOCKED": 3,
    "THREAD_IDLE": 1,
    "THREAD_MAIN": 2,
    "THREAD_FOREIGN": 4,
    "TIMES_BIT": 1,
    "WAIT_MUTEX": 1,
    "WAIT_RDLOCK": 2,
    "WAIT_WRLOCK": 3,
    "WAIT_JOIN": 4,
    "WAIT_SLEEP": 5,
    "WAIT_IO": 6,
    "WAIT_LABEL": 7,
    "SCHED_CLASS_FIFO": 1,
    "SCHED_CLASS_RR": 2,
    "SCHED_CLASS_MASK": 3,
    "OM_ROBUST": 16,
    "OM_INHERIT": 32,
    "OM_PROTECT": 64,
    "OM_OWNER": 0x3FFFFFFF,
}
WIDE = {
    "pirn_label.values": 48,
    "rt.cpus": 64,
    "thread.name": 16,
    "thread.port": 8,
    "port_carrier.times": 8,
}


@functools.cache
def library() -> Path:
    """An ELF file with the table's symbol; its functions are of no use, but they are there."""
    text = f"char {SYMBOL}[64];\nint leaf(int n) {{ return n + {SYMBOL}[0]; }}\n"
    return program("-shared", "-fPIC", text=text)


@functools.cache
def symbol() -> int:
    """The address of the table in the file."""
    from elftools.elf.elffile import ELFFile

    with library().open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".dynsym")
        return int(table.get_symbol_by_name(SYMBOL)[0]["st_value"])


@functools.cache
def entries() -> dict[str, tuple[int, int]]:
    """The table as a library might have it: the fields of each structure one behind the other."""
    found: dict[str, tuple[int, int]] = {}
    ends: dict[str, int] = {}
    fields = (*names.PLACES, *names.FIELDS, *names.TIMES_PLACES, *names.TIMES, *names.OPTIONAL)
    for name in fields:
        kind = name.partition(".")[0]
        at = ends.get(kind, 0)
        found[name] = at, WIDE.get(name, 8)
        ends[kind] = at + WIDE.get(name, 8)
    for kind in names.SIZES:
        found[f"sizeof.{kind}"] = ends[kind] + 64, 0
    found.update({name: (value, 0) for name, value in VALUES.items()})
    return found


class Image:
    """Memory: pieces at addresses."""

    def __init__(self) -> None:
        self.pieces: dict[int, bytearray] = {}
        self.table_at = BIAS + symbol()

    def put(self, at: int, raw: bytes) -> None:
        self.pieces[at] = bytearray(raw)

    def structure(self, kind: str, at: int, **fields: int | bytes) -> None:
        """At that address, with these fields; dots of their names are two lines here."""
        table = entries()
        raw = bytearray(table.get(f"sizeof.{kind}", (256, 0))[0])
        for name, value in fields.items():
            offset, size = table[f"{kind}.{name.replace('__', '.')}"]
            data = value if isinstance(value, bytes) else value.to_bytes(size, "little")
            raw[offset : offset + len(data)] = data
        self.put(at, bytes(raw))


def thread(image: Image, index: int, state: str, **fields: int | bytes) -> None:
    """With its descriptor at a place of its own."""
    at = THREADS + index * APART
    given: dict[str, int | bytes] = {
        "index": index,
        "generation": 1,
        "state": VALUES[f"THREAD_{state}"],
        "cpu": CPUS,
        "ctx__sp": STACKS,
        "ctx__pc": BIAS + 0x1100,
        "stack_top": STACKS + 0x1000,
        "start": BIAS,
        "name": b"thread-%d" % index,
        **fields,
    }
    image.structure("thread", at, **given)


def descriptor(index: int) -> int:
    return THREADS + index * APART


def whole() -> Image:
    """Two CPUs, threads in each state."""
    image = Image()
    text = b"".join(word.encode().ljust(20, b"\0") for word in REASONS)
    table = entries()
    rows = [ENTRY.pack(name.encode(), *numbers) for name, numbers in table.items()]
    head = (b"pirn-dbg", 1, len(rows), TABLE, RT, CHUNKS, len(REASONS), 20, TABLE + 0x8000)
    image.put(image.table_at, HEAD.pack(*head))
    image.put(TABLE, b"".join(rows))
    image.put(TABLE + 0x8000, text)
    image.put(TABLE + 0x9000, b"steal".ljust(16, b"\0"))
    cpus = struct.pack("<2Q", CPUS, CPUS + 0x1000).ljust(64, b"\0")
    image.structure("rt", RT, started=2, ncpu=2, cpus=cpus, policy__name=TABLE + 0x9000, start_ns=1)
    for i in range(2):
        current = descriptor(2 if i == 0 else i)  # the other one idles
        here = {"current": current, "idle": descriptor(i), "carrier": CARRIERS + i * 512}
        image.structure("cpu", CPUS + i * 0x1000, **here, port__cpus=1, stats__switches=9)
        image.structure("carrier", CARRIERS + i * 512, port__tid=PID + i)
    _threads(image)
    slots = b"".join(
        descriptor(i).to_bytes(8, "little").ljust(table["sizeof.id_slot"][0], b"\0")
        if i < 13
        else bytes(table["sizeof.id_slot"][0])
        for i in range(16)
    )
    image.put(CHUNK, slots)
    image.put(CHUNKS, struct.pack("<Q", CHUNK).ljust(64, b"\0"))
    image.put(STACKS, struct.pack("<512Q", *(STACKS + 8 * i for i in range(512))))
    return image


def _threads(image: Image) -> None:
    for i in range(2):
        thread(image, i, "RUNNING", flags=VALUES["THREAD_IDLE"])
    thread(image, 2, "RUNNING")
    thread(image, 3, "RUNNING", carrier=CARRIERS + 512, port__used=5, port__timed_on=CARRIERS)
    blocked = functools.partial(thread, image, state="BLOCKED")
    mutexes = [OBJECTS, OBJECTS + 0x100, OBJECTS + 0x200]
    blocked(index=4, wait_reason=VALUES["WAIT_MUTEX"], wait_object=mutexes[0])
    blocked(index=5, wait_reason=VALUES["WAIT_MUTEX"], wait_object=mutexes[1])
    blocked(index=6, wait_reason=VALUES["WAIT_SLEEP"], timer__armed=1, timer__deadline=10**15)
    blocked(index=7, wait_reason=VALUES["WAIT_JOIN"], wait_object=descriptor(6))
    blocked(index=8, wait_reason=VALUES["WAIT_IO"], wait_object=OBJECTS + 0x300)
    blocked(index=9, wait_reason=VALUES["WAIT_RDLOCK"], wait_object=OBJECTS + 0x400)
    thread(image, 10, "READY", priority=7, sched__attr=VALUES["SCHED_CLASS_FIFO"])
    thread(image, 11, "BLOCKED", flags=VALUES["THREAD_FOREIGN"], port__tid=PID + 5)
    blocked(index=12, wait_reason=VALUES["WAIT_LABEL"], wait_object=OBJECTS + 0x900)
    words = b"MPI_Recv\0source tag:x comm:s bytes\0world\0"
    image.put(OBJECTS + 0xA00, words.ljust(512, b"\0"))
    values = struct.pack("<6q", ANY, 255, OBJECTS + 0xA00 + words.index(b"world"), NONE, 5, 5)
    fields = OBJECTS + 0xA00 + words.index(b"source")
    image.structure(
        "pirn_label", OBJECTS + 0x900, name=OBJECTS + 0xA00, fields=fields, values=values
    )
    image.structure("rt_mutex", mutexes[0], owner=descriptor(5))
    image.structure("rt_mutex", mutexes[1], owner=descriptor(4))
    image.structure("rt_omutex", mutexes[2], word=4)
    image.structure("io_waiter", OBJECTS + 0x300, io=OBJECTS + 0x500, n=3)
    image.structure("rt_rwlock", OBJECTS + 0x400, owner_hint=5)
    image.put(OBJECTS + 0x500, bytes(range(256)) * 3)


LINKS = (
    *(
        "pipe:[7]",
        "socket:[8]",
        "socket:[99999999999999999999]",
        "socket:[]",
        "anon_inode:[eventfd]",
    ),
    *("/a\x1b[2Jb\u202e" + "/x" * 4000, "", "pipe:[7", "anon_inode:\x07", "/ok (deleted)"),
)
SOCKETS = (
    "   0: 0100007F:1F90 00000000:0000 0A 0 0 0 0 0 8 1",
    "   1: zz:1F90 0100007F:: 01 0 0 0 0 0 8 1",
    "   2: 01 02",
    "0000: 2 0 0 1 1 8 /run/\x1b[2J",
    "\x1b",
)


class Foreign(Process):
    """The process: its memory is the image, its only file the library, or what stands for it."""

    def __init__(self, image: Image, file: Path | None = None) -> None:
        self.pid, self.image, self.file = PID, image, file or library()
        self.regions: dict[int, Callable[[int, int], bytes]] = {
            ZEROES: lambda _, size: bytes(size),
            ONES: lambda _, size: b"\xff" * size,
            ITSELF: _pointers_to_itself,
            SLOTS: _slots,
            CROWD: self._crowd,
        }

    def _pread(self, size: int, address: int) -> bytes:
        for at, raw in self.image.pieces.items():
            if at <= address < at + len(raw):
                return bytes(raw[address - at : address - at + size]).ljust(size, b"\0")
        for at, region in self.regions.items():
            if at <= address < at + ENDLESS - size:
                return region(address, size)
        raise OSError

    def _crowd(self, address: int, size: int) -> bytes:
        """Threads without number; each has its own index."""
        at, _ = entries()["thread.index"]
        raw = bytearray(self.image.pieces[descriptor(4)])
        raw[at : at + 4] = ((address - CROWD) // APART & 0xFFFFFFFF).to_bytes(4, "little")
        return bytes(raw[:size])

    def lives(self) -> bool:
        return True

    def command(self) -> str:
        return "made-up"

    def mappings(self) -> list[Mapping]:
        size = self.file.stat().st_size
        return [Mapping(BIAS, BIAS + size, 0, True, "00:00", 1, "/lib/libpirn-pthread.so.0")]

    def file_of(self, mapping: Mapping) -> int:
        return os.open(self.file, os.O_RDONLY)

    def tasks(self) -> set[int]:
        return {PID, PID + 1, PID + 5}

    def cpu_time(self, tid: int) -> int | None:
        return tid * 1000

    def link(self, name: str) -> str:
        number = int(name.removeprefix("fd/"))
        return LINKS[number % len(LINKS)]

    def descriptors(self) -> list[int]:
        return list(range(2 * len(LINKS)))

    def open_mode(self, number: int) -> int:
        return number % 3 - 1

    def table(self, name: str, most: int) -> str:
        return f"{name}\n" + "\n".join(SOCKETS)

    def call(self, tid: int) -> tuple[int, int] | None:
        return tid % 300, tid

    def registers(self, tid: int) -> tuple[int, int] | None:
        return STACKS, BIAS + 0x1100


def _pointers_to_itself(address: int, size: int) -> bytes:
    return (ITSELF.to_bytes(8, "little") * (size // 8 + 2))[address % 8 : address % 8 + size]


def _slots(address: int, size: int) -> bytes:
    """Chunks of slots one behind the other: slot n has thread n of the crowd. As the table of the
    chunks it has pointers to them."""
    step = entries()["sizeof.id_slot"][0]
    first = (address - SLOTS) // step
    count = size // step + 1
    found = ((CROWD + (first + i) * APART).to_bytes(8, "little") for i in range(count))
    return b"".join(one.ljust(step, b"\0") for one in found)[:size]


def crowded(chunks: int) -> Image:
    """So many chunks of 16,384 threads."""
    image = whole()
    step = entries()["sizeof.id_slot"][0]
    bits = 14
    row = list(entries()).index("ID_CHUNK_BITS") * ENTRY.size
    image.pieces[TABLE][row : row + ENTRY.size] = ENTRY.pack(b"ID_CHUNK_BITS", bits, 0)
    row = list(entries()).index("ID_CHUNKS") * ENTRY.size
    image.pieces[TABLE][row : row + ENTRY.size] = ENTRY.pack(b"ID_CHUNKS", chunks, 0)
    places = (SLOTS + (step << bits) * i for i in range(chunks))
    image.put(CHUNKS, b"".join(place.to_bytes(8, "little") for place in places))
    return image
