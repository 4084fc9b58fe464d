# SPDX-License-Identifier: MIT
"""What the sets of figures from runs of the chip share: their runs, facts, and files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from rich.console import Console

from pirn_tools import machine
from pirn_tools.chip import sizes
from pirn_tools.chip.sweep import Result, Sweep
from pirn_tools.figures import markdown
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
        **memory(root),
        **others,
        "runs": f"{len(runs)}, {cycles / 1e6:.0f} million cycles",
        "cost": cost([run.seconds for run in runs]),
    }


def memory(root: Path) -> dict[str, str]:
    """Facts of all chips: what is between a hardware thread and the second level."""
    found = sizes.sizes(root)
    return {"first level": found.first_level, "buffers": found.buffers}


def lasts(seconds: float) -> str:
    """In the unit that reads best."""
    if seconds < 60:
        return f"{seconds:.0f} seconds" if seconds >= 10 else f"{seconds:.1f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds >= 600 else f"{seconds / 60:.1f} minutes"


def cost(seconds: Sequence[float]) -> str:
    """Of runs. 0: a run that was kept by a version which did not keep its time."""
    known = [one for one in seconds if one > 0]
    if not known:
        return "not known"
    which = "all runs" if len(known) == len(seconds) else f"{len(known)} of {len(seconds)} runs"
    return f"{lasts(sum(known))} of simulation, the sum over {which}, beside other work"


def costs(parts: Mapping[str, Collection[Result]]) -> str:
    """A table: what the runs of each part cost."""
    rows = [
        [
            name,
            str(len(runs)),
            f"{sum(run.cycles for run in runs) / 1e6:.1f}",
            f"{sum(run.seconds for run in runs) / 60:.1f}",
        ]
        for name, runs in parts.items()
    ]
    return markdown.table(["part", "runs", "million cycles", "minutes"], rows)


def write(page: Path, text: str, console: Console) -> None:
    page.write_text(text, encoding="utf-8")
    console.print(f"page: {short(page)}", highlight=False)
