# SPDX-License-Identifier: MIT
"""The pirn command: its subcommands, and the one place where errors become messages."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import click

from pirn_tools import __version__
from pirn_tools.group import LazyGroup


class Main(LazyGroup):
    """A program on a board starts in two thirds of the time that it takes to load all commands."""

    lazy: ClassVar[Mapping[str, str]] = {
        "run": "pirn_tools.run:run",
        "doctor": "pirn_tools.doctor.cli:doctor",
        "sched": "pirn_tools.sched:sched",
        "affinity": "pirn_tools.affinity:affinity",
        "bench": "pirn_tools.bench.command:bench",
        "figures": "pirn_tools.bench.command:figures",
        "demo": "pirn_tools.demo.command:demo",
        "programs": "pirn_tools.programs.command:programs",
        "world": "pirn_tools.world.command:world",
        "soak": "pirn_tools.soak.command:soak",
        "guest": "pirn_tools.guest.command:guest",
        "board": "pirn_tools.board.cli:board",
        "chip": "pirn_tools.chip.cli:chip",
        "test": "pirn_tools.testing.command:command",
        "trace": "pirn_tools.trace.cli:trace",
        "prof": "pirn_tools.prof.cli:prof",
        "ps": "pirn_tools.live.cli:ps",
        "dump": "pirn_tools.live.cli:dump",
        "top": "pirn_tools.live.cli:top",
    }


@click.group(cls=Main, context_settings={"max_content_width": 100})
@click.version_option(__version__, prog_name="pirn")
def main() -> None:
    """Run, compare and measure threaded programs on the Pirn runtime."""


@main.command("man", hidden=True)
@click.argument("name", default="pirn.1")
@click.option("--folder", type=click.Path(file_okay=False, path_type=Path), help="Write all pages.")
def man_pages(name: str, folder: Path | None) -> None:
    """Print one of the manual pages, or write all of them."""
    from pirn_tools import man, paths
    from pirn_tools.errors import UserError, listing

    pages = man.pages(main, paths.project() / "include" / "pirn")
    if folder is not None:
        man.write(folder, pages)
    elif name in pages:
        click.echo(pages[name], nl=False)
    else:
        raise UserError(f'no manual page "{name}" (valid: {listing(sorted(pages))})', status=2)


@main.command("options-page", hidden=True)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path))
def write_options_page(output: Path | None) -> None:
    """Write the guide's page of options, made from the library's table."""
    from pirn_tools import options_page

    text = options_page.page()
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text)


def entry() -> None:
    """The entry of the installed script. Errors of the system become one line, too."""
    try:
        main(prog_name="pirn")
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        click.echo(f"Error: {name}{error.strerror or error}", err=True)
        sys.exit(1)
