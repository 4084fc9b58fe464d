# SPDX-License-Identifier: MIT
"""`pirn bench figures`."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

import click

from pirn_tools import paths, terminal
from pirn_tools.errors import UserError, did_you_mean, listing

CHIP = ("mips", "incoherent", "hw", "threads", "asymmetric", "waves", "area")
HERE = ("affinity", "pipelines", "cache-aware", "scaling", "library-waits", "starvation", "mpi")
SETS = ("shmac", *CHIP, *HERE)
PAGE = "figures.md"


def check_name(name: str) -> None:
    if name not in SETS:
        hint = did_you_mean(name, SETS)
        raise UserError(f'no set of figures "{name}"{hint} (valid: {listing(SETS)})', status=2)


@click.command("figures", short_help="Figures of a publication, again from runs of our own.")
@click.argument("name", metavar="SET")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for figures.md and img/ [default: results/figures].",
)
@click.option(
    "--traces",
    type=click.Path(file_okay=False, path_type=Path),
    help="shmac: keep the traces in this folder, for pirn trace.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=os.cpu_count() or 1,
    help="All but shmac, waves: runs at a time [default: as many as CPUs].",
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1, max=10),
    metavar="N",
    help="hw: runs of a case, with seeds 1 to N of arbitration; of long ones 3 [default: 5].",
)
@click.option(
    "--kept", is_flag=True, help="area: place nothing, show the placements that are kept."
)
@click.option("--short", is_flag=True, help="Less work: a first look, numbers mean little.")
def reproduce(
    name: str,
    output: Path | None,
    traces: Path | None,
    jobs: int,
    seeds: int | None,
    kept: bool,
    short: bool,
) -> None:
    """Run programs with their traces on, and write the figures and tables of SET from that.

    shmac: Figures 3.3 to 3.6 and 5.3 to 5.6, Tables 5.1 to 5.3, 5.5 and 5.6 of the thesis on
    pthreads for SHMAC. Each stands on the page beside what the thesis says of it. Takes 30 s.

    mips: Table 2 of a paper on POSIX threads for an on-chip MIPS multiprocessor, in cycles of the
    chip of hw/. Runs are kept in build/hw/runs, and not made again. Takes 40 minutes.

    incoherent: the same operations and applications with caches that are not coherent. Takes an
    hour.

    hw: Figures 2 to 5 of a paper on a hardware scheduler for fine-grained threads, software
    schedulers on the same chip, and where the hardware stops paying. Runs are kept, too. Takes an
    hour.

    threads: POSIX threads whose ready queues are in the chip's hardware scheduler, against policies
    in software. Takes 20 minutes.

    asymmetric: cores of different speeds, policies with and without the use of their capacities.
    Takes an hour.

    waves: signals of the hardware scheduler during a spawn, a wait and a recruiting thread. Needs
    tools/setup --group chip. Takes a minute.

    area: gates of the chip's hardware scheduler and its clock in an FPGA, beside a paper's; cycles
    against clock with one stage and two. Needs tools/setup --group fpga. Results are kept in
    build/hw, and not made again. Takes some hours.

    affinity: a thesis on task affinity, with its machines in the simulator as a model of
    performance, and wavemix on the machine at hand. Runs of the model are kept in build/affinity,
    and not made again. Takes 10 minutes.

    pipelines: programs that work in stages, and pipelines on a modelled machine of 64 cores, with
    affinity that is learned and without. Takes 5 minutes.

    cache-aware: policies that know what threads demand of a cache, on the model of caches, beside
    what a thesis says of them. Takes 2 minutes.

    scaling: what more CPUs gain, up to 256, under each policy, on a model of caches. Runs are kept
    in build/scaling, and not made again. Takes 10 minutes.

    library-waits: threads that wait in stdio, in futexes of C++ and OpenMP, in the resolver, with
    Pirn's library and with the C library's threads. Takes 5 minutes.

    starvation: how late threads run while others compute in one function of the C library, with
    Pirn and with the C library's threads. Takes 25 minutes.

    mpi: messages between threads of MPI ranks, with the C library's threads and with Pirn's
    libraries. Needs tools/setup --group mpi. Takes 10 minutes.
    """
    check_name(name)
    if kept and name != "area":
        raise UserError(f"--kept: {name} places nothing (valid: area)", status=2)
    if seeds is not None and name != "hw":
        raise UserError(f"--seeds: not for {name}, only for hw", status=2)
    if name == "shmac":
        shmac(output, traces, short)
    elif name not in CHIP:
        affinity(name, output, jobs, short)
    else:
        chip(name, output, jobs, seeds, kept, short)


def chip(
    name: str, output: Path | None, jobs: int, seeds: int | None, kept: bool, short: bool
) -> None:
    from pirn_tools.figures import area, asymmetric, hw, incoherent, mips, threads, waves

    root = paths.project()
    folder = output or root / "results" / "figures"
    console = terminal.console()
    if name == "mips":
        mips.reproduce(root, folder, jobs, short, console)
    elif name == "incoherent":
        incoherent.reproduce(root, folder, jobs, short, console)
    elif name == "waves":
        waves.reproduce(root, folder, console)
    elif name == "hw":
        hw.reproduce(root, folder, jobs, seeds, short, console)
    elif name == "threads":
        threads.reproduce(root, folder, jobs, short, console)
    elif name == "asymmetric":
        asymmetric.reproduce(root, folder, jobs, short, console)
    else:
        area.reproduce(root, folder, jobs, short, console, kept)


def affinity(name: str, output: Path | None, jobs: int, short: bool) -> None:
    from pirn_tools.figures import (
        affinity,
        cache_aware,
        library_waits,
        mpi,
        pipelines,
        scaling,
        starvation,
    )

    root = paths.project()
    folder = output or root / "results" / "figures"
    made = {
        "affinity": affinity,
        "pipelines": pipelines,
        "cache-aware": cache_aware,
        "scaling": scaling,
        "library-waits": library_waits,
        "starvation": starvation,
        "mpi": mpi,
    }
    made[name].reproduce(root, folder, jobs, short, terminal.console())


def shmac(output: Path | None, traces: Path | None, short: bool) -> None:
    # numpy takes a while to load, which other commands need not wait for.
    from pirn_tools.figures import latecomers, make, page
    from pirn_tools.figures.shmac import SHMAC as WANTED

    console = terminal.console()
    root = paths.project()
    build = paths.build_dir(root)
    programs = make.Programs(build)
    programs.check(WANTED)
    folder = output or root / "results" / "figures"
    facts = page.facts(WANTED, root, build, short)
    panels = latecomers.panels(programs.latecomers)
    ticks = {start: panel for (discipline, start), panel in panels.items() if discipline == "shmac"}
    with ExitStack() as stack:
        kept = traces or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pirn-")))
        models = make.run_all(WANTED, programs, kept, short, lambda what: console.print(what))
    for item in WANTED.items:
        if item.picture is not None:
            target = folder / make.file_of(WANTED, item.picture)
            if item.picture.run in models:
                make.draw(item.picture, models[item.picture.run], target)
            else:
                make.draw_ticks(ticks[item.picture.run], target)
    page.write(folder / PAGE, WANTED, page.Results(models, ticks), facts, short)
    console.print(f"page: {paths.short(folder / PAGE)}", highlight=False)
