# SPDX-License-Identifier: MIT
"""`pirn soak`, which `make soak` calls.

As `pirn world` does, it unpacks packages first, and then starts itself again where they are seen.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

import click
from rich.console import Console
from rich.table import Table

from pirn_tools import machine, paths, terminal
from pirn_tools.arguments import Function, page_option
from pirn_tools.describe import SONAME
from pirn_tools.errors import UserError
from pirn_tools.launch import preload_library
from pirn_tools.soak import report
from pirn_tools.soak.judge import LEAST_SAMPLES
from pirn_tools.soak.keeper import SIGNALS, Interrupted, Keeper
from pirn_tools.soak.loads import Java, Load, PostgreSQL, Redis
from pirn_tools.soak.run import Plan, run
from pirn_tools.world.command import FOUND, fetch
from pirn_tools.world.compare import NPTL, PIRN
from pirn_tools.world.packages import Unpacked
from pirn_tools.world.plan import Program, choose, load

SERVERS = ("redis", "postgresql", "java")  # names in apps/world, too
LONGEST = 7 * 24 * 60.0  # minutes
MOST_RATE = 100_000.0
KEPT_LOGS = ("*/server", "*/clients*/said")


def rate_option(name: str, default: float, text: str) -> Callable[[Function], Function]:
    return click.option(
        name,
        type=click.FloatRange(0.1, MOST_RATE),
        default=default,
        show_default=True,
        help=text,
    )


@click.command(short_help="Run three servers under load for an hour, with NPTL and with Pirn.")
@click.option(
    "--minutes",
    type=click.FloatRange(0.5, LONGEST),
    default=60,
    show_default=True,
    help="How long with Pirn.",
)
@click.option(
    "--nptl-minutes",
    type=click.FloatRange(0, LONGEST),
    default=15,
    show_default=True,
    help="How long with the system's threads before; 0: not at all.",
)
@click.option(
    "--only", multiple=True, type=click.Choice(SERVERS), help="One of the servers; repeatable."
)
@rate_option("--redis-rate", 400, "Requests a second.")
@rate_option("--postgresql-rate", 30, "Transactions a second.")
@rate_option("--java-rate", 40, "Requests a second.")
@click.option(
    "--io-threads",
    type=click.IntRange(1, 128),
    default=1,
    show_default=True,
    help="I/O threads of redis.",
)
@click.option(
    "--every",
    type=click.FloatRange(0.1, 600),
    default=5,
    show_default=True,
    help="Seconds between samples of memory, descriptors and kernel threads.",
)
@click.option(
    "--run-options", default="", metavar="OPTIONS", help='Options of pirn run: "--sched dist".'
)
@page_option
@click.option("--csv", type=click.Path(dir_okay=False, path_type=Path), help="Write all samples.")
@click.option("--inside", is_flag=True, hidden=True)
def soak(
    minutes: float,
    nptl_minutes: float,
    only: tuple[str, ...],
    redis_rate: float,
    postgresql_rate: float,
    java_rate: float,
    io_threads: int,
    every: float,
    run_options: str,
    output: Path | None,
    csv: Path | None,
    inside: bool,
) -> None:
    """Run redis, PostgreSQL and a Java server under load at once: first with the system's threads,
    then with Pirn.

    Load is at fixed rates below what the servers can do. Tables show latencies, memory, descriptors
    and kernel threads. A wrong reply, an error, or growth fails. Clients have the system's threads.
    Packages that are not installed are unpacked into .cache/world, as `pirn world` does it.
    """
    root = paths.project()
    console = terminal.console(highlight=False)
    programs = {one.name: one for one in choose(load(root / "apps/world"), SERVERS, sample=False)}
    pirn = pirn_run(run_options)
    check_room(minutes, every)
    for path in filter(None, [output, csv]):
        if not path.absolute().parent.is_dir():
            raise UserError(f"{path.parent} is no folder: nothing can be written there", status=2)
    loads: list[Load] = [
        Redis(programs["redis"], redis_rate, io_threads),
        PostgreSQL(programs["postgresql"], postgresql_rate),
        Java(programs["java"], java_rate),
    ]
    loads = [one for one in loads if not only or one.name in only]
    unpacked = Unpacked(root / ".cache" / "world")
    if not inside:
        sys.exit(outside(console, [one.program for one in loads], unpacked, root))
    keeper = Keeper()
    keeper.handle_signals()
    lengths = {kind: length for kind, length in ((NPTL, nptl_minutes), (PIRN, minutes)) if length}
    plan = Plan(loads, surroundings(root), root / "apps" / "soak", every)
    runs = []
    try:
        for kind, length in lengths.items():
            runs.append(run_one(console, plan, keeper, kind, length, pirn, unpacked))
    except Interrupted:
        console.print("interrupted; all that was started has ended")
        sys.exit(130)
    finish(console, runs, loads, unpacked, output, csv)


def run_one(
    console: Console,
    plan: Plan,
    keeper: Keeper,
    kind: str,
    minutes: float,
    pirn: tuple[str, ...],
    unpacked: Unpacked,
) -> report.Run:
    title = f"{report.TITLES[kind]}, {minutes:g} minutes"
    with (
        tempfile.TemporaryDirectory(prefix="pirn-soak-", ignore_cleanup_errors=True) as scratch,
        console.status(title) as status,
    ):
        folder = Path(scratch)
        try:
            outcome = run(
                plan,
                keeper,
                folder,
                pirn if kind == PIRN else (),
                minutes,
                lambda what: status.update(f"{title}: {what}"),
            )
        finally:
            keeper.end_all()
        keeper.handle_signals()
        if any(one.failures for one in outcome.results):
            kept = unpacked.folder / f"soak-{kind}"
            keep_logs(folder, kept)
            console.print(f"what servers and clients said: {paths.short(kept)}", markup=False)
    done = report.Run(kind, minutes, outcome.results, outcome.control)
    console.print(
        f"{title}: {'; '.join(report.failures([done])) or 'nothing failed'}", markup=False
    )
    return done


def keep_logs(folder: Path, kept: Path) -> None:
    shutil.rmtree(kept, ignore_errors=True)
    for path in (path for pattern in KEPT_LOGS for path in folder.glob(pattern)):
        into = kept / path.relative_to(folder)
        into.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, into)


def surroundings(root: Path) -> dict[str, str]:
    """The environment of all, without what would choose threads."""
    drop = ("PIRN_", "LD_PRELOAD")
    values = {key: v for key, v in os.environ.items() if not key.startswith(drop)}
    values["PIRN_LIBRARY"] = str(preload_library().with_name(SONAME))
    return {**values, "LC_ALL": "C", "PYTHONPATH": str(root / "tools")}


def pirn_run(options: str) -> tuple[str, ...]:
    """What stands before a command that is to run on Pirn. An error if the options are wrong."""
    try:
        words = shlex.split(options)
    except ValueError as error:
        raise UserError(f"--run-options {options!r}: {error}", status=2) from None
    command = (sys.executable, "-m", "pirn_tools", "run", *words, "--")
    if not words:
        return command
    environment = {**os.environ, "PYTHONPATH": str(paths.project() / "tools")}
    tried = subprocess.run(
        [*command, "true"], env=environment, capture_output=True, text=True, check=False
    )
    if tried.returncode != 0:
        said = (tried.stderr.strip().splitlines() or ["it fails"])[-1]
        raise UserError(f"--run-options {options!r}: pirn run: {said.removeprefix('Error: ')}", 2)
    return command


def outside(console: Console, programs: Sequence[Program], unpacked: Unpacked, root: Path) -> int:
    """Unpacks packages, and runs this command again where they are seen; its exit status."""
    preload_library()  # said before anything is fetched, if there is none
    unpacked.lock()
    fetch(console, programs, unpacked)
    missing = json.loads((unpacked.folder / FOUND).read_text())["missing"]
    if missing:
        raise UserError(f"packages of {', '.join(missing)} cannot be had")
    unpacked.check()
    words = [sys.executable, "-m", "pirn_tools", "soak", "--inside", *given_words()]
    environment = {**os.environ, "PYTHONPATH": str(root / "tools")}
    child = subprocess.Popen(unpacked.command(words), env=environment)

    def pass_on(_: int, __: FrameType | None) -> None:
        child.terminate()

    for number in SIGNALS:
        signal.signal(number, pass_on)
    status = child.wait()
    return 128 - status if status < 0 else status


def given_words(*, told: bool = False) -> list[str]:
    """The options of this command, spelt out. told: only those that are not as usual, and that
    make a difference to what is measured."""
    context = click.get_current_context()
    usual = {one.name: one.default for one in context.command.params}
    words = []
    for name, value in context.params.items():
        option = f"--{name.replace('_', '-')}"
        if name == "inside" or value is None or (told and value == usual[name]):
            continue
        if isinstance(value, tuple):
            words += [f"{option}={one}" for one in value]
        elif not isinstance(value, Path):
            words.append(f"{option}={value:g}" if isinstance(value, float) else f"{option}={value}")
        elif not told:
            words.append(f"{option}={value.absolute()}")
    return words


def check_room(minutes: float, every: float) -> None:
    """Enough samples to judge by."""
    if minutes * 60 / every < LEAST_SAMPLES:
        raise UserError(
            f"--minutes {minutes:g} with --every {every:g} gives fewer than {LEAST_SAMPLES} "
            f"samples: --every may be at most {minutes * 60 / LEAST_SAMPLES:g}",
            status=2,
        )


def finish(
    console: Console,
    runs: Sequence[report.Run],
    loads: Sequence[Load],
    unpacked: Unpacked,
    output: Path | None,
    csv: Path | None,
) -> None:
    packages = json.loads((unpacked.folder / FOUND).read_text())["found"]
    root = paths.project()
    lengths = ", then ".join(run.name for run in runs)
    command = shlex.join(["pirn", "soak", *given_words(told=True)])
    about = [
        machine.processor(),
        f"Linux {os.uname().release}, {machine.c_library()}; load {machine.load()} at the end",
        f"Pirn: {machine.commit(root)}",
        f"`{command}`: {lengths}",
    ]
    for table in (report.latencies(runs), report.resources(runs)):
        console.print(shown(table))
    if output is not None:
        output.write_text(report.page(runs, loads, packages, about))
        console.print(f"written: {paths.short(output)}", markup=False)
    if csv is not None:
        csv.write_text(report.csv(runs))
        console.print(f"written: {paths.short(csv)}", markup=False)
    problems = report.failures(runs)
    for problem in problems:
        console.print(f"fails: {problem}", markup=False)
    if problems:
        sys.exit(1)


def shown(table: report.Table) -> Table:
    head, rows = table
    out = Table()
    for number, word in enumerate(head):
        out.add_column(word, justify="left" if number < 2 else "right")
    for row in rows:
        out.add_row(*row)
    return out
