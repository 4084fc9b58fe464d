# SPDX-License-Identifier: MIT
"""`pirn prof record`: a program with the profiler on.

The runtime writes the file itself (its options prof, profrate and so on, as environment variables);
this starts the program, waits for it, and says what has become of the file. All options of
`pirn run` are options here, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pirn_tools import launch, outputs
from pirn_tools.errors import UserError
from pirn_tools.paths import short

if TYPE_CHECKING:
    from pirn_tools.prof.read import Profile

DEFAULT = "pirn.prof"
# Options of the library that have other names here.
OWN = (
    "prof",
    "profrate",
    "profclock",
    "profnodes",
    "profthreads",
    "profframes",
    "profwaits",
    "profwaitns",
)


def program_environment(output: str, given: Mapping[str, object]) -> dict[str, str]:
    """The settings that make the runtime write a profile; relative names are meant from here."""
    chosen = {"PIRN_PROF": str(Path.cwd() / output)}
    for name, value in given.items():
        if value is not None:
            chosen[f"PIRN_PROF{name.upper()}"] = str(value)
    return chosen


def describe(path: Path) -> str:
    """The recorded profile in one line, and remarks for its reader."""
    from pirn_tools.prof import flat, model, read, symbols

    profile = read.load(path)
    names = symbols.Symbols(profile)
    # The cost of profiling itself is not what one wants to read first.
    counted = any(one.kind == "call" for one in profile.order)
    tree = model.build(profile, names, model.Selection(instrumented=counted))
    rows = flat.compute(tree)
    threads = sum(one.threads for one in profile.threads if one.kind not in ("idle", "rest"))
    calls = sum(node.calls for node in tree.nodes)
    said = f"{short(path)}: {threads:,} threads, {calls:,} calls, {tree.total:,} samples"
    if tree.total and rows:
        top = flat.ordered(rows, "own")[0]
        said += f", most in {top.function.name} ({tree.share(top.own):.1f}%)"
    elif calls:
        top = flat.ordered(rows, "calls")[0]
        said += f", most calls of {top.function.name} ({top.calls:,})"
    if profile.number("waits"):
        waits = sum(one.times for one in profile.waits if one.kind == "waited")
        said += f", {waits:,} waits"
    return "\n    ".join([said, *lost(profile), *profile.remarks])


def lost(profile: Profile) -> list[str]:
    """The parts that the profile lacks."""
    said = []
    counts = profile.counts
    if profile.without_tree:
        said.append(
            f"{profile.without_tree:,} calls are known by function and call site only: the tree "
            "was full (--nodes gives room)"
        )
    if counts.get("lost_calls"):
        said.append(
            f"{counts['lost_calls']:,} calls are not in it: the tree was full (--nodes gives room)"
        )
    if counts.get("lost_samples"):
        said.append(f"{counts['lost_samples']:,} samples are not in it: the histogram was full")
    if counts.get("lost_waits"):
        said.append(
            f"{counts['lost_waits']:,} waits are not in it: their table was full (--nodes gives "
            "room)"
        )
    return said


def say(path: Path) -> bool:
    """Says what was recorded; false: a program that dies leaves a file that has no end."""
    try:
        click.echo(describe(path), err=True)
    except UserError as error:
        click.echo(f"no profile: {error.message}", err=True)
        return False
    return True


def nothing_written(output: str, program: str, status: int) -> str:
    """Why there may be no file."""
    return (
        f"{program} has written no profile to {output} (exit status {status}): it is written when "
        "the program ends in the ordinary way, or calls pirn_prof_write"
    )


def verbs(path: Path, waits: bool = False) -> str:
    """Commands to use next."""
    name, stem = short(path), short(path.with_suffix(""))
    said = [f"flat {name}", f"tree {name} --min 1", f"flame {name} -o {stem}.svg"]
    if waits:
        said += [f"waits {name}", f"locks {name}", f"flame {name} --of waits -o {stem}-waits.svg"]
    return "\n".join(f"    pirn prof {verb}" for verb in said)


@launch.command(left_out=OWN, short_help="Run a program with the profiler on.")
@click.option(
    "-o",
    "--output",
    default=DEFAULT,
    show_default=True,
    metavar="FILE",
    help="Where the profile goes; %p in the name is the number of the process.",
)
@click.option("--rate", metavar="HZ", help="Samples a second of each CPU's clock; 0: none.")
@click.option(
    "--clock",
    type=click.Choice(["cpu", "wall"]),
    help="Whether a CPU is looked at while it executes, or while it sleeps, too.",
)
@click.option("--nodes", metavar="N", help="Room for nodes of the call trees, made at the start.")
@click.option("--threads", metavar="N", help="So many threads have trees of their own.")
@click.option(
    "--frames/--no-frames",
    default=None,
    help="Whether samples of code that is not instrumented have their callers.",
)
@click.option("--waits", is_flag=True, help="Also how long threads wait, where and for what.")
@click.option(
    "--wait-ns",
    metavar="NS",
    help="Of shorter waits only some are recorded; 1: all.  [default: 100000]",
)
@launch.program
def record(
    output: str,
    rate: str | None,
    clock: str | None,
    nodes: str | None,
    threads: str | None,
    frames: bool | None,
    waits: bool,
    wait_ns: str | None,
    **given: Any,  # noqa: ANN401
) -> None:
    """Run PROGRAM with its ARGS and record where it spends its time.

    Calls are counted of what was compiled with -finstrument-functions; without it there are samples
    only. The options of pirn run are options here, too. The exit status is the program's.
    """
    if output == "off":
        raise UserError('a profile cannot be called "off" (./off can)', status=2)
    chosen = {
        "rate": rate,
        "clock": clock,
        "nodes": nodes,
        "threads": threads,
        "frames": None if frames is None else int(frames),
        "waits": 1 if waits or wait_ns is not None else None,
        "waitns": wait_ns,
    }
    program = launch.prepare(**given).with_settings(program_environment(output, chosen))
    before = outputs.existing(output)
    status = program.wait()
    files = outputs.written(output, before)
    if not files:
        text = nothing_written(output, program.arguments[0], status)
        raise UserError(text, status=status or 1)
    whole = [file for file in files if say(file)]
    if whole:
        click.echo(verbs(whole[0], "waits" in chosen and chosen["waits"] is not None), err=True)
    click.get_current_context().exit(status if whole else status or 1)
