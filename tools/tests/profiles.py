# SPDX-License-Identifier: MIT
"""Profiles for tests, written by hand: their addresses are those of a small program built here."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from elftools.elf.elffile import ELFFile

from pirn_tools.cli import main
from pirn_tools.prof.model import Selection, Tree, build
from pirn_tools.prof.read import load
from pirn_tools.prof.symbols import Symbols

needs_cc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
NOINLINE = "__attribute__((noinline, noclone))"

SOURCE = f"""\
volatile int sink;

{NOINLINE} void leaf(int n)
{{
    for (int i = 0; i < n; i++)
        sink += i;
}}

{NOINLINE} static void plain(int n)
{{
    sink += n;
}}

{NOINLINE} void middle(int n)
{{
    leaf(n);
    plain(n);
    leaf(2 * n);
    sink++;
}}

{NOINLINE} int again(int n)
{{
    if (n == 0)
        return 1;
    return again(n - 1) + sink;
}}

{NOINLINE} void *worker(void *n)
{{
    middle(5);
    again(9);
    return n;
}}

int main(void)
{{
    middle(3);
    worker(0);
    return 0;
}}
"""


@functools.cache
def folder() -> Path:
    """Of what is built; gone with the tests."""
    return Path(tempfile.mkdtemp(prefix="pirn-prof-test-"))


@functools.cache
def program(*flags: str, text: str = SOURCE, suffix: str = ".c") -> Path:
    """The program; the same flags give the same file."""
    number = len(list(folder().iterdir()))
    source = folder() / f"calls{number}{suffix}"
    source.write_text(text)
    output = source.with_suffix("")
    compiler = "g++" if suffix == ".cc" else "gcc"
    subprocess.run([compiler, "-g", "-O1", *flags, source, "-o", output], check=True)
    return output


class Writer:
    """Makes a profile line by line."""

    def __init__(self, binary: Path | None = None, bias: int = 0, rate: int = 100) -> None:
        self.lines = ["pirn-profile\t1", f"meta\trate\t{rate}", "meta\tclock\tcpu"]
        self.bias = bias
        self.address: dict[str, int] = {}
        self.size: dict[str, int] = {}
        self.last = 0
        if binary is not None:
            self._program(binary)

    def _program(self, binary: Path) -> None:
        self.lines.append(f"meta\tprogram\t{binary}")
        with binary.open("rb") as stream:
            elf = ELFFile(stream)
            for one in elf.iter_segments():
                if one["p_type"] == "PT_LOAD" and one["p_flags"] & 1:
                    # As the kernel maps it: whole pages.
                    start = (one["p_vaddr"] & -4096) + self.bias
                    end = (one["p_vaddr"] + one["p_memsz"] + 4095 & -4096) + self.bias
                    offset = one["p_offset"] & -4096
                    self.lines.append(f"map\t{start:#x}\t{end:#x}\t{offset:#x}\t{binary}")
            for symbol in elf.get_section_by_name(".symtab").iter_symbols():
                if symbol["st_info"]["type"] in ("STT_FUNC", "STT_OBJECT"):
                    self.address[symbol.name] = symbol["st_value"] + self.bias
                    self.size[symbol.name] = symbol["st_size"]

    def at(self, where: str | int) -> int:
        """An address: `leaf`, `leaf+3`, or as it is."""
        if isinstance(where, int):
            return where
        name, _, offset = where.partition("+")
        return self.address[name] + int(offset or 0)

    def node(
        self, parent: int, kind: str, function: str | int, site: str | int = 0, calls: int = 0
    ) -> int:
        self.last += 1
        self.lines.append(
            f"node\t{self.last}\t{parent}\t{kind}\t{self.at(function):#x}\t{self.at(site):#x}\t{calls}"
        )
        return self.last

    def root(
        self,
        kind: str = "main",
        start: str | int = 0,
        index: int = 2,
        name: str = "",
        many: int = 1,
    ) -> int:
        node = self.node(0, "root", start)
        self.lines.append(f"thread\t{node}\t{kind}\t{index}\t1\t{many}\t{name}")
        return node

    def call(self, parent: int, function: str | int, site: str | int, calls: int = 1) -> int:
        return self.node(parent, "call", function, site, calls)

    def sample(self, node: int, pc: str | int, times: int = 1, cpu: int = 0) -> None:
        self.lines.append(f"sample\t{cpu}\t{node}\t{self.at(pc):#x}\t{times}")

    def wait(
        self,
        node: int,
        reason: str,
        thing: int,
        pc: str | int,
        times: int,
        waited: int,
        ready: int = 0,
        kind: str = "waited",
    ) -> None:
        longest = waited + ready
        where = f"{thing:#x}\t{node}\t{self.at(pc):#x}"
        self.lines.append(f"wait\t{kind}\t{reason}\t{where}\t{times}\t{waited}\t{ready}\t{longest}")

    def add(self, *columns: object) -> None:
        self.lines.append("\t".join(map(str, columns)))

    def text(self) -> str:
        return "\n".join([*self.lines, f"end\t{len(self.lines)}"]) + "\n"

    def save(self, path: Path) -> Path:
        path.write_text(self.text())
        return path


def example(binary: Path, bias: int = 0) -> Writer:
    """Two workers and main; 100 samples.

    main: middle (10 own + plain 5), leaf (20), worker's frame: again, recursive (6, 4).
    """
    w = Writer(binary, bias)
    main_root = w.root("main", "main")
    main_node = w.call(main_root, "main", 0)
    middle = w.call(main_node, "middle", "main+9", 1)
    leaf_a = w.call(middle, "leaf", "middle+8", 1)
    leaf_b = w.call(middle, "leaf", "middle+20", 1)
    w.sample(middle, "middle+4", 10)
    w.sample(middle, "plain+1", 5, cpu=1)
    w.sample(leaf_a, "leaf+4", 15)
    w.sample(leaf_b, "leaf+4", 5)
    for index, name in ((3, "first"), (4, "second")):
        root = w.root("user", "worker", index, name)
        worker = w.call(root, "worker", 0)
        below = w.call(worker, "middle", "worker+9", 2)
        leaf = w.call(below, "leaf", "middle+8", 2)
        again = w.call(worker, "again", "worker+19", 3)
        deeper = w.call(again, "again", "again+15", 27)
        w.sample(worker, "worker+2", 1, cpu=1)
        w.sample(leaf, "leaf+4", 14, cpu=1)
        w.sample(again, "again+3", 6, cpu=1)
        w.sample(deeper, "again+3", 4, cpu=1)
    idle = w.root("idle", index=0)
    w.sample(idle, 0x10, 15)
    return w


def waiting(binary: Path, bias: int = 0) -> Writer:
    """Waits of main and two workers: 1 s for the lock `sink`, of which main waits 0.2; 0.5 s
    asleep, 0.3 s of that for a CPU; 0.1 s for a semaphore that has no name."""
    w = Writer(binary, bias)
    w.lines.append("meta\twaits\t1")
    lock = w.address["sink"]
    main_root = w.root("main", "main")
    main_node = w.node(main_root, "frame", "main+9")
    w.wait(main_node, "mutex", lock, "middle+4", 2, 200_000_000)
    w.wait(main_node, "mutex", lock, "middle+4", 8, 800_000_000, kind="released")
    w.sample(main_node, "middle+4", 7)
    worker = w.root("user", "worker", 3, "first")
    outer = w.node(worker, "frame", "worker+9")
    inner = w.node(outer, "frame", "middle+8")
    w.wait(inner, "mutex", lock, "leaf+2", 8, 800_000_000)
    w.wait(inner, "mutex", lock, "leaf+2", 2, 200_000_000, kind="released")
    w.wait(outer, "sleep", 0, "plain+1", 5, 200_000_000, 300_000_000)
    other = w.root("user", "worker", 4, "second")
    w.wait(other, "sem", 0x7F0000001000, "leaf+2", 1, 100_000_000)
    w.wait(other, "yield", 0, 0, 3, 0, 50_000_000)
    return w


def tree(path: Path, selection: Selection | None = None) -> Tree:
    profile = load(path)
    return build(profile, Symbols(profile), selection)


def prof(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["prof", *map(str, arguments)])
