# SPDX-License-Identifier: MIT
"""Table 1 of `pirn bench figures mips`: the size of the kernel by policy, in the paper and here.

The bytes are those that tests/board/small/small.py has measured (docs/results/board-size.md). It
keeps them in sizes.toml.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pirn_tools.errors import UserError
from pirn_tools.figures import markdown
from pirn_tools.figures.mips_apps import PAPER_NAMES
from pirn_tools.paths import short

SOURCE = Path("tests") / "board" / "small" / "sizes.toml"
PAPER: Mapping[str, int] = {"single": 7556, "central": 9704, "dist": 10192}
PAPER_PER_CPU = {"single": 0, "central": 0, "dist": 80}
RISCV, MIPS = "pirn-soc", "malta-p5600"
BOARDS = {RISCV: "RV32IMA", MIPS: "MIPS32"}


@dataclass(frozen=True)
class Size:
    """Bytes."""

    kernel: int  # scheduler, threads, objects, POSIX layer
    port: int  # start, traps, devices
    per_cpu: int


Sizes = Mapping[tuple[str, str], Size]  # of a board and a policy


def read(root: Path) -> Sizes:
    path = root / SOURCE
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    found = {}
    for board in BOARDS:
        for policy in PAPER:
            try:
                sizes = entries[f"{board}-document-{policy}"]["sizes"]
                kernel = sizes["core"] + sizes["posix"]
                found[board, policy] = Size(kernel, sizes["port"], sizes["per_cpu"])
            except KeyError as error:
                raise UserError(f"{short(path)}: {board}, {policy}: no {error}") from None
    return found


HEAD = """\
Bytes of code and constants: the scheduler, threads, objects and the POSIX layer. The paper does not
say whether its numbers include the start, traps and devices; ours do not, and a column of their own
has them. Of the features that a library can leave out, it has only preemption, as the paper's
kernel. Instructions have 4 bytes, as in the paper. The code is compiled for size (`-Os`). The
libraries of Table 2 are larger: the small one also has deadlines, makes stacks, and is compiled for
speed. [Board size](board-size.md) says what is counted, and what makes the difference."""


def table(found: Sizes) -> str:
    head = ["organization", "policy", "in the paper, MIPS R3000"]
    for name in BOARDS.values():
        head += [f"here, {name}", "times the paper's", "start, traps, devices"]
    head += ["for each processor, in the paper", "here"]
    rows = []
    for policy, paper in PAPER.items():
        row = [PAPER_NAMES[policy], f"`{policy}`", str(paper)]
        for board in BOARDS:
            one = found[board, policy]
            row += [str(one.kernel), f"{one.kernel / paper:.1f}", str(one.port)]
        each = PAPER_PER_CPU[policy]
        row += [f"about {each}" if each else "0", str(found[RISCV, policy].per_cpu)]
        rows.append(row)
    return markdown.table(head, rows, left=(0, 1))


def verdict(found: Sizes) -> str:
    """Sizes beside the paper's, and how they grow from the first organization to the last."""
    first, *_, last = PAPER
    times = [found[RISCV, policy].kernel / paper for policy, paper in PAPER.items()]
    larger = all(one > 1 for one in times)
    paper = PAPER[last] / PAPER[first] - 1
    here = found[RISCV, last].kernel / found[RISCV, first].kernel - 1
    order = list(PAPER)
    same = sorted(order, key=lambda policy: found[RISCV, policy].kernel) == order
    return (
        f"{'Not reproduced: on the chip the kernel is' if larger else 'On the chip the kernel is'} "
        f"{min(times):.1f} to {max(times):.1f} times as large as in the paper. "
        f"{'Reproduced' if same else 'Not reproduced'}: {PAPER_NAMES[first]} is the smallest, "
        f"{PAPER_NAMES[last]} the largest. But from one to the other the kernel grows by "
        f"{here:.0%} here, by {paper:.0%} in the paper. The bytes for each processor are those of "
        "the policy's own variables. What each processor needs with any policy is in "
        "[Board size](board-size.md)."
    )


def section(root: Path) -> list[str]:
    found = read(root)
    return ["## Table 1: code size by policy", HEAD, table(found), verdict(found)]
