# SPDX-License-Identifier: MIT
"""`pirn prof gprof`: a gmon.out of one file's code, for GNU gprof.

The format is what glibc's <sys/gmon_out.h> describes: a header, then records, each behind a byte
that says what it is. A histogram has counts of 16 bits, so more than 65,535 samples in one place
are several histograms, which gprof adds up; so are arcs of more than 2^32 - 1 calls. Addresses are
those of the file, wherever it was loaded.
"""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path

from pirn_tools.binary.elf import File
from pirn_tools.errors import UserError, did_you_mean, listing
from pirn_tools.prof.model import Node, Tree

HISTOGRAM, ARC = 0, 1
VERSION = 1
BIN = 2  # bytes of code that share a count; gprof knows no finer ones
FULL = 0xFFFF
MOST_CALLS = 0xFFFFFFFF
MOST_ADDRESS = (1 << 64) - 1
LARGEST = 1 << 29  # bytes of a file


def choose(tree: Tree, wanted: str | None) -> File:
    """The file: by its path or name, else the program."""
    paths = sorted({one.path for one in tree.profile.maps if not one.path.startswith("[")})
    if wanted is None:
        wanted = tree.profile.program
    found = [path for path in paths if wanted in (path, Path(path).name)]
    if not found:
        names = [Path(path).name for path in paths]
        hint = did_you_mean(Path(wanted).name, names)
        raise UserError(
            f'no code of a file "{wanted}" in the profile{hint} (there: {listing(names)})', status=2
        )
    file = tree.symbols.file(found[0])
    if file.problem:
        raise UserError(f"{file.path} {file.problem}")
    return file


class Gmon:
    """The contents of the file."""

    def __init__(self, tree: Tree, file: File) -> None:
        self.tree = tree
        self.file = file
        self.low, self.high = file.code
        self.high += -(self.high - self.low) % BIN
        self.bins: Counter[int] = Counter()
        self.arcs: Counter[tuple[int, int]] = Counter()
        self.outside = 0  # samples in other files
        for node in tree.nodes:
            self._samples(node)
            if node.kind == "call" and node.calls:
                self._arc(node)

    def _samples(self, node: Node) -> None:
        for (_, pc), times in node.samples.items():
            found = self.tree.symbols.locate(pc)
            if found is not None and found[0] is self.file and self.low <= found[1] < self.high:
                self.bins[(found[1] - self.low) // BIN] += times
            else:
                self.outside += times

    def _arc(self, node: Node) -> None:
        function = node.function
        if function is not None and function.file is self.file and self._inside(function.start):
            caller = self._caller(node)
            self.arcs[caller if self._inside(caller) else 0, function.start] += node.calls

    def _inside(self, address: int) -> bool:
        """Whether it is in the code that the histogram is of: damaged files name other places."""
        return self.low <= address < self.high

    def _caller(self, node: Node) -> int:
        """The call's address; 0 (gprof: spontaneous) if it is in another file.

        The site of an inlined function is where the one around it was called: the caller is that.
        """
        parent = node.parent.function if node.parent is not None else None
        called_by_code = node.parent is not None and node.parent.kind != "root"
        if node.site:
            inside = self.tree.symbols.before(node.site)
            found = self.tree.symbols.locate(node.site - 1)
            callers = not called_by_code or parent is inside
            if callers and inside.known and found is not None and found[0] is self.file:
                return found[1]
        if called_by_code and parent is not None and parent.file is self.file:
            return parent.start
        return 0

    def data(self) -> bytes:
        """The file's bytes."""
        if self.high > (MOST_ADDRESS if self.file.bits == 64 else MOST_CALLS):
            raise UserError(f"{self.file.path} is damaged: its code ends at {self.high:#x}")
        rounds = max(1, -(-max(self.bins.values(), default=0) // FULL))
        pieces = sum(-(-calls // MOST_CALLS) for calls in self.arcs.values())
        if rounds * (self.high - self.low) + 20 * pieces > LARGEST:
            raise UserError(
                f"{self.tree.profile.path}: {self.bins.total():,} samples and "
                f"{self.arcs.total():,} calls are too many for a gmon.out"
            )
        order = ">" if self.file.big_endian else "<"
        word = "Q" if self.file.bits == 64 else "I"
        parts = [struct.pack(order + "4sI12x", b"gmon", VERSION)]
        parts += self._histograms(order, word)
        arc = struct.Struct(f"{order}B{word}{word}I")
        for (caller, callee), calls in sorted(self.arcs.items()):
            left = calls
            while left:
                part = min(left, MOST_CALLS)
                parts.append(arc.pack(ARC, caller, callee, part))
                left -= part
        return b"".join(parts)

    def _histograms(self, order: str, word: str) -> list[bytes]:
        count = (self.high - self.low) // BIN
        head = struct.pack(
            f"{order}B{word}{word}II15sc",
            HISTOGRAM,
            self.low,
            self.high,
            count,
            self.tree.profile.rate or 100,  # without samples there is nothing to divide by it
            b"seconds",
            b"s",
        )
        parts: list[bytes] = []
        left = dict(self.bins)
        while left or not parts:
            counts = bytearray(2 * count)
            for place, times in left.items():
                struct.pack_into(order + "H", counts, 2 * place, min(times, FULL))
            left = {place: times - FULL for place, times in left.items() if times > FULL}
            parts += [head, bytes(counts)]
        return parts


def write(tree: Tree, output: Path, wanted: str | None) -> str:
    """Writes it; what is in it, in words."""
    gmon = Gmon(tree, choose(tree, wanted))
    output.write_bytes(gmon.data())
    inside = gmon.bins.total()
    said = f"{inside:,} samples and {gmon.arcs.total():,} calls of {gmon.file.path}"
    if gmon.outside:
        said += f"; {gmon.outside:,} samples are in other files (--object)"
    return said
