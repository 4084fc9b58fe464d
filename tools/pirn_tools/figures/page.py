# SPDX-License-Identifier: MIT
"""The page of a set of figures: each beside what the publication shows."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pirn_tools import machine
from pirn_tools.figures import markdown
from pirn_tools.figures.latecomers import Panel, sentence
from pirn_tools.figures.make import command, file_of
from pirn_tools.figures.plan import Item, Set, Table
from pirn_tools.trace.model import Model
from pirn_tools.trace.show import CPU_ROWS
from pirn_tools.trace.stat import compute


@dataclass(frozen=True)
class Results:
    """The results of the runs."""

    models: Mapping[str, Model]
    panels: Mapping[str, Panel]  # by start=


def write(path: Path, wanted: Set, results: Results, known: Mapping[str, str], short: bool) -> None:
    """The whole page."""
    parts = [
        markdown.begin("Figures of the SHMAC thesis, here", wanted.name, ""),
        wanted.head,
        markdown.facts(known),
    ]
    for item in wanted.items:
        parts += section(wanted, item, results, short)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def section(wanted: Set, item: Item, results: Results, short: bool) -> list[str]:
    """A figure, a table, or both."""
    parts = [f"## {item.title}"]
    both = [item.shown, here(item, results)]
    parts.append(markdown.table(["The thesis", "Here"], [both], left=(0, 1)))
    if item.picture is not None:
        parts.append(markdown.picture(file_of(wanted, item.picture).name, item.picture.alt))
    if item.remark:
        parts.append(item.remark)
    run = run_of(item)
    if run in results.models:
        parts.append(f"    {command(wanted.run(run), wanted.tick, short)}")
    else:
        parts.append("    pirn-latecomers --csv")
    if item.table is not None:
        parts.append(table(item.table, results.models[item.table.run]))
    return parts


def run_of(item: Item) -> str:
    """The run that an item is about."""
    if item.table is not None:
        return item.table.run
    return item.picture.run if item.picture is not None else ""


def here(item: Item, results: Results) -> str:
    """The text about our run."""
    if isinstance(item.here, str):
        return sentence(results.panels[item.here])
    return item.here(results.models[run_of(item)])


def table(one: Table, model: Model) -> str:
    """The thesis's numbers, and the same of our run."""
    stat = compute(model)
    cells = dict(CPU_ROWS)
    cores = len(next(iter(one.rows.values())))
    head = [one.title, *(f"core {n}" for n in range(cores))]
    head += [f"CPU {cpu.cpu} here" for cpu in stat.cpus]
    rows = [
        [name, *numbers, *(cells[name](cpu) for cpu in stat.cpus)]
        for name, numbers in one.rows.items()
    ]
    return markdown.table(head, rows)


def facts(wanted: Set, root: Path, build: Path, short: bool) -> dict[str, str]:
    """The programs, and the machine that ran them."""
    kind = machine.cache_entry(build, "CMAKE_BUILD_TYPE") or "-"
    flags = machine.cache_entry(build, f"CMAKE_C_FLAGS_{kind.upper()}") or "-"
    return {
        "command": f"`pirn bench figures {wanted.name}{' --short' if short else ''}`",
        "processor": machine.processor(),
        "kernel": f"{platform.system()} {platform.release().split('-')[0]}",
        "C library": machine.c_library(),
        "build": f"{kind}: {machine.compiler(build)}, `{flags}`",
        "commit": machine.commit(root),
        "schedulers": ", ".join(dict.fromkeys(f"`{run.sched}`" for run in wanted.runs)),
        "tick, slice": f"{wanted.tick / 1000:g} ms of CPU time (`PIRN_TICK={wanted.tick}`)",
        "load before": machine.load(),
    }
