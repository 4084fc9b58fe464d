# SPDX-License-Identifier: MIT
"""The verbs of `pirn prof`."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pirn_tools.arguments import FILE, Function, done, output_option
from pirn_tools.errors import UserError
from pirn_tools.group import Group
from pirn_tools.prof.record import lost, record

# The modules that compute are imported by the verb that needs them: other commands need not wait.
if TYPE_CHECKING:
    from pirn_tools.prof.model import Tree
    from pirn_tools.prof.prune import Pruned
    from pirn_tools.prof.read import Profile
    from pirn_tools.prof.waits import Waits


def chained(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """Several options as one, shown in this order."""

    def apply(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return apply


THREADS = click.option(
    "--thread",
    "threads",
    multiple=True,
    metavar="ID|NAME",
    help="Only this thread: 3.1, 3, its name (also with * and ?), or main, user, idle, "
    "foreign, others, rest.",
)
SELECTION = chained(
    THREADS,
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
    click.option(
        "--inlines",
        is_flag=True,
        help="Tell functions apart that are inlined and not instrumented. Takes longer.",
    ),
)
OF = click.option(
    "--of",
    type=click.Choice(["cpu", "waits", "locks", "releases"]),
    default="cpu",
    show_default=True,
    help="Samples of CPUs; the time that threads waited, by where they did; that for locks alone; "
    "the same by where the locks were released.",
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


def load_tree(
    file: Path,
    threads: tuple[str, ...] = (),
    cpu: int | None = None,
    merge: str = "start",
    instrumented: bool = False,
    inlines: bool = False,
    of: str = "cpu",
) -> Tree:
    """The chosen part; what a reader should know of the file goes to the standard error."""
    from pirn_tools.prof.model import Selection, build
    from pirn_tools.prof.symbols import Symbols

    if of != "cpu" and cpu is not None:
        raise UserError(f"--cpu {cpu}: waits belong to no CPU", status=2)
    profile = load_profile(file)
    selection = Selection(threads, cpu, merge, instrumented, inlines, of)
    return build(profile, Symbols(profile), selection)


def load_profile(file: Path) -> Profile:
    """The file; what a reader should know of it goes to the standard error."""
    from pirn_tools.prof.read import load

    # Many objects and few cycles: to look for those takes longer than the rest.
    gc.disable()
    profile = load(file)
    for remark in (*lost(profile), *profile.remarks):
        click.echo(f"{file}: {remark}", err=True)
    return profile


def load_waits(file: Path, threads: tuple[str, ...]) -> Waits:
    """The waits of threads."""
    from pirn_tools.prof.model import Selection
    from pirn_tools.prof.symbols import Symbols
    from pirn_tools.prof.waits import Waits

    profile = load_profile(file)
    return Waits(profile, Symbols(profile), Selection(threads))


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
    text = "\n".join(lines)
    if text:
        click.echo(text)
    remarks(tree)


def remarks(tree: Tree) -> None:
    for text in tree.symbols.remarks:
        click.echo(text, err=True)


@click.group(cls=Group, short_help="Record where a program spends its time, and look at it.")
def prof() -> None:
    """Record where a program spends its time, by calls and samples, and look at it."""


@prof.command(short_help="The call tree.")
@FILE
@PRUNING
@SELECTION
@OF
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
@OF
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
@OF
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
    lines = list(table(functions.head(found), functions.cells(found, rows), texts=2))
    outside = sum(root.own for root in found.roots)
    if outside and not found.waits:
        lines.append(f"{outside:,} samples ({found.share(outside):.2f}%) with no function active")
    say(found, lines)


@prof.command(short_help="A call graph, by Graphviz.")
@FILE
@output_option("The graph: .dot or .gv (text), or .svg, .pdf, .png by Graphviz.")
@PRUNING
@SELECTION
@OF
def graph(
    file: Path,
    output: Path,
    functions: tuple[str, ...],
    depth: int | None,
    least: float,
    **selection: Any,  # noqa: ANN401
) -> None:
    """Draw the functions of FILE and who calls them: from how many places, how often.

    The more samples a function has of its own, the darker it is; those of -u have a red frame.
    """
    from pirn_tools.prof import graph as drawing

    drawing.check(output)
    pruned = load_pruned(file, functions, depth, least, **selection)
    drawing.write(pruned.tree, drawing.compute(pruned), output)
    remarks(pruned.tree)
    done(output)


@prof.command(short_help="Source files with samples and calls of each line.")
@FILE
@click.option("--function", metavar="FUNC", help="Only this function, all of its lines.")
@click.option("--file", "name", metavar="NAME", help="Only this source file.")
@click.option(
    "--most",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    metavar="N",
    help="So many files, those with most samples.",
)
@click.option(
    "--source",
    "folders",
    multiple=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder with sources that are not where they were compiled. Can be repeated.",
)
@SELECTION
@JSON
def annotate(
    file: Path,
    function: str | None,
    name: str | None,
    most: int,
    folders: tuple[Path, ...],
    as_json: bool,
    **selection: Any,  # noqa: ANN401
) -> None:
    """Print sources with the samples in each line of FILE and the calls made from it.

    It needs the debug information of the program (-g).
    """
    from pirn_tools.prof import annotate as lines

    found = load_tree(file, **selection)
    sources = lines.compute(found)
    if not sources.sources:
        raise UserError(f"{file}: none of its code has lines; build the program with -g")
    spans = lines.spans(found, function) if function is not None else {}
    if function is not None:
        wanted = [one for one in sources.sources if one.path in spans]
        wanted += [lines.Source(path) for path in spans if path not in {s.path for s in wanted}]
    else:
        wanted = lines.chosen(sources, name, most)
    if as_json:
        say(found, [json.dumps(lines.as_json(found, sources, wanted))])
        return
    for one in wanted:
        text = lines.find(one.path, folders)
        if text is None:
            click.echo(f"{one.path} is not there; --source FOLDER says where else", err=True)
        say(found, lines.show(found, one, text, spans.get(one.path)))
    if sources.unknown:
        share = found.share(sources.unknown)
        click.echo(f"{sources.unknown:,} samples ({share:.2f}%) are in code without lines")


@prof.command(short_help="A flame graph, to look into with a browser.")
@FILE
@output_option("The picture: .svg; or its stacks: .folded, for other tools.")
@click.option(
    "--by",
    type=click.Choice(["samples", "calls"]),
    default="samples",
    show_default=True,
    help="The measure of a box's width.",
)
@click.option("--width", type=click.IntRange(400, 10000), default=1200, help="Pixels.")
@click.option("--title", help="The title above it.")
@SELECTION
@OF
def flame(
    file: Path,
    output: Path,
    by: str,
    width: int,
    title: str | None,
    **selection: Any,  # noqa: ANN401
) -> None:
    """Draw FILE as a flame graph: an SVG file with zoom and search for any browser.

    A file .folded has a line for each stack and its number (of waits microseconds), as other tools
    for flame graphs read it.
    """
    from pirn_tools.prof import flame as drawing

    if output.suffix not in (".svg", ".folded"):
        text = f'{output}: a flame graph is .svg, its stacks are .folded, not "{output.suffix}"'
        raise UserError(text, status=2)
    found = load_tree(file, **selection)
    name = Path(found.profile.program).name or file.name
    what = by if not found.waits else TITLES[found.selection.of]
    said = drawing.write(found, output, by, width, title or f"{name}: {what}")
    if said:
        click.echo(said, err=True)
    remarks(found)
    done(output)


TITLES = {
    "waits": "waits, by where threads waited",
    "locks": "waits for locks, by where threads waited",
    "releases": "waits for locks, by where they were released",
}


@prof.command(short_help="Waits of threads, by object and place.")
@FILE
@click.option("--most", type=click.IntRange(1), metavar="N", help="So many lines.  [default: all]")
@THREADS
@JSON
def waits(file: Path, most: int | None, threads: tuple[str, ...], as_json: bool) -> None:
    """Print how long the threads of FILE waited, for what, and in which functions.

    Waited is the time up to the wake-up, ready the time from then on until a CPU ran the thread.
    The profile must have been recorded with --waits.
    """
    from pirn_tools.prof import waits as waiting
    from pirn_tools.prof.text import table

    found = load_waits(file, threads)
    rows = found.rows()
    if as_json:
        click.echo(json.dumps(waiting.as_json(rows[:most])))
    else:
        click.echo("\n".join(table(waiting.HEAD, waiting.cells(rows, most), texts=2)))
    for text in found.remarks:
        click.echo(text, err=True)


@prof.command(short_help="Locks that threads waited for, and who released them.")
@FILE
@click.option("--most", type=click.IntRange(1), metavar="N", help="So many locks.  [default: all]")
@click.option(
    "--all", "everything", is_flag=True, help="Semaphores, condition variables and so on, too."
)
@click.option("--stacks", is_flag=True, help="All stacks that waited, and that released.")
@THREADS
@JSON
def locks(
    file: Path,
    most: int | None,
    everything: bool,
    stacks: bool,
    threads: tuple[str, ...],
    as_json: bool,
) -> None:
    """Print the locks of FILE for which threads waited longest: contention.

    A lock is shown by the name of its variable, else by its address. The functions are those with
    most time. --thread chooses the threads that waited, not those that released.
    """
    from pirn_tools.prof import waits as waiting
    from pirn_tools.prof.text import table

    found = load_waits(file, threads)
    rows = found.locks(everything)
    if as_json:
        click.echo(json.dumps(waiting.locks_as_json(rows[:most])))
    elif stacks:
        click.echo("\n".join(waiting.stack_lines(rows[:most])).rstrip())
    else:
        click.echo("\n".join(table(waiting.LOCK_HEAD, waiting.lock_cells(rows, most), texts=3)))
    for text in found.remarks:
        click.echo(text, err=True)


@prof.command(short_help="A gmon.out for GNU gprof.")
@FILE
@output_option("The file to write, as gmon.out.")
@click.option(
    "--object", "wanted", metavar="FILE", help="The program or library.  [default: the program]"
)
@SELECTION
def gprof(file: Path, output: Path, wanted: str | None, **selection: Any) -> None:  # noqa: ANN401
    """Write what FILE knows of one program or library as gmon.out: gprof PROGRAM gmon.out.

    gprof knows one file's code only, and adds up all threads that are chosen.
    """
    from pirn_tools.prof import gmon

    found = load_tree(file, **selection)
    click.echo(gmon.write(found, output, wanted), err=True)
    remarks(found)
    done(output)


@prof.command(short_help="A profile for pprof.")
@FILE
@output_option("The file to write, as profile.pb.gz.")
@SELECTION
@OF
def pprof(file: Path, output: Path, inlines: bool, **selection: Any) -> None:  # noqa: ANN401
    """Write FILE for pprof: go tool pprof -top profile.pb.gz."""
    from pirn_tools.prof import pprof as converting

    found = load_tree(file, **selection)
    said = converting.write(found, output, inlines)
    if said:
        click.echo(said, err=True)
    remarks(found)
    done(output)


@prof.command(short_help="Facts: threads, nodes, losses, how well the tree's table worked.")
@FILE
@click.option(
    "--blocks",
    "with_blocks",
    is_flag=True,
    help="Also what lists of blocks with 2 to 64 slots would have cost, as in the SHMAC thesis.",
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw --blocks: .png, .svg or .pdf.",
)
@JSON
def stat(file: Path, with_blocks: bool, plot: Path | None, as_json: bool) -> None:
    """Print what is in FILE, and what is not."""
    from pirn_tools.prof import blocks, read
    from pirn_tools.prof import stat as facts
    from pirn_tools.prof.text import table

    if plot is not None:
        blocks.check_picture(plot)
    profile = read.load(file)
    found = facts.facts(profile)
    outcomes = blocks.compute(profile) if with_blocks or plot is not None else []
    if as_json:
        more = {"blocks": blocks.as_json(outcomes)} if outcomes else {}
        click.echo(json.dumps({**found, **more}))
    else:
        lines = facts.lines(found)
        if outcomes:
            lines += ["", *table(blocks.HEAD, blocks.rows(outcomes))]
        click.echo("\n".join([*lines, *profile.remarks]))
    if plot is not None:
        blocks.draw(outcomes, plot)
        done(plot)


@prof.command(short_help="Compare two profiles, by function.")
@click.argument("first", metavar="A", type=click.Path(path_type=Path))
@click.argument("second", metavar="B", type=click.Path(path_type=Path))
@click.option("--most", type=click.IntRange(1), metavar="N", help="So many functions.")
@SELECTION
@OF
@JSON
def diff(
    first: Path,
    second: Path,
    most: int | None,
    as_json: bool,
    **selection: Any,  # noqa: ANN401
) -> None:
    """Compare the profiles A and B: functions whose share differs most come first.

    The exit status is 0 also where they differ.
    """
    from pirn_tools import paths
    from pirn_tools.prof import diff as comparing
    from pirn_tools.prof.text import table
    from pirn_tools.terminal import printable

    left, right = load_tree(first, **selection), load_tree(second, **selection)
    rows = comparing.compute(left, right)[:most]
    if as_json:
        say(left, [json.dumps(comparing.as_json(left, right, rows))])
    else:
        names = zip("AB", paths.distinct(first, second), strict=True)
        click.echo(", ".join(f"{letter}: {printable(name)}" for letter, name in names))
        say(left, table(comparing.HEAD, comparing.cells(left, right, rows), texts=2))
    remarks(right)


prof.add_command(record)
