# SPDX-License-Identifier: MIT
"""The verbs of `pirn trace`."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pirn_tools import terminal
from pirn_tools.arguments import FILE, done, output_option
from pirn_tools.errors import UserError
from pirn_tools.group import Group
from pirn_tools.trace.record import record

# The modules that compute are imported by the verb that needs them: numpy and matplotlib take a
# while, which other commands need not wait.
if TYPE_CHECKING:
    from pirn_tools.trace.model import Model


def load_model(file: Path, quiet: bool = False) -> Model:
    """The file's model; unless quiet, remarks on it go to the standard error."""
    from pirn_tools.trace.model import build
    from pirn_tools.trace.read import load

    # Millions of words and few cycles: to look for those takes longer than the rest.
    gc.disable()
    model = build(load(file))
    for remark in () if quiet else model.trace.remarks:
        click.echo(f"{file}: {remark}", err=True)
    return model


@click.group(cls=Group, short_help="Record what the scheduler does, and look at it.")
def trace() -> None:
    """Record what a program's scheduler does, event by event, and look at it."""


@trace.command(short_help="A trace in numbers, for each CPU and thread.")
@FILE
@click.option("--json", "as_json", is_flag=True, help="All numbers, times in nanoseconds.")
@click.option(
    "--threads",
    "most",
    type=click.IntRange(0),
    default=20,
    show_default=True,
    help="So many threads, those that ran longest.",
)
def stat(file: Path, as_json: bool, most: int) -> None:
    """Print FILE in numbers: interrupts, switches, waiting, wake-ups."""
    from pirn_tools.trace import show
    from pirn_tools.trace.stat import compute

    found = compute(load_model(file))
    if as_json:
        click.echo(json.dumps(found.as_json()))
        return
    console = terminal.console()
    console.print(show.headline(found), highlight=False, markup=False)
    tables = [show.cpu_table(found), show.whole_table(found)]
    if most:
        tables.append(show.thread_table(found, most))
    for cells in (*tables, show.count_table(found)):
        show.draw(console, cells)


@trace.command(short_help="Draw a timeline, or the load, of each CPU.")
@FILE
@output_option("The picture: .png or .svg.")
@click.option(
    "--kind",
    type=click.Choice(["timeline", "load"]),
    default="timeline",
    show_default=True,
    help="Which thread runs where, or how many threads each CPU has.",
)
@click.option("--from", "first", type=float, help="Begin here (ms since the trace began).")
@click.option("--to", "last", type=float, help="End here (ms).")
@click.option("--events", help="Label these events (names, with commas) [default: what fits].")
@click.option("--width", type=click.FloatRange(3, 60), default=12.0, help="Inches.")
def plot(
    file: Path,
    output: Path,
    kind: str,
    first: float | None,
    last: float | None,
    events: str | None,
    width: float,
) -> None:
    """Draw FILE as a picture."""
    from pirn_tools.trace import plot as drawing

    drawing.check_suffix(output)
    model = load_model(file)
    window = drawing.window(model, first, last)
    if kind == "load":
        drawing.load(model, output, window, width)
    else:
        drawing.timeline(model, output, window, width, drawing.choose_events(model, events))
    done(output)


FORMATS = ("csv", "chrome", "vcd")


@trace.command(short_help="Write a trace in another format.")
@FILE
@click.option("--format", "kind", type=click.Choice(FORMATS), required=True, help="Which.")
@output_option("The file to write.")
def export(file: Path, kind: str, output: Path) -> None:
    """Write FILE as CSV (the events), as JSON for Perfetto or Chrome, or as VCD for gtkwave."""
    from pirn_tools.trace import export_chrome, export_csv, export_vcd

    write = {"csv": export_csv.write, "chrome": export_chrome.write, "vcd": export_vcd.write}[kind]
    model = load_model(file)
    try:
        with output.open("w", encoding="utf-8", newline="\n") as stream:
            write(model, stream)
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}") from None
    done(output)


@trace.command(short_help="Compare two traces.")
@click.argument("first", metavar="A", type=click.Path(path_type=Path))
@click.argument("second", metavar="B", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="As JSON, times in nanoseconds.")
def diff(first: Path, second: Path, as_json: bool) -> None:
    """Compare the traces A and B: counts, times, distributions, the first different switch.

    The exit status is 0 also where they differ.
    """
    from pirn_tools.trace import diff as comparing

    found = comparing.compare(load_model(first), load_model(second))
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=1))
    else:
        comparing.draw(terminal.console(), found)


@trace.command(short_help="Write a page to look into a trace with a browser.")
@FILE
@output_option("The HTML file.")
def report(file: Path, output: Path) -> None:
    """Write FILE as one HTML page: timeline with zoom, search for threads, tables.

    It needs neither a server nor the network.
    """
    from pirn_tools.trace import report as page

    page.write(load_model(file), output)
    done(output)


@trace.command(short_help="Put the traces of an MPI program's ranks on one time line.")
@click.argument(
    "traces", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@output_option("The file to write: .json for Perfetto or Chrome, .html a page.")
def merge(traces: tuple[Path, ...], output: Path) -> None:
    """Write the traces FILE... of all ranks of an MPI program as one, messages as arrows.

    The program has used libpirn-mpi, and all ranks have been started with PIRN_TRACE. Clocks are
    aligned by what the ranks have exchanged at the beginning and the end; the error is told.
    """
    from pirn_tools.trace import merge as joining
    from pirn_tools.trace import merge_chrome, merge_page

    if output.suffix not in (".json", ".html"):
        raise UserError(f'"{output}": the name must end with .json (Perfetto) or .html (a page)')
    job = joining.merge([load_model(file, quiet=True) for file in traces])
    for remark in job.remarks:
        click.echo(remark, err=True)
    try:
        with output.open("w", encoding="utf-8", newline="\n") as stream:
            (merge_chrome if output.suffix == ".json" else merge_page).write(job, stream)
    except OSError as error:
        raise UserError(f"cannot write {output}: {error.strerror}") from None
    done(output)


trace.add_command(record)
