# SPDX-License-Identifier: MIT
"""`pirn bench` and `pirn figures`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from pirn_tools import paths, terminal
from pirn_tools.bench import report
from pirn_tools.bench.runner import Sample, built, jobs_of, run_rounds
from pirn_tools.bench.suites import Suite, choose, load_suites
from pirn_tools.errors import UserError
from pirn_tools.figures.command import reproduce

PROGRESS = (
    TextColumn("{task.description:<32}"),
    BarColumn(),
    MofNCompleteColumn(),
    TimeElapsedColumn(),
)


class Bench(click.Group):
    """`pirn bench SUITE...` means `pirn bench suites SUITE...`: what is no command is a suite."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, "--help"):
            args = ["suites", *args]
        return super().parse_args(ctx, args)


@click.group(cls=Bench, short_help="Run benchmark suites; figures of publications, again.")
def bench() -> None:
    """Run benchmark suites, or write figures of a publication from runs of our own.

    What is not a command is the name of a suite, or an option of suites: pirn bench micro is
    pirn bench suites micro.
    """


@bench.command("suites", short_help="Run benchmark suites against peers, in paired rounds.")
@click.argument("names", metavar="[SUITE]...", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="List the suites.")
@click.option("--rounds", type=click.IntRange(1, 1000), help="Instead of the suite's number.")
@click.option("--peer", "peers", multiple=True, help="Only this peer (repeatable).")
@click.option("--row", "rows", multiple=True, help="Only this row (repeatable).")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for SUITE.csv and SUITE.png [default: results].",
)
def run_suites(
    names: tuple[str, ...],
    only_list: bool,
    rounds: int | None,
    peers: tuple[str, ...],
    rows: tuple[str, ...],
    output: Path | None,
) -> None:
    """Run the benchmark suites (all, or those named) of bench/suites.toml.

    Every round runs every row under every peer, in a new order; the table gives medians and medians
    of paired ratios. Writes every sample as CSV and a plot.
    """
    console = terminal.console()
    root = paths.project()
    suites = load_suites(root / "bench" / "suites.toml")
    if only_list:
        list_suites(console, suites)
        return
    for suite in choose(suites, names):
        check_names(suite, peers, rows)
        samples = run_suite(console, suite, root, rounds or suite.rounds, peers, rows)
        finish(console, suite, samples, output or root / "results")


def check_names(suite: Suite, peers: tuple[str, ...], rows: tuple[str, ...]) -> None:
    """A misspelt --peer or --row must not silently measure nothing."""
    for kind, wanted, known in (
        ("peer", peers, [peer.name for peer in suite.peers]),
        ("row", rows, [row.name for row in suite.rows]),
    ):
        for name in wanted:
            if name not in known:
                valid = ", ".join(known)
                raise UserError(f'suite {suite.name} has no {kind} "{name}" (valid: {valid})', 2)


def list_suites(console: Console, suites: Mapping[str, Suite]) -> None:
    for suite in suites.values():
        console.print(f"[bold]{suite.name}[/bold]: {suite.help}", highlight=False)
        console.print(f"    peers: {', '.join(peer.name for peer in suite.peers)}", highlight=False)
        console.print(f"    rows:  {', '.join(row.name for row in suite.rows)}", highlight=False)


def run_suite(
    console: Console,
    suite: Suite,
    root: Path,
    rounds: int,
    peers: tuple[str, ...],
    rows: tuple[str, ...],
) -> list[Sample]:
    build = paths.build_dir(root)
    places = {
        "root": str(root),
        "build": str(build),
        "bench": str(build / "bench"),
        "apps": str(build / "apps"),
    }
    every = jobs_of(suite, peers, rows)
    jobs = [(row, [peer for peer in own if built(peer, row, places)]) for row, own in every]
    absent = {
        peer.name
        for (_, own), (_, kept) in zip(every, jobs, strict=True)
        for peer in own
        if peer not in kept
    }
    if absent:
        console.print(f"{suite.name}: not built, left out: {', '.join(sorted(absent))}")
    with Progress(*PROGRESS, console=console) as progress:
        task = progress.add_task("", total=rounds * sum(len(own) for _, own in jobs))

        def step(what: str) -> None:
            progress.update(task, description=f"{suite.name} {what}", advance=1)

        return run_rounds(suite, jobs, rounds, places, step)


def finish(console: Console, suite: Suite, samples: list[Sample], output: Path) -> None:
    if not samples:
        raise UserError(f"suite {suite.name} measured nothing: no peer is built (make bench)")
    data, plot = output / f"{suite.name}.csv", output / f"{suite.name}.png"
    report.write_csv(data, samples)
    console.print(report.table(samples, suite.baseline))
    report.write_plot(plot, samples, suite.baseline)
    console.print(f"data: {paths.short(data)}   plot: {paths.short(plot)}", highlight=False)


bench.add_command(reproduce)


@click.command(short_help="Draw the plots again from the CSV files in results/.")
def figures() -> None:
    """Draw the plots of all suites again from results/SUITE.csv, without measuring."""
    console = terminal.console()
    root = paths.project()
    suites = load_suites(root / "bench" / "suites.toml")
    drawn = 0
    for suite in suites.values():
        data = root / "results" / f"{suite.name}.csv"
        if data.exists():
            plot = data.with_suffix(".png")
            report.write_plot(plot, report.read_csv(data), suite.baseline)
            console.print(f"plot: {paths.short(plot)}", highlight=False)
            drawn += 1
    if not drawn:
        raise UserError("results/ holds no CSV file of a suite; run pirn bench first")
