# SPDX-License-Identifier: MIT
"""Damaged traces: each must be read, or be refused with a sentence. Never a traceback.

    python fuzz_trace.py [--files N] [--first SEED]

mutates small traces, N of them, one after the other by their seeds; the seed of one that fails
repeats it. Warnings count as failures. `make fuzz-trace` runs 100,000.
"""

from __future__ import annotations

import io
import random
import struct
import sys
from pathlib import Path

from fuzzing import attempt, failures, main
from synthetic import play

from pirn_tools.trace import diff, export_chrome, export_csv, export_vcd, loads, report
from pirn_tools.trace.model import Model, build
from pirn_tools.trace.plot import Window, subjects
from pirn_tools.trace.read import load
from pirn_tools.trace.stat import compute

NUMBERS = (
    0,
    1,
    2,
    3,
    8,
    255,
    256,
    1 << 16,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    1 << 62,
    (1 << 64) - 1,
)


def bases() -> list[bytes]:
    """Traces of each kind: part full, gone round, stopped, crashed, paused."""
    made = []
    for cpus, events, keeps_oldest, ended in (
        (2, 400, False, True),
        (1, 3000, False, True),
        (2, 3000, True, True),
        (3, 900, False, False),
    ):
        writer, _ = play(cpus, 6, events, events, 512, 64, keeps_oldest)
        made.append(writer.bytes(ended))
    for what in ("pause", "resume", "", "pause"):  # on with the last one
        for cpu in range(3):
            writer.now += 1000
            writer.switch(cpu, cpu, "block")
        if what:
            writer.anywhere(1, what)
    made.append(writer.bytes())
    return made


def places(data: bytes) -> list[tuple[int, int]]:
    """Where damage is worth the most: header, rings, text, the beginnings of each ring's data."""
    cpus = struct.unpack_from("<I", data, 20)[0]
    rings = 128 + 64 * (2 * cpus + 1)
    text, size = struct.unpack_from("<QQ", data, 40)
    found = [(0, 128), (128, rings), (text, text + size)]
    for at in range(128, rings, 64):
        begin = struct.unpack_from("<Q", data, at + 24)[0]
        found += [(begin, begin + 64), (begin, min(begin + 4096, len(data)))]
    return found


def mutate(data: bytes, chance: random.Random) -> bytes:
    """One to six mistakes."""
    out = bytearray(data)
    spots = places(data)
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        first, last = chance.choice([*spots, (0, len(data))])
        at = chance.randrange(first, max(first + 1, last)) % max(1, len(out))
        kind = chance.randrange(6)
        if not out:
            break
        if kind == 0:
            out[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            out[at] = chance.randrange(256)
        elif kind == 2:
            width = chance.choice((1, 2, 4, 8))
            value = chance.choice(NUMBERS) & ((1 << 8 * width) - 1)
            at -= at % width
            out[at : at + width] = value.to_bytes(width, "little")
        elif kind == 3:
            source = chance.randrange(len(out))
            length = chance.choice((1, 4, 16, 64, 256))
            out[at : at + length] = out[source : source + length]
        elif kind == 4:
            out[at : at + 16] = chance.randbytes(16)
        elif chance.random() < 0.3:
            del out[at:]
        else:
            out[at] ^= 0xFF
    return bytes(out)


def use(model: Model, thorough: bool) -> None:
    """Runs the verbs on it, without the pictures."""
    compute(model)
    if thorough:
        for one in (export_csv, export_chrome, export_vcd):
            one.write(model, io.StringIO())
        report.page(model)
        diff.compare(model, model)
        subjects(model)
        loads.cpu_loads(model)
        Window(0, max(1, model.end))


def check(seed: int, originals: list[bytes], folder: Path) -> str | None:
    """The failure with one file; None: there was none."""
    chance = random.Random(seed)
    path = folder / "fuzzed.pirn"
    path.write_bytes(mutate(chance.choice(originals), chance))
    return attempt(
        lambda: use(build(load(path)), chance.random() < 0.1),
        lambda error: error.message.startswith(str(path)),
    )


def fuzz(first: int, files: int) -> list[str]:
    """The failures."""
    originals = bases()
    return failures(lambda seed, folder: check(seed, originals, folder), first, files)


if __name__ == "__main__":
    sys.exit(main(__doc__, "traces", fuzz))
