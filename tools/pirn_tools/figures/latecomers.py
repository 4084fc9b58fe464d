# SPDX-License-Identifier: MIT
"""Which thread runs in each tick when threads start late: what pirn-latecomers --csv says, drawn.

The runs are the simulator's: every picture of them is the same.
"""

from __future__ import annotations

import csv
import io
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pirn_tools.errors import UserError
from pirn_tools.plotting import figure

TITLES = {
    ("shmac", "zero"): "shmac, from 0 (Figure 3.5)",
    ("shmac", "creator"): "shmac, from its creator's number (Figure 3.6)",
    ("posix", "zero"): "posix, from 0",
    ("posix", "creator"): "posix, from its creator's time",
}
SECONDS = 120


class Panel(NamedTuple):
    title: str
    ran: list[int]  # by tick: the number of the thread


def panels(program: Path) -> dict[tuple[str, str], Panel]:
    """By discipline and start= what the program found."""
    try:
        done = subprocess.run(
            [program, "--csv"], capture_output=True, text=True, check=False, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        raise UserError(f"{program.name} hangs ({SECONDS} s)") from None
    if done.returncode != 0:
        raise UserError(f"{program.name} failed: {done.stderr.strip()}")
    found: dict[tuple[str, str], list[int]] = {}
    try:
        for row in csv.DictReader(io.StringIO(done.stdout)):
            found.setdefault((row["discipline"], row["start"]), []).append(int(row["thread"]))
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{program.name} --csv printed something else: {error!r}") from None
    if set(found) != set(TITLES):
        raise UserError(f"{program.name} printed the cases {sorted(found)}, not {sorted(TITLES)}")
    return {key: Panel(title, found[key]) for key, title in TITLES.items()}


def stretches(ran: list[int], thread: int) -> list[tuple[int, int]]:
    """First tick and length of each stretch in which the thread ran."""
    out: list[tuple[int, int]] = []
    for tick, runs in enumerate(ran):
        if runs == thread and out and sum(out[-1]) == tick:
            out[-1] = (out[-1][0], out[-1][1] + 1)
        elif runs == thread:
            out.append((tick, 1))
    return out


def alone(ran: list[int], thread: int) -> int:
    """How many ticks the thread has to itself from its first one on."""
    return next((length for _, length in stretches(ran, thread)), 0)


def sentence(panel: Panel) -> str:
    """How long each thread ran alone when it was new."""
    threads = sorted(set(panel.ran))
    each = ", ".join(f"{thread}: {alone(panel.ran, thread)}" for thread in threads)
    return f"Ticks that each thread, new, has to itself: {each}."


def draw(path: Path, shown: Sequence[Panel], height: float = 7.5) -> None:
    threads = sorted(set(shown[0].ran))
    places, labels = [], []
    with figure(path, width=11.0, height=height) as axes:
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
