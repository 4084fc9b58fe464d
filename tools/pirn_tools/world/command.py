# SPDX-License-Identifier: MIT
"""`pirn world`, which `make world` and `make check-world` call.

It unpacks packages first, and then starts itself again where they are seen (packages.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from pirn_tools import machine, paths, terminal
from pirn_tools.arguments import page_option
from pirn_tools.errors import UserError
from pirn_tools.launch import preload_library
from pirn_tools.world import inputs, report
from pirn_tools.world.compare import Setting, compare
from pirn_tools.world.packages import Unpacked
from pirn_tools.world.plan import Program, choose, load

FOUND = "found.json"  # packages of each program, and what cannot be had


@click.command(short_help="Run programs of Debian's packages with NPTL and with Pirn.")
@click.option("--only", multiple=True, metavar="NAME", help="A program or kind; repeatable.")
@click.option("--sample", is_flag=True, help="Only some fast programs of few packages.")
@click.option("--rounds", type=click.IntRange(1, 100), default=3, show_default=True)
@click.option("--list", "only_list", is_flag=True, help="List the programs.")
@page_option
@click.option("--inside", is_flag=True, hidden=True)
def world(
    only: tuple[str, ...],
    sample: bool,
    rounds: int,
    only_list: bool,
    output: Path | None,
    inside: bool,
) -> None:
    """Run programs of Debian's packages with the system's threads and with Pirn, in turn.

    Packages that are not installed are unpacked into .cache/world of the project's tree. Each
    program's output is checked; a table shows the ratios of wall and CPU time.
    """
    root = paths.project()
    console = terminal.console(highlight=False)
    plan = choose(load(root / "apps/world"), only, sample=sample)
    if only_list:
        for one in plan:
            console.print(f"{one.kind}: {one.name}: {one.threads}", markup=False)
        return
    unpacked = Unpacked(root / ".cache" / "world")
    preload_library()  # said before anything is fetched, if there is none
    if inside:
        rows = run_all(console, plan, unpacked, rounds, root)
        finish(console, rows, unpacked, rounds, output)
        return
    unpacked.lock()
    fetch(console, plan, unpacked)
    unpacked.check()
    words = [word for name in only for word in ("--only", name)]
    words += ["--sample"] if sample else []
    words += ["--output", str(output.absolute())] if output else []
    again = [sys.executable, "-m", "pirn_tools", "world", "--inside", "--rounds", str(rounds)]
    environment = {**os.environ, "PYTHONPATH": str(root / "tools")}
    done = subprocess.run(unpacked.command([*again, *words]), env=environment, check=False)
    sys.exit(done.returncode)


def fetch(console: Console, plan: Sequence[Program], unpacked: Unpacked) -> None:
    """Unpacks what the programs need, and leaves a note of what is missing."""
    found: dict[str, list[str]] = {}
    missing: dict[str, str] = {}
    for one in plan:
        if not one.packages:
            continue
        try:
            with console.status(f"packages of {one.name}"):
                found[one.name] = unpacked.need(one.packages)
        except UserError as error:
            missing[one.name] = error.message
            console.print(f"{one.name}: {error.message}", markup=False)
    unpacked.folder.mkdir(parents=True, exist_ok=True)
    for shown in (unpacked.root / "usr", unpacked.root / "etc"):
        shown.mkdir(parents=True, exist_ok=True)
    (unpacked.folder / FOUND).write_text(json.dumps({"found": found, "missing": missing}))


def run_all(
    console: Console, plan: Sequence[Program], unpacked: Unpacked, rounds: int, root: Path
) -> list[report.Row]:
    missing = json.loads((unpacked.folder / FOUND).read_text())["missing"]
    made = inputs.make(unpacked.folder / "inputs")
    keep = unpacked.folder / "keep"
    setting = Setting(preload_library(), made, keep, root / "apps/world")
    rows = []
    for one in plan:
        if one.name in missing:
            row = report.Row(one, missing=missing[one.name])
        else:
            with console.status("") as status:

                def step(what: str, name: str = one.name) -> None:
                    status.update(f"{name}: {what}")

                row = report.Row(one, compare(one, setting, rounds, step))
        rows.append(row)
        console.print(f"{one.name}: {_told(row)}", markup=False)
    return rows


def _told(row: report.Row) -> str:
    if row.not_run:
        return f"not run: {row.not_run}"
    if row.failure:
        return f"{'fails, as known' if row.program.known else 'FAILS'}: {row.failure}"
    wall, cpu = (report.number(report.ratio(row, what)) for what in ("seconds", "cpu"))
    return f"passes; wall {wall}, CPU {cpu}"


def finish(
    console: Console,
    rows: Sequence[report.Row],
    unpacked: Unpacked,
    rounds: int,
    output: Path | None,
) -> None:
    packages = json.loads((unpacked.folder / FOUND).read_text())["found"]
    root = paths.project()
    about = [
        machine.processor(),
        f"Linux {os.uname().release}, {machine.c_library()}; load {machine.load()} at the end",
        f"Pirn: {machine.commit(root)}",
        "`make world`",
    ]
    text = report.page(rows, packages, rounds, about).replace(f"{root}/", "")
    (unpacked.folder / "world.csv").write_text(report.csv(rows))
    for path in filter(None, [unpacked.folder / "world.md", output]):
        path.write_text(text)
        console.print(f"written: {paths.short(path)}")
    console.print(report.summary(rows), markup=False)
    problems = report.unexpected(rows)
    for problem in problems:
        console.print(f"not as expected: {problem}", markup=False)
    if problems:
        sys.exit(1)
