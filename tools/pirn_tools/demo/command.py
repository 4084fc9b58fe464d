# SPDX-License-Identifier: MIT
"""`pirn demo`, which `make demo` calls."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pirn_tools import machine, parts, paths, terminal
from pirn_tools.demo import report
from pirn_tools.demo.clip import ClipShape, make_clip, reference_frames
from pirn_tools.demo.decode import NPTL, Contender, RefusedError, Result, contenders, decode
from pirn_tools.demo.psnr import check_psnr
from pirn_tools.describe import load
from pirn_tools.errors import UserError

PROGRESS = (
    TextColumn("{task.description:<22}"),
    BarColumn(),
    MofNCompleteColumn(),
    TimeElapsedColumn(),
)
CAPTION = (
    "medians; ratios are paired, round by round. NPTL: switches and idle share are the kernel's."
)


@dataclass(frozen=True)
class Plan:
    """The clip, the programs that decode it, and how often."""

    runners: list[Contender]
    arguments: list[str]
    cpus: int
    rounds: int


@click.command(short_help="Decode a real video under NPTL and under every policy.")
@click.option("--rounds", type=click.IntRange(1, 1000), default=9, show_default=True)
@click.option("--cpus", type=click.IntRange(1, 1024), help="Workers [default: online CPUs].")
@click.option(
    "--repeat",
    type=click.IntRange(1, 1000),
    default=8,
    show_default=True,
    help="Times each run decodes the clip.",
)
@click.option(
    "--slices",
    type=click.IntRange(1, 64),
    default=8,
    show_default=True,
    help="Slice threads a stage.",
)
@click.option("--publish", is_flag=True, help="Write docs/results/benchmarks.md, too.")
def demo(rounds: int, cpus: int | None, repeat: int, slices: int, publish: bool) -> None:
    """Decode a real video as Motion-JPEG under NPTL and under every policy.

    Checks that all decode every picture bit-identically and as ffmpeg does, prints a table and
    writes a plot and a CSV file to build/demo.
    """
    console = terminal.console()
    root = paths.project()
    folder = root / "build" / "demo"
    folder.mkdir(parents=True, exist_ok=True)
    shape = ClipShape()
    count = cpus or len(os.sched_getaffinity(0))
    apps = paths.build_dir(root) / "apps"
    names = [org.name for org in load().policies]
    runners = contenders(apps, names, count)
    for runner in runners:
        paths.need_program(runner.program)
    console.print(
        f"clip: {shape.pictures} pictures of {shape.width}x{shape.height} (Big Buck Bunny)"
    )
    clip = make_clip(folder, shape)
    runners = check_pictures(console, runners, clip, folder, shape)
    arguments = [f"--slices={slices}", f"--repeat={repeat}", str(clip)]
    done = measure(console, Plan(runners, arguments, count, rounds))
    rows = finish(console, done, folder, f"Motion-JPEG, {count} CPUs, {slices} slices a stage")
    if publish:
        page = root / "docs" / "results" / "benchmarks.md"
        about = (
            f"`pirn demo --publish`, commit {machine.commit(root)}, {machine.processor()}. "
            f"{shape.pictures} pictures of {shape.width}x{shape.height}, {slices} slices, decoded "
            f"{repeat} times: {rows[0].threads:,} threads. {rounds} paired rounds; every decoded "
            "picture is bit-identical everywhere."
        )
        parts.replace(page, "demo", report.markdown(rows, about))
        shutil.copyfile(folder / "mjpeg.png", page.parent / "img" / "mjpeg.png")


def check_pictures(
    console: Console, runners: Sequence[Contender], clip: Path, folder: Path, shape: ClipShape
) -> list[Contender]:
    """Every picture of every contender: equal among us, and close to ffmpeg's. Returns those that
    this machine can run."""
    reference = reference_frames(clip, folder)
    picture_bytes = shape.width * shape.height * 3 // 2
    with tempfile.TemporaryDirectory(prefix="pirn-demo-") as scratch:
        frames = {runner.name: Path(scratch) / f"{runner.name}.yuv" for runner in runners}
        results: list[Result] = []
        able: list[Contender] = []
        for runner in runners:
            try:
                results.append(decode(runner, [f"--output={frames[runner.name]}", str(clip)], 1))
                able.append(runner)
            except RefusedError as error:
                console.print(f"left out: {error.message}")
        ours = frames[NPTL].read_bytes()
        for runner in able:
            if frames[runner.name].read_bytes() != ours:
                raise UserError(f"the pictures decoded under {runner.name} differ from NPTL's")
        psnr = check_psnr(frames[NPTL], reference, picture_bytes)
    checksum = same_checksum(results, None)
    console.print(
        f"check: {len(able)} decodes bit-identical (checksum {checksum}); "
        f"worst picture {psnr:.1f} dB from ffmpeg's"
    )
    return able


def same_checksum(results: Sequence[Result], expected: str | None) -> str:
    """The checksum common to all, or an error that names who differs."""
    wanted = expected or results[0].checksum
    wrong = [f"{result.name}: {result.checksum}" for result in results if result.checksum != wanted]
    if wrong:
        raise UserError(f"decoded pictures differ: expected checksum {wanted}, {', '.join(wrong)}")
    return wanted


def measure(console: Console, plan: Plan) -> list[report.Round]:
    """Paired rounds: each runs everyone once, in a new order, and compares the checksums."""
    rounds: list[report.Round] = []
    checksum: str | None = None
    with Progress(*PROGRESS, console=console) as progress:
        task = progress.add_task("", total=plan.rounds * len(plan.runners))
        for number in range(1, plan.rounds + 1):
            one: report.Round = {}
            for runner in random.sample(plan.runners, len(plan.runners)):
                progress.update(task, description=f"round {number}: {runner.name}")
                one[runner.name] = decode(runner, plan.arguments, plan.cpus)
                progress.advance(task)
            rounds.append({runner.name: one[runner.name] for runner in plan.runners})
            checksum = same_checksum(list(rounds[-1].values()), checksum)
        progress.update(task, description="done")
    return rounds


def finish(
    console: Console, rounds: Sequence[report.Round], folder: Path, title: str
) -> list[report.Row]:
    rows = report.summarize(rounds)
    console.print(report.table(rows, CAPTION))
    plot, data = folder / "mjpeg.png", folder / "mjpeg.csv"
    report.write_csv(data, rounds)
    report.write_plot(plot, rows, title)
    console.print(f"plot: {paths.short(plot)}   data: {paths.short(data)}", highlight=False)
    return rows
