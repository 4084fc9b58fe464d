# SPDX-License-Identifier: MIT
"""What the sets of figures from runs of the chip share: their runs, facts, and files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from pirn_tools import machine
from pirn_tools.chip import sizes
from pirn_tools.chip.sweep import Result, Run, Sweep
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


@dataclass(frozen=True)
class Cost:
    """Of a part of a page."""

    part: str
    seconds: Sequence[float]  # of each run; 0: not known
    cycles: int | None = None  # of the chip; None: it did not run


def cost_table(parts: Iterable[Cost]) -> str:
    rows = []
    for one in parts:
        known = sum(seconds > 0 for seconds in one.seconds)
        minutes = f"{sum(one.seconds) / 60:.1f}"
        if known < len(one.seconds):
            minutes = f"{minutes} ({known} of {len(one.seconds)} runs)"
        cycles = "-" if one.cycles is None else f"{one.cycles / 1e6:.1f}"
        rows.append([one.part, str(len(one.seconds)), cycles, minutes])
    return markdown.table(["part", "runs", "million cycles", "minutes"], rows)


def costs(parts: Mapping[str, Collection[Result]]) -> str:
    """A table: what the runs of each part cost."""
    return cost_table(
        Cost(name, [run.seconds for run in runs], sum(run.cycles for run in runs))
        for name, runs in parts.items()
    )


def by_part(
    results: Mapping[Run, Result], named: Mapping[Run, str], rest: str
) -> dict[str, list[Result]]:
    """The runs of each part of a page. named: the part that shows a run; rest: of all others."""
    parts: dict[str, list[Result]] = {name: [] for name in dict.fromkeys(named.values())}
    for run, result in results.items():
        parts.setdefault(named.get(run, rest), []).append(result)
    return parts


def cost_section(
    results: Mapping[Run, Result], named: Mapping[Run, str], rest: str = "others"
) -> list[str]:
    """The end of a page."""
    return ["## Cost", costs(by_part(results, named, rest))]


def write(page: Path, text: str, console: Console) -> None:
    page.write_text(text, encoding="utf-8")
    console.print(f"page: {short(page)}", highlight=False)
