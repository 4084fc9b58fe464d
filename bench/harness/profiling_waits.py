# SPDX-License-Identifier: MIT
"""The cost of recording waits: operations without a profile and with, in paired rounds."""

from __future__ import annotations

import statistics
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from pirn_tools.errors import UserError

from harness.rounds import environment_with, rotated
from harness.tables import markdown

TIMEOUT_SECONDS = 100.0
# Rows of the micro benchmarks, on one worker: how often a thread stops in an operation.
ROWS = {"yield": 1, "pingpong": 2, "barrier": 64, "mutex": 0}
NONE, OFF, SOME, ALL = "no profile", "a profile without waits", "waits", "all waits"


def settings(profile: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Environments, by what is recorded; nowhere samples of CPUs."""
    quiet = {**profile, "PIRN_PROFRATE": "0"}
    return {
        NONE: {"PIRN_CPUS": "1"},
        OFF: quiet,
        SOME: {**quiet, "PIRN_PROFWAITS": "1"},
        ALL: {**quiet, "PIRN_PROFWAITS": "1", "PIRN_PROFWAITNS": "1"},
    }


def nanoseconds(binary: Path, row: str, env: Mapping[str, str]) -> float:
    """Of an operation: the median of the run's samples."""
    done = subprocess.run(
        [str(binary), "--row", row, "--workers", "1", "--samples", "5", "--quick"],
        env=environment_with(env),
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    lines = [line.split(",") for line in done.stdout.splitlines()]
    values = [float(cells[4]) for cells in lines if cells[1:2] == [row]]
    if done.returncode != 0 or not values:
        raise UserError(
            f"{binary.name} --row {row}: status {done.returncode}: {done.stderr.strip()}"
        )
    return statistics.median(values)


def measure(
    binary: Path, profile: Mapping[str, str], rounds: int, step: Callable[[str], None]
) -> dict[tuple[str, str], list[float]]:
    """By row and setting, one value a round; the order rotates."""
    found: dict[tuple[str, str], list[float]] = {}
    chosen = settings(profile)
    for number in range(1, rounds + 1):
        for row in ROWS:
            for name in rotated(list(chosen), number):
                step(f"waits: {row}, {name}")
                value = nanoseconds(binary, row, chosen[name])
                found.setdefault((row, name), []).append(value)
    return found


def steps(rounds: int) -> int:
    return rounds * len(ROWS) * 4


def text(found: Mapping[tuple[str, str], list[float]]) -> str:
    """Medians, and what a stop costs more."""
    rows = []
    for row, stops in ROWS.items():
        base = found[row, NONE]
        cells = [row, str(stops), f"{statistics.median(base):.1f}"]
        for name in (OFF, SOME, ALL):
            pairs = [value - least for value, least in zip(found[row, name], base, strict=True)]
            more = statistics.median(pairs)
            cells.append(f"{more / stops:+.0f} ns a stop" if stops else f"{more:+.1f} ns")
        rows.append(cells)
    head = ["operation", "stops", f"ns, {NONE}", OFF, SOME, ALL]
    return markdown(head, rows)
