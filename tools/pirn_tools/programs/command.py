# SPDX-License-Identifier: MIT
"""`pirn programs`, which `make apps` and `make programs` call."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.status import Status

from pirn_tools import paths, terminal
from pirn_tools.arguments import page_option
from pirn_tools.binary import linked
from pirn_tools.describe import load
from pirn_tools.errors import UserError
from pirn_tools.launch import check_preloadable, preload_library
from pirn_tools.programs import inputs, report
from pirn_tools.programs.build import KINDS, build
from pirn_tools.programs.compare import HANG, Configuration, Outcome, compare, verdicts
from pirn_tools.programs.plan import Program, Run, choose
from pirn_tools.programs.plan import load as load_plan
from pirn_tools.programs.sources import Source, fetch, machine_apts

SHOWN = "steal"  # the policy for preloading, and without preemption


@click.command(short_help="Build and compare programs of others, from Debian's source packages.")
@click.argument("names", nargs=-1, metavar="[PROGRAM]...")
@click.option("--build", "only_build", is_flag=True, help="Build only.")
@click.option("--rounds", type=click.IntRange(1, 1000), default=5, show_default=True)
@page_option
def programs(names: tuple[str, ...], only_build: bool, rounds: int, output: Path | None) -> None:
    """Build programs of others from Debian's source packages, and compare them.

    Each is built twice, without edits: with the system's threads and with libpirn-pthread. Then all
    their runs are compared with NPTL's: the output must be the same; a table shows the ratio of
    times. Without a PROGRAM: all of apps/programs/programs.toml.
    """
    console = terminal.console(highlight=False)
    root = paths.project()
    plan = choose(load_plan(root / "apps/programs/programs.toml"), names)
    folder = root / "build" / "programs"
    load_before = os.getloadavg()[0]
    sources = fetch_all(console, plan, folder)
    binaries = build_all(console, plan, sources, folder, paths.build_dir(root) / "lib")
    if only_build:
        console.print(f"{len(plan)} programs are built: {paths.short(folder)}")
        return
    values = make_inputs(root, folder)
    rows: list[report.Row] = []
    problems: list[str] = []
    for program in plan:
        configurations = configurations_of(program, binaries)
        own = run_all(console, program, configurations, values, rounds, folder)
        rows += [report.Row(program, sources[program.package], *pair) for pair in own]
        problems += verdicts(program, [one for _, outcomes in own for one in outcomes])
    finish(console, rows, rounds, load_before, folder, output)
    for problem in problems:
        console.print(f"[red]not as expected:[/red] {problem}")
    if problems:
        sys.exit(1)


def fetch_all(console: Console, plan: Sequence[Program], folder: Path) -> dict[str, Source]:
    apts = machine_apts(folder / "apt")
    sources = {}
    for package in dict.fromkeys(program.package for program in plan):
        sources[package] = fetch(package, apts, folder / "sources")
        source = sources[package]
        console.print(f"source: {package} {source.version} {source.note}".rstrip())
    return sources


def build_all(
    console: Console,
    plan: Sequence[Program],
    sources: dict[str, Source],
    folder: Path,
    libraries: Path,
) -> dict[tuple[str, str], Path]:
    if not (libraries / "libpirn-pthread.so").exists():
        raise UserError(f"no libpirn-pthread.so in {libraries}; build it first (make apps)")
    binaries = {}
    for program in plan:
        for kind in KINDS:
            with console.status(f"building {program.name} ({kind})"):
                binary = build(program, sources[program.package], kind, folder, libraries)
            check_linked(binary, kind)
            binaries[program.name, kind] = binary
    return binaries


def check_linked(binary: Path, kind: str) -> None:
    """The recipe reached the linker, or not, as it should."""
    read = linked.read(binary)
    if read is None or linked.uses_pirn(read) != (kind == "pirn"):
        raise UserError(f"{binary}: linked {'with' if kind == 'nptl' else 'without'} Pirn")


def make_inputs(root: Path, folder: Path) -> dict[str, str]:
    made = sorted((folder / "sources").glob("*/source"))
    clip = root / "build" / "demo"
    return {
        "text": str(inputs.text(made, folder / "input.txt")),
        "video": str(inputs.video(clip, folder / "input.y4m")),
    }


def configurations_of(
    program: Program, binaries: dict[tuple[str, str], Path]
) -> list[Configuration]:
    built = binaries[program.name, "pirn"]
    installed = linked.find_program(program.installed)
    check_preloadable(installed, program.installed)
    chosen = [Configuration("nptl", "nptl", binaries[program.name, "nptl"])]
    chosen += [
        Configuration(org.name, "pirn", built, {"PIRN_SCHED": org.name}) for org in load().policies
    ]
    unpreempted = {"PIRN_SCHED": SHOWN, "PIRN_PREEMPT": "0"}
    preloaded = {"PIRN_SCHED": SHOWN, "LD_PRELOAD": str(preload_library())}
    chosen.append(Configuration("no ticks", "pirn", built, unpreempted))
    chosen.append(Configuration("installed", "installed", installed))
    chosen.append(Configuration("preloaded", "preload", installed, preloaded))
    return chosen


def run_all(
    console: Console,
    program: Program,
    configurations: Sequence[Configuration],
    values: dict[str, str],
    rounds: int,
    folder: Path,
) -> list[tuple[Run, list[Outcome]]]:
    first = folder / f"first-{program.name}"
    first.unlink(missing_ok=True)
    done: list[tuple[Run, list[Outcome]]] = []
    hung: dict[str, Outcome] = {}  # by configuration; not tried again
    for run in program.runs:
        with console.status("") as status:

            def step(name: str, status: Status = status, what: str = run.what) -> None:
                status.update(f"{program.name}: {what}: {name}")

            tried = compare(
                run,
                [one for one in configurations if one.name not in hung],
                {**values, "first": str(first)},
                rounds,
                first,
                step,
            )
        hung |= {one.configuration.name: one for one in tried if one.failure == HANG}
        known = hung | {one.configuration.name: one for one in tried}
        outcomes = [known[one.name] for one in configurations]
        bad = [one for one in outcomes if one.failure]
        text = "; ".join(f"{one.configuration.name}: {one.failure}" for one in bad)
        console.print(f"{program.name}: {run.what}: {text or 'same output everywhere'}")
        done.append((run, outcomes))
    return done


def finish(
    console: Console,
    rows: Sequence[report.Row],
    rounds: int,
    load_before: float,
    folder: Path,
    output: Path | None,
) -> None:
    text = report.page(rows, rounds, load_before)
    (folder / "programs.csv").write_text(report.csv(rows))
    for path in filter(None, [folder / "programs.md", output]):
        path.write_text(text)
        console.print(f"written: {paths.short(path)}")
    console.print("\n".join(report.table(rows, "nptl", "pirn")), soft_wrap=True, markup=False)
    console.print(
        "\n".join(report.table(rows, "installed", "preload")), soft_wrap=True, markup=False
    )
