#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts how long operations keep interrupts out and hold locks, on a board under QEMU.

    .venv/bin/python bench/run_sections.py [--publish]

The board is riscv64-virt, whose library is built for it (PIRN_SECTIONS) in
build/riscv64-virt/sections by `make board-sections`. Writes into results/: board-sections.md. With
--publish also docs/BOARD-SECTIONS.md, between its two marks.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
from pathlib import Path

from harness import page, session
from harness.tables import markdown
from pirn_tools import paths
from pirn_tools.errors import UserError

BOARD = "riscv64-virt"
ORGANIZATIONS = ("single", "central", "dist", "steal", "request", "steal:discipline=posix")
CORES = (1,)  # see the page for why not more
NS = 8  # an instruction under `pirn board run --icount`
COUNTS = {"off": "interrupts are out", "held": "a lock is held"}


def count(root: Path, program: Path, organization: str, cores: int) -> list[dict[str, str]]:
    command = [
        str(root / ".venv/bin/pirn"), "board", "run", "--icount", "--timeout", "300",
        "--cpus", str(cores), BOARD, str(program), str(NS),
    ]  # fmt: skip
    settings = {"PIRN_SCHED": organization, "PIRN_SPIN": "0", "PIRN_PREEMPT": "1"}
    done = subprocess.run(
        command, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise UserError(
            f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return list(csv.DictReader(done.stdout.splitlines()))


def report(counts: dict[tuple[str, int], list[dict[str, str]]]) -> str:
    parts = ["# The longest sections of operations on boards", ""]
    for cores in CORES:
        for kind, title in COUNTS.items():
            head = ["operation", *(f"`{name}`" for name in ORGANIZATIONS)]
            first = counts[ORGANIZATIONS[0], cores]
            rows = [
                [row["operation"], *(counts[name, cores][i][kind] for name in ORGANIZATIONS)]
                for i, row in enumerate(first)
            ]
            plural = "s" * (cores > 1)
            parts += [f"### {cores} core{plural}: {title}", "", markdown(head, rows), ""]
    return "\n".join(parts)


def run() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--publish", action="store_true", help="into docs/BOARD-SECTIONS.md, too")
    options = parser.parse_args()
    root = paths.project()
    program = root / "build" / BOARD / "sections/bench/board/sections.elf"
    if not program.exists():
        raise UserError(f"there is no {paths.short(program)}; `make board-sections` builds it")
    counts = {(o, n): count(root, program, o, n) for o in ORGANIZATIONS for n in CORES}
    output = root / "results"
    output.mkdir(parents=True, exist_ok=True)
    text = report(counts)
    (output / "board-sections.md").write_text(text)
    print(text)
    if options.publish:
        page.publish(root / "docs/BOARD-SECTIONS.md", text, output, ())
    return 0


if __name__ == "__main__":
    session.main("run_sections.py", run)
