# SPDX-License-Identifier: MIT
"""`pirn board`: programs on boards, which are machines of QEMU."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from pirn_tools import paths
from pirn_tools.board import boards, machine, watch
from pirn_tools.board.boards import Board
from pirn_tools.board.places import Filter, Places
from pirn_tools.group import Group
from pirn_tools.launch import valued

GDB_PORT = 1234
TIMEOUT = 60.0


@click.group(cls=Group)
def board() -> None:
    """Programs on boards without an operating system."""


@board.command("list")
def list_boards() -> None:
    """List the boards."""
    table = Table(show_header=True, header_style="bold")
    table.add_column("board", no_wrap=True)
    table.add_column("target", no_wrap=True)
    table.add_column("CPUs", no_wrap=True)
    table.add_column("what it is")
    for one in boards.load_all(paths.project()):
        table.add_row(one.name, one.target.name, f"1 to {one.cpus_most}", one.description)
    Console().print(table)


@board.command()
@click.argument("name", metavar="BOARD")
def info(name: str) -> None:
    """Say what BOARD is: CPUs, memory, how its programs are compiled and how they end."""
    one = boards.find(paths.project(), name)
    line = [one.qemu, *one.arguments]
    rows = [
        ("board", f"{one.name}: {one.description}"),
        ("CPUs", f"1 to {one.cpus_most}, {one.cpus_default} without --cpus"),
        ("target", f"{one.target.name}: {one.target.what}"),
        ("compiler", shlex.join([f"{one.target.compiler}gcc", *one.target.flags])),
        ("machine", shlex.join(line)),
        ("exit", one.exit),
    ]
    for title, text in rows:
        click.echo(f"{title:<10} {text}")
    for i, (address, what) in enumerate(one.memory):
        click.echo(f"{'' if i else 'memory':<10} {address:#010x}  {what}")


class RunCommand(click.Command):
    """--gdb may stand without its port."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _with_port(args, valued(self.params) - {"--gdb"}))


def _with_port(args: list[str], others: frozenset[str]) -> list[str]:
    """--gdb → --gdb=1234, among the options in front of BOARD. others: those that have a value."""
    out: list[str] = []
    rest = list(args)
    while rest and rest[0].startswith("-") and rest[0] != "--":
        word = rest.pop(0)
        if word == "--gdb":
            port = rest.pop(0) if rest and rest[0].isdigit() else str(GDB_PORT)
            word = f"--gdb={port}"
        out.append(word)
        if word in others:
            out += rest[:1]
            rest = rest[1:]
    return out + rest


@board.command(cls=RunCommand, context_settings={"allow_interspersed_args": False})
@click.option("--cpus", type=int, metavar="N", help="Number of CPUs.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="S",
    help="Stop after so many seconds, with status 124; 0: never. "
    f"Default {TIMEOUT:g}, with --gdb never.",
)
@click.option("--icount", is_flag=True, help="Time by instructions: runs repeat.")
@click.option(
    "--gdb",
    type=click.IntRange(1, 65535),
    metavar="[PORT]",
    help=f"Wait for gdb at this port of this computer (default {GDB_PORT}).",
)
@click.option(
    "--env",
    multiple=True,
    metavar="NAME=VALUE",
    help="A variable of the program's environment; PIRN_... of ours are handed on.",
)
@click.option("--dry-run", is_flag=True, help="Only print the command.")
@click.argument("name", metavar="BOARD")
@click.argument("program")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(name: str, program: str, args: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401
    """Run PROGRAM with its ARGS on BOARD; the exit status is the program's.

    Files that it opens are those of this computer, from the current directory. Lines "pirn: at
    ADDRESS" of its output get function, file and line.
    """
    one = boards.find(paths.project(), name)
    line = _line(one, program, args, options)
    if options["dry_run"]:
        click.echo(shlex.join(line))
        return
    machine.check_qemu(one)
    port, timeout = options["gdb"], options["timeout"]
    if port is not None:
        click.echo(f"pirn: waiting for {machine.gdb_command(program, port)}", err=True)
    if timeout is None:
        timeout = TIMEOUT if port is None else 0
    places = Places(Path(program))
    sys.exit(watch.run(line, timeout, (Filter(places), Filter(places))))


def _line(one: Board, program: str, args: tuple[str, ...], options: dict[str, Any]) -> list[str]:
    machine.check_program(one, program)
    environment = machine.environment(options["env"], os.environ)
    chosen = machine.Options(options["cpus"], options["icount"], options["gdb"])
    return machine.command(one, program, machine.words(environment, program, args), chosen)
