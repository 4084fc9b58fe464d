#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws which thread runs in each tick when threads start late: docs/CLASSES.md.

    .venv/bin/python bench/latecomers.py [--program build/debug/tests/sim/pirn-latecomers]

Writes --output (docs/img/latecomers.png). The runs are the simulator's: every picture is the same.
"""

from __future__ import annotations

import argparse
import csv
import io
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from pirn_tools.errors import UserError
from pirn_tools.plotting import figure

ROOT = Path(__file__).resolve().parent.parent
TITLES = {
    ("shmac", "zero"): "shmac, from 0 (Figure 3.5)",
    ("shmac", "creator"): "shmac, from its creator's number (Figure 3.6)",
    ("posix", "zero"): "posix, from 0",
    ("posix", "creator"): "posix, from its creator's time",
}


class Panel(NamedTuple):
    title: str
    ran: list[int]  # by tick: the number of the thread


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    program = ROOT / "build" / "debug" / "tests" / "sim" / "pirn-latecomers"
    parser.add_argument("--program", type=Path, default=program, help="built by the preset debug")
    output = ROOT / "docs" / "img" / "latecomers.png"
    parser.add_argument("--output", type=Path, default=output, help="the picture")
    return parser.parse_args()


def panels(text: str) -> list[Panel]:
    found: dict[tuple[str, str], list[int]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        found.setdefault((row["discipline"], row["start"]), []).append(int(row["thread"]))
    if set(found) != set(TITLES):
        raise UserError(f"the program printed the cases {sorted(found)}, not {sorted(TITLES)}")
    return [Panel(title, found[key]) for key, title in TITLES.items()]


def stretches(ran: list[int], thread: int) -> list[tuple[int, int]]:
    """First tick and length of each stretch in which the thread ran."""
    out: list[tuple[int, int]] = []
    for tick, runs in enumerate(ran):
        if runs == thread and out and sum(out[-1]) == tick:
            out[-1] = (out[-1][0], out[-1][1] + 1)
        elif runs == thread:
            out.append((tick, 1))
    return out


def draw(path: Path, shown: list[Panel]) -> None:
    threads = sorted(set(shown[0].ran))
    places, labels = [], []
    with figure(path, width=11.0, height=7.5) as axes:
        for at, panel in enumerate(shown):
            top = -at * (len(threads) + 2)
            axes.text(0, top + 0.6, panel.title, fontsize="medium", va="bottom")
            for line, thread in enumerate(threads):
                places.append(top - line)
                labels.append(str(thread))
                bars = (top - line - 0.4, 0.8)
                axes.broken_barh(stretches(panel.ran, thread), bars, facecolors=f"C{line}")
        axes.set_yticks(places, labels, fontsize="small")
        axes.set_ylabel("thread")
        axes.set_xlabel("tick: a new thread every 50, each needs 200")
        axes.set_xlim(0, len(shown[0].ran))
        axes.set_xticks(range(0, len(shown[0].ran) + 1, 50))
        axes.grid(axis="x", alpha=0.3)


def main() -> int:
    options = arguments()
    try:
        if not options.program.exists():
            raise UserError(f"{options.program} is not built: cmake --build --preset debug")
        done = subprocess.run(
            [options.program, "--csv"], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise UserError(f"{options.program} failed: {done.stderr.strip()}")
        draw(options.output, panels(done.stdout))
    except UserError as error:
        print(f"latecomers: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
