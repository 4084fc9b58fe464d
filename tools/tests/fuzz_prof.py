# SPDX-License-Identifier: MIT
"""Damaged profiles: each must be read, or be refused with a sentence. Never a traceback.

    python fuzz_prof.py [--files N] [--first SEED]

mutates small profiles, N of them, one after the other by their seeds; in every tenth the program
that its addresses are from is damaged instead, by turns one with compressed debug information. The
seed of one that fails repeats it. Warnings count as failures. `make fuzz-prof` reads 100,000.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from fuzzing import attempt, failures, main
from profiles import Writer, example, program, waiting

from pirn_tools.errors import UserError
from pirn_tools.prof import (
    annotate,
    blocks,
    diff,
    flame,
    flat,
    gmon,
    graph,
    model,
    pprof,
    prune,
    stat,
    tree,
    waits,
)
from pirn_tools.prof.read import Profile, load
from pirn_tools.prof.symbols import Symbols

WORDS = (
    *("0", "1", "2", "3", "7", "100", "65536", "4294967295", "9223372036854775807"),
    *("18446744073709551615", "18446744073709551616", "99999999999999999999999", "-1", "", " 1"),
    *("0x0", "0x1", "0xffffffffffffffff", "0x10000000000000000", "0x", "0xg", "1e5", "NaN", "٣"),
    *(
        "root",
        "call",
        "frame",
        "main",
        "user",
        "idle",
        "others",
        "rest",
        "wall",
        "cpu",
        "rate",
        "waits",
        "waited",
        "released",
        "mutex",
        "/dev/null",
    ),
)


def bases() -> list[str]:
    """Profiles of each kind."""
    binary = program("-no-pie")
    frames = Writer(binary)
    root = frames.root("user", "worker", name="w")
    outer = frames.node(root, "frame", "worker+9")
    for site in ("middle+8", "middle+20"):
        frames.sample(frames.node(outer, "frame", site), "leaf+2", 3)
    frames.sample(root, "worker+1", 1, cpu=-1)
    frames.add("count", "lost_calls", 3)
    frames.add("distance", 0, 10)
    frames.add("distance", 1, 4)
    bare = Writer(rate=0)
    bare.call(bare.root("foreign"), 0x1000, 0x2000, 5)
    return [example(binary).text(), frames.text(), bare.text(), waiting(binary).text()]


def mutate(text: str, chance: random.Random) -> bytes:
    """One to six mistakes; the last line is made to fit more often than not."""
    lines = text.splitlines()
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        at = chance.randrange(len(lines))
        kind = chance.randrange(8)
        if kind <= 3:
            columns = lines[at].split("\t")
            column = chance.randrange(len(columns))
            other = chance.choice(lines).split("\t")
            columns[column] = chance.choice((chance.choice(WORDS), chance.choice(other)))
            lines[at] = "\t".join(columns)
        elif kind == 4:
            lines[at] = lines[chance.randrange(len(lines))]
        elif kind == 5 and len(lines) > 1:
            del lines[at]
        elif kind == 6:
            lines.insert(at, lines.pop(chance.randrange(len(lines))))
        else:
            where = chance.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:where] + chr(chance.randrange(1, 0x250)) + lines[at][where:]
    if chance.random() < 0.7:
        lines = [line for line in lines if not line.startswith("end\t")]
        lines.append(f"end\t{len(lines)}")
    data = bytearray("\n".join([*lines, ""]).encode())
    if chance.random() < 0.2:
        for _ in range(chance.choice((1, 3))):
            data[chance.randrange(len(data))] = chance.randrange(256)
    if chance.random() < 0.05:
        del data[chance.randrange(len(data)) :]
    return bytes(data)


def damaged_program(folder: Path, chance: random.Random, *flags: str) -> bytes:
    """A profile whose program has mistakes: in its head, its tables, its debug information."""
    binary = program("-no-pie", *flags)
    data = bytearray(binary.read_bytes())
    for _ in range(chance.choice((1, 3, 10, 100))):
        at = chance.choice((chance.randrange(64), chance.randrange(len(data)), len(data) - 1))
        at = min(at, len(data) - 1)
        data[at] = chance.choice((0, 1, 127, 128, 255, chance.randrange(256)))
    if chance.random() < 0.2:
        del data[chance.randrange(len(data)) :]
    damaged = folder / "damaged"
    damaged.write_bytes(data)
    return example(binary).text().replace(str(binary), str(damaged)).encode()


def use(profile: Profile, folder: Path, chance: random.Random) -> None:
    """Runs the verbs on it."""
    stat.lines(stat.facts(profile))
    blocks.rows(blocks.compute(profile))
    merge = chance.choice(model.MERGES)
    asked, inlines = chance.random() < 0.2, chance.random() < 0.3
    selection = model.Selection(merge=merge, instrumented=asked, inlines=inlines)
    made = model.build(profile, Symbols(profile), selection)
    pruned = prune.prune(made, prune.Pruning(depth=chance.choice((None, 1)), least=0.5))
    list(tree.lines(pruned))
    tree.as_json(pruned)
    tree.path_rows(made, tree.heaviest(made))
    flat.cells(made, flat.ordered(flat.compute(made), chance.choice(flat.SORTS)))
    list(graph.dot(made, graph.compute(pruned)))
    for source in annotate.compute(made).sources:
        list(annotate.show(made, source, annotate.find(source.path, ()), None))
    if any(function.name == "middle" for function in made.functions()):
        refused(lambda: annotate.spans(made, "middle"))
    diff.cells(made, made, diff.compute(made, made))
    pprof.write(made, folder / "p.pb.gz", inlines)
    refused(lambda: flame.write(made, folder / "f.svg", "samples", 1200, "title"))
    if profile.number("waits"):
        use_waits(profile, folder, chance)
    refused(lambda: gmon.write(made, folder / "gmon.out", None))


def use_waits(profile: Profile, folder: Path, chance: random.Random) -> None:
    selection = model.Selection(of=chance.choice(model.OF[1:]))
    made = model.build(profile, Symbols(profile), selection)
    list(tree.lines(prune.prune(made, prune.Pruning())))
    flat.cells(made, flat.ordered(flat.compute(made), "own"))
    pprof.write(made, folder / "w.pb.gz")
    refused(lambda: flame.write(made, folder / "w.folded", "samples", 1200, "title"))
    found = waits.Waits(profile, made.symbols, selection)
    waits.cells(found.rows(), None)
    locks = found.locks(everything=chance.random() < 0.5)
    waits.lock_cells(locks, None)
    waits.locks_as_json(locks)
    list(waits.stack_lines(locks))


def refused(act: object) -> None:
    """Some verbs need more than a file that can be read."""
    try:
        act()  # type: ignore[operator]
    except UserError:
        return


def check(seed: int, originals: list[str], folder: Path) -> str | None:
    """The failure with one file; None: there was none."""
    chance = random.Random(seed)
    path = folder / "fuzzed.prof"
    if seed % 10:
        path.write_bytes(mutate(chance.choice(originals), chance))
    else:
        compressed = ("-gz",) if seed % 20 else ()
        path.write_bytes(damaged_program(folder, chance, *compressed))

    def says_where(error: UserError) -> bool:
        return error.message.startswith(f"{path}: line ") and error.exit_code == 2

    return attempt(lambda: use(load(path), folder, chance), says_where)


def fuzz(first: int, files: int) -> list[str]:
    """The failures."""
    originals = bases()
    return failures(lambda seed, folder: check(seed, originals, folder), first, files)


if __name__ == "__main__":
    sys.exit(main(__doc__, "profiles", fuzz))
