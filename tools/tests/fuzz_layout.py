# SPDX-License-Identifier: MIT
"""Processes whose data are damaged on purpose: `pirn ps`, `dump` and `top` must show them, or
refuse them with a sentence. Never a traceback, a control character, or more than the limits.

    python fuzz_layout.py [--files N] [--first SEED]

mutates the memory of a process that is made up (foreign.py), N times, one after the other by their
seeds: the library's table, the runtime's data, the threads; in every tenth the library's file, too.
The seed of one that fails repeats it. `make fuzz-layout` does 100,000.
"""

from __future__ import annotations

import io
import random
import resource
import sys
import time
from contextlib import closing
from pathlib import Path

import foreign
from foreign import Foreign, Image
from fuzzing import attempt, failures, main
from rich.console import Console

from pirn_tools.errors import UserError
from pirn_tools.live import cli, tables, top
from pirn_tools.live.dump import Dump
from pirn_tools.live.snapshot import Runtime

SECONDS = 2.0  # of CPU time for one; what is beyond the commands' limit is for leaving
SLOWER = 3  # so much slower may this machine be at leaving
MEMORY = 256 << 10  # KiB, of the whole process
NUMBERS = (
    *(0, 1, 2, 3, 7, 8, 63, 64, 255, 4095, 4096, 4097, 65535, 1 << 16, 1 << 20, 1 << 24),
    *((1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 47, (1 << 63) - 1, 1 << 63),
    (1 << 64) - 1,
)
PLACES = (
    *(foreign.TABLE, foreign.RT, foreign.CPUS, foreign.CARRIERS, foreign.CHUNKS, foreign.CHUNK),
    *(foreign.THREADS, foreign.OBJECTS, foreign.STACKS, foreign.descriptor(4), foreign.BIAS),
    *(foreign.ZEROES, foreign.ONES, foreign.ITSELF, foreign.SLOTS, foreign.CROWD),
)
NAMES = (b"\x1b]0;owned\x07\x1b[2J", b"\xff" * 64, "\u202ename".encode(), b"\n\r\t\x00", b"x" * 64)


class Costs:
    """Of the dearest so far."""

    seconds = 0.0


def number(chance: random.Random) -> int:
    return chance.choice((chance.choice(NUMBERS), chance.choice(PLACES), chance.getrandbits(64)))


def mutate(image: Image, chance: random.Random) -> None:
    """One mistake; none in what an earlier one has taken away."""
    kind = chance.randrange(8)
    table = len(image.pieces[foreign.TABLE]) >= 36 and len(image.pieces[image.table_at]) >= 56
    if kind <= 3 and not table:
        return
    if kind <= 2:  # an entry of the table
        rows = image.pieces[foreign.TABLE]
        at = chance.randrange(len(rows) // 36) * 36
        field = chance.choice((at + 28, at + 28, at + 32))
        rows[field : field + 4] = (number(chance) & 0xFFFFFFFF).to_bytes(4, "little")
        if chance.random() < 0.1:
            rows[at] = chance.randrange(256)
    elif kind == 3:  # its head
        head = image.pieces[image.table_at]
        at, size = chance.choice(((8, 4), (12, 4), (16, 8), (24, 8), (32, 8), (40, 4), (44, 4)))
        head[at : at + size] = (number(chance) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    elif kind <= 5:  # a word of the data
        raw = image.pieces[chance.choice([at for at in image.pieces if at != foreign.TABLE])]
        at = chance.randrange(len(raw) // 8 + 1) * 8
        raw[at : at + 8] = number(chance).to_bytes(8, "little")
    elif kind == 6:  # a name
        at, _ = foreign.entries()["thread.name"]
        word = chance.choice((*NAMES, chance.randbytes(16)))
        raw = image.pieces[foreign.descriptor(chance.randrange(12))]
        raw[at : at + 16] = word[:16].ljust(16, b"x")
    else:  # one of the pieces is not there, or is another one
        at = chance.choice(list(image.pieces))
        other = image.pieces[chance.choice(list(image.pieces))]
        image.put(at, bytes(other) if chance.random() < 0.5 else b"")


def damaged_file(folder: Path, chance: random.Random) -> Path:
    data = bytearray(foreign.library().read_bytes())
    for _ in range(chance.choice((1, 3, 10, 100))):
        at = chance.choice((chance.randrange(64), chance.randrange(len(data)), len(data) - 1))
        data[min(at, len(data) - 1)] = chance.choice((0, 1, 127, 128, 255, chance.randrange(256)))
    if chance.random() < 0.2:
        del data[chance.randrange(len(data)) :]
    path = folder / "damaged.so"
    path.write_bytes(data)
    return path


def use(process: Foreign, chance: random.Random) -> str:
    """The output of the commands, with the limits that users have."""
    out = Console(file=io.StringIO(), width=200, highlight=False, markup=False, emoji=False)
    with cli.limited(process.pid, cli.LIMIT):
        runtime = Runtime(process, cli.allowance(cli.LIMIT))
        before = runtime.look()
        out.print(tables.heading(runtime, before))
        out.print(tables.cpus_table(before))
        rows = tables.in_order(tables.rows(runtime, before), tables.COLUMNS[0])
        tables.print_text(out, tables.threads_text(rows, tables.columns(top=False)))
        for line in Dump(runtime, before).lines():
            out.print(line, soft_wrap=True)
        view = top.View(chance.randrange(len(tables.COLUMNS)), chance.random() < 0.5)
        out.print(view.draw(runtime, runtime.look(), before, 24))
    assert isinstance(out.file, io.StringIO)
    with closing(out.file):
        return out.file.getvalue()


def clear(text: str) -> bool:
    return text.replace("\n", "").isprintable()


def well_said(error: UserError) -> bool:
    return f"process {foreign.PID}" in error.message and clear(error.message)


def check(seed: int, folder: Path) -> str | None:
    """The failure of one; None: there was none."""
    chance = random.Random(seed)
    crowd = chance.random() < 0.0005
    image = foreign.crowded(chance.choice((1, 4, 8192))) if crowd else foreign.whole()
    for _ in range(0 if crowd else chance.choice((1, 1, 2, 3, 6, 20))):
        mutate(image, chance)
    file = damaged_file(folder, chance) if seed % 10 == 0 else None
    shown: list[str] = []
    start = time.process_time()
    problem = attempt(lambda: shown.append(use(Foreign(image, file), chance)), well_said)
    took = time.process_time() - start
    Costs.seconds = max(Costs.seconds, took)
    if problem is None and took > SECONDS * SLOWER:
        return f"took {took:.1f} s of CPU time"
    if problem is None and not all(map(clear, shown)):
        return f"control characters: {shown[0]!r}"
    return problem


def peak() -> int:
    """KiB that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def fuzz(first: int, files: int) -> list[str]:
    """The failures."""
    return failures(check, first, files)


def run(first: int, files: int) -> list[str]:
    """The same, with what they cost."""
    found = fuzz(first, files)
    print(f"the dearest took {Costs.seconds:.2f} s of CPU time; {peak() >> 10} MiB at most")
    return found + ([f"{peak()} KiB of memory"] if peak() > MEMORY else [])


if __name__ == "__main__":
    sys.exit(main(__doc__, "processes", run))
