# SPDX-License-Identifier: MIT
"""The verbs of `pirn prof`."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pirn_tools.group import Group
from pirn_tools.paths import short
from pirn_tools.prof.record import lost, record

# The modules that compute are imported by the verb that needs them: other commands need not wait.
if TYPE_CHECKING:
    from pirn_tools.prof.model import Tree
    from pirn_tools.prof.prune import Pruned

FILE = click.argument("file", type=click.Path(path_type=Path))
Function = TypeVar("Function", bound=Callable[..., Any])


def chained(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Several options as one, shown in this order."""

    def apply(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return apply


SELECTION = chained(
    click.option(
        "--thread",
        "threads",
        multiple=True,
        metavar="ID|NAME",
        help="Only this thread: 3.1, 3, its name (also with * and ?), or main, user, idle, "
        "foreign, others.",
    ),
    click.option("--cpu", type=click.IntRange(-1), help="Only samples of this CPU."),
    click.option(
        "--merge",
        type=click.Choice(["start", "all", "none"]),
        default="start",
        show_default=True,
        help="One tree for threads with the same start routine, for all, or for each.",
    ),
    click.option(
        "--instrumented",
        is_flag=True,
        help="Count samples for the instrumented function that was active.",
    ),
)
PRUNING = chained(
    click.option(
        "-u",
        "--function",
        "functions",
        multiple=True,
        metavar="FUNC",
        help="Only what leads to this function, and what it calls. Can be repeated.",
    ),
    click.option(
        "--depth",
        type=click.IntRange(0),
        help="So many levels below those functions (without -u: below the threads).",
    ),
    click.option(
        "--min",
        "least",
        type=click.FloatRange(0, 100),
        default=0.0,
        metavar="PERCENT",
        help="Leave out what has less of all samples.",
    ),
)
JSON = click.option("--json", "as_json", is_flag=True, help="As JSON.")


def output_option(text: str) -> Callable[[Function], Function]:
    """-o FILE."""
    return click.option(
        "-o",
        "--output",
        required=True,
        type=click.Path(dir_okay=False, path_type=Path),
        help=text,
    )


def load_tree(
    file: Path,
    threads: tuple[str, ...] = (),
    cpu: int | None = None,
    merge: str = "start",
    instrumented: bool = False,
) -> Tree:
    """The chosen part; what a reader should know of the file goes to the standard error."""
    from pirn_tools.prof.model import Selection, build
    from pirn_tools.prof.read import load
    from pirn_tools.prof.symbols import Symbols

    # Many objects and few cycles: to look for those takes longer than the rest.
    gc.disable()
    profile = load(file)
    for remark in (*lost(profile.counts), *profile.remarks):
        click.echo(f"{file}: {remark}", err=True)
    return build(profile, Symbols(profile), Selection(threads, cpu, merge, instrumented))


def load_pruned(
    file: Path,
    functions: tuple[str, ...],
    depth: int | None,
    least: float,
    **selection: Any,  # noqa: ANN401
) -> Pruned:
    from pirn_tools.prof.prune import Pruning, prune

    return prune(load_tree(file, **selection), Pruning(functions, depth, least))


def say(tree: Tree, lines: Iterable[str]) -> None:
    """The output, and what had no names."""
    for line in lines:
        click.echo(line)
    remarks(tree)


def remarks(tree: Tree) -> None:
    for text in tree.symbols.remarks:
        click.echo(text, err=True)


def done(output: Path) -> None:
    click.echo(f"{short(output)}: {output.stat().st_size / 1e3:,.1f} kB", err=True)


@click.group(cls=Group, short_help="Record where a program spends its time, and look at it.")
def prof() -> None:
    """Record where a program spends its time, by calls and samples, and look at it."""


@prof.command(short_help="The call tree.")
@FILE
@PRUNING
@SELECTION
@JSON
def tree(
    file: Path,
    functions: tuple[str, ...],
    depth: int | None,
    least: float,
    as_json: bool,
    **selection: Any,  # noqa: ANN401
) -> None:
    """Print the call tree of FILE.

    Each line has a function, where it was called, the share and number of samples in it and what it
    called, the share and number in itself, and how often it was called there.
    """
    from pirn_tools.prof import tree as printing

    pruned = load_pruned(file, functions, depth, least, **selection)
    if as_json:
        say(pruned.tree, [json.dumps(printing.as_json(pruned))])
    else:
        say(pruned.tree, printing.lines(pruned))


@prof.command(short_help="The critical path: the heaviest way down.")
@FILE
@SELECTION
@JSON
def path(file: Path, as_json: bool, **selection: Any) -> None:  # noqa: ANN401
    """Print the heaviest way down the call tree of FILE, with the time in each function."""
    from pirn_tools.prof import tree as printing
    from pirn_tools.prof.prune import Pruned
    from pirn_tools.prof.text import table

    found = load_tree(file, **selection)
    nodes = printing.heaviest(found)
    if as_json:
        hidden = len(found.nodes) - len(nodes)
        say(found, [json.dumps(printing.as_json(Pruned(found, nodes, set(), hidden)))])
    else:
        say(found, table(printing.PATH_HEAD, printing.path_rows(found, nodes), texts=2))


@prof.command(short_help="The functions, whatever the ways to them.")
@FILE
@click.option(
    "--sort",
    type=click.Choice(["own", "total", "calls", "name"]),
    help="By samples in them, in them and what they call, by calls, by name.  [default: own; "
    "calls where there are no samples]",
)
@click.option(
    "--most", type=click.IntRange(1), metavar="N", help="So many functions.  [default: all]"
)
@SELECTION
@JSON
def flat(
    file: Path,
    sort: str | None,
    most: int | None,
    as_json: bool,
    **selection: Any,  # noqa: ANN401
) -> None:
    """Print the functions of FILE: samples in them (own), also in what they call (total), calls.

    A sample counts once in total, also where the function has called itself.
    """
    from pirn_tools.prof import flat as functions
    from pirn_tools.prof.text import table

    found = load_tree(file, **selection)
    by = sort or ("own" if found.total else "calls")
    rows = functions.ordered(functions.compute(found), by)[:most]
    if as_json:
        say(found, [json.dumps(functions.as_json(found, rows))])
        return
    lines = list(table(functions.HEAD, functions.cells(found, rows), texts=2))
    outside = sum(root.own for root in found.roots)
    if outside:
        lines.append(f"{outside:,} samples ({found.share(outside):.2f}%) with no function active")
    say(found, lines)


prof.add_command(record)
