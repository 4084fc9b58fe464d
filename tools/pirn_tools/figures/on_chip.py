# SPDX-License-Identifier: MIT
"""What the sets of figures from runs of the chip share: their runs, facts, and files."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from rich.console import Console

from pirn_tools import machine
from pirn_tools.chip.sweep import Result, Sweep
from pirn_tools.paths import short


def kept(root: Path) -> Path:
    """The folder of results of runs, and of files that runs read."""
    return root / "build" / "hw" / "runs"


def sweep(root: Path, jobs: int) -> Sweep:
    return Sweep(root, kept(root), jobs)


def facts(
    root: Path, command: str, chip: str, runs: Collection[Result], **others: str
) -> dict[str, str]:
    """command: what follows `pirn bench figures`; chip: how all chips were built."""
    cycles = sum(run.cycles for run in runs)
    return {
        "command": f"`pirn bench figures {command}`",
        "commit": machine.commit(root),
        "chip": f"RV32IMA, {chip}",
        **others,
        "runs": f"{len(runs)}, {cycles / 1e6:.0f} million cycles",
    }


def write(page: Path, text: str, console: Console) -> None:
    page.write_text(text, encoding="utf-8")
    console.print(f"page: {short(page)}", highlight=False)
