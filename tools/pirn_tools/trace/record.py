# SPDX-License-Identifier: MIT
"""`pirn trace record`: a program with its event trace on.

The runtime writes the file itself (options trace, tracesize, tracefull, as environment variables);
this starts the program, waits for it, and says what has become of the file. All options of
`pirn run` are options here, too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pirn_tools import launch, outputs
from pirn_tools.errors import UserError
from pirn_tools.paths import short

DEFAULT = "pirn.trace"
OWN = ("trace", "tracesize", "tracefull")  # options of the library that have other names here


def program_environment(output: str, size: str | None, full: str | None) -> dict[str, str]:
    """The settings that make the runtime write a trace; relative names are meant from here."""
    chosen = {"PIRN_TRACE": str(Path.cwd() / output)}
    if size is not None:
        chosen["PIRN_TRACESIZE"] = size
    if full is not None:
        chosen["PIRN_TRACEFULL"] = full
    return chosen


def describe(path: Path) -> str:
    """The recorded trace, in one line."""
    from pirn_tools.trace import read

    trace = read.load(path)
    lost = f", {trace.lost:,} lost" if trace.lost else ", none lost"
    said = f"{short(path)}: {len(trace.rows):,} events of {trace.cpus} CPUs{lost}"
    remarks = [text for text in trace.remarks if " lost" not in text]
    return "\n    ".join([said, *remarks])


def nothing_written(output: str, program: str, status: int) -> str:
    """Why there may be no file."""
    return (
        f"{program} has written no trace to {output} (exit status {status}): it never started "
        "Pirn's runtime, or ended before it did; a program starts it with its first thread"
    )


def verbs(path: Path) -> str:
    """Commands to use next."""
    name = short(path)
    stem = short(path.with_suffix(""))
    return "\n".join(
        f"    pirn trace {verb}"
        for verb in (
            f"stat {name}",
            f"plot {name} -o {stem}.png",
            f"report {name} -o {stem}.html",
            f"export {name} --format chrome -o {stem}.json",
        )
    )


@launch.command(left_out=OWN, short_help="Run a program with its event trace on.")
@click.option(
    "-o",
    "--output",
    default=DEFAULT,
    show_default=True,
    metavar="FILE",
    help="Where the trace goes; %p in the name is the number of the process.",
)
@click.option(
    "--size",
    metavar="BYTES",
    help="Room for events of each CPU, 64K to 1G [default: 4M]; a CPU writes 16 bytes an event.",
)
@click.option(
    "--full",
    type=click.Choice(["oldest", "stop"]),
    help="A full ring drops its oldest events (the default), or records no more.",
)
@launch.program
def record(output: str, size: str | None, full: str | None, **given: Any) -> None:  # noqa: ANN401
    """Run PROGRAM with its ARGS and record what its scheduler does.

    The options of pirn run are options here, too. The exit status is the program's.
    """
    if output == "off":
        raise UserError('a trace cannot be called "off" (./off can)', status=2)
    program = launch.prepare(**given).with_settings(program_environment(output, size, full))
    before = outputs.existing(output)
    status = program.wait()
    files = outputs.written(output, before)
    if not files:
        text = nothing_written(output, program.arguments[0], status)
        raise UserError(text, status=status or 1)
    for file in files:
        click.echo(describe(file), err=True)
    click.echo(verbs(files[0]), err=True)
    click.get_current_context().exit(status)
