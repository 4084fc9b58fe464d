# SPDX-License-Identifier: MIT
"""The pirn command: its subcommands, and the one place where errors become messages."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pirn_tools import __version__, man
from pirn_tools.bench.command import bench, figures
from pirn_tools.board.cli import board
from pirn_tools.demo.command import demo
from pirn_tools.group import Group
from pirn_tools.live.cli import dump, ps, top
from pirn_tools.prof.cli import prof
from pirn_tools.programs.command import programs
from pirn_tools.run import run
from pirn_tools.sched import sched
from pirn_tools.testing.command import command as test
from pirn_tools.trace.cli import trace


@click.group(cls=Group, context_settings={"max_content_width": 100})
@click.version_option(__version__, prog_name="pirn")
def main() -> None:
    """Run, compare and measure threaded programs on the Pirn runtime."""


@main.command("man", hidden=True)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path))
def man_page(output: Path | None) -> None:
    """Write the manual page pirn.1, made from the library's table."""
    text = man.page(main)
    if output is None:
        click.echo(text, nl=False)
    else:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text)


COMMANDS = (run, sched, bench, figures, demo, programs, board, test, trace, prof, ps, dump, top)
for command in COMMANDS:
    main.add_command(command)


def entry() -> None:
    """What the installed script calls. Errors of the system become one line, too."""
    try:
        main(prog_name="pirn")
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        click.echo(f"Error: {name}{error.strerror or error}", err=True)
        sys.exit(1)
