# SPDX-License-Identifier: MIT
"""`pirn board`: programs on boards, which are machines of QEMU, or what a command reaches."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from pirn_tools import terminal
from pirn_tools.board import boards, gdb, machine, new, package, runner, stuck, watch
from pirn_tools.board.boards import Board
from pirn_tools.board.options import boards_option
from pirn_tools.board.places import Filter, Places
from pirn_tools.board.recording import Recording, finish
from pirn_tools.group import Group
from pirn_tools.launch import valued

TIMEOUT = 60.0


@click.group(cls=Group)
def board() -> None:
    """Programs on boards without an operating system."""


@board.command("list")
@boards_option
def list_boards(places: tuple[Path, ...]) -> None:
    """List the boards."""
    table = Table(show_header=True, header_style="bold")
    table.add_column("board", no_wrap=True)
    table.add_column("target", no_wrap=True)
    table.add_column("CPUs", no_wrap=True)
    table.add_column("what it is")
    for one in boards.load_all(boards.folders(places)):
        table.add_row(one.name, one.target.name, one.cpus_text, one.description)
    terminal.console().print(table)


@board.command()
@boards_option
@click.argument("name", metavar="BOARD")
def info(name: str, places: tuple[Path, ...]) -> None:
    """Say what BOARD is: CPUs, memory, interrupts of devices, how its programs are compiled and how
    they end."""
    one = boards.find(boards.folders(places), name)
    rows = [
        ("board", f"{one.name}: {one.description}"),
        ("CPUs", f"{one.cpus_text}, {one.cpus_default} without --cpus"),
        ("target", f"{one.target.name}: {one.target.what}"),
        ("compiler", shlex.join([f"{one.target.compiler}gcc", *one.target.flags])),
        ("machine", shlex.join(one.runner.command if one.runner else [one.qemu, *one.arguments])),
        ("exit", one.exit),
    ]
    if one.package.name != one.name:
        rows.insert(3, ("programs", f"those of {one.package.name}"))
    for title, text in rows:
        click.echo(f"{title:<10} {text}")
    for i, (address, what) in enumerate(one.memory):
        click.echo(f"{'' if i else 'memory':<10} {address:#010x}  {what}")
    for i, some in enumerate(one.interrupts):
        numbers = f"{some.first} to {some.last}" if some.last != some.first else f"{some.first}"
        click.echo(f"{'' if i else 'interrupts':<10} {numbers:>10}  {some.what}")


@board.command()
@boards_option
@click.argument("name", metavar="BOARD")
def toolchain(name: str, places: tuple[Path, ...]) -> None:
    """Print the toolchain file of BOARD, with which CMake builds programs for it."""
    click.echo(package.find(boards.find(boards.folders(places), name)).toolchain)


board.add_command(new.command)


class RunCommand(click.Command):
    """--gdb may stand without its port."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _with_port(args, valued(self.params) - {"--gdb"}))


def _with_port(args: list[str], others: frozenset[str]) -> list[str]:
    """--gdb → --gdb=0, among the options in front of BOARD. others: those that have a value."""
    out: list[str] = []
    rest = list(args)
    while rest and rest[0].startswith("-") and rest[0] != "--":
        word = rest.pop(0)
        if word == "--gdb":
            port = rest.pop(0) if rest and rest[0].lstrip("-").isdigit() else "0"
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
    callback=gdb.port,
    metavar="[PORT]",
    help="Wait for gdb at this port of this computer, or at a free one; says how to start gdb.",
)
@click.option(
    "--env",
    multiple=True,
    metavar="NAME=VALUE",
    help="A variable of the program's environment; PIRN_... of ours are handed on.",
)
@click.option(
    "--with",
    "words",
    multiple=True,
    metavar="WORD",
    help="A further option of the command that runs the machine: of QEMU, or of its runner.",
)
@click.option("--trace", metavar="FILE", help="Write an event trace: PIRN_TRACE.")
@click.option("--prof", metavar="FILE", help="Write a profile: PIRN_PROF.")
@click.option("--dry-run", is_flag=True, help="Only print the command.")
@boards_option
@click.argument("name", metavar="BOARD")
@click.argument("program")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(
    name: str,
    program: str,
    args: tuple[str, ...],
    places: tuple[Path, ...],
    **options: Any,  # noqa: ANN401
) -> None:
    """Run PROGRAM with its ARGS on BOARD; the exit status is the program's.

    Files that it opens are those of this computer, from the current directory. Lines "pirn: at
    ADDRESS" of its output get function, file and line.
    """
    one = boards.find(boards.folders(places), name)
    recordings = [
        Recording.asked(kind, options[kind]) for kind in ("trace", "prof") if options[kind]
    ]
    if options["gdb"] is not None and not one.runner:
        options["gdb"] = gdb.free(options["gdb"])
    line = _line(one, program, args, options, recordings)
    if options["dry_run"]:
        click.echo(shlex.join(line))
        return
    (runner.check if one.runner else machine.check_qemu)(one)
    port, timeout = options["gdb"], options["timeout"]
    if port is not None:
        click.echo(f"pirn: waiting for {gdb.command(program, port)}", err=True)
    if timeout is None:
        timeout = TIMEOUT if port is None else 0
    symbols = Places(Path(program))
    stdin = runner.stdin(one, program) if one.runner else None
    filters = (Filter(symbols), Filter(symbols))
    if one.runner:
        status = watch.run(line, timeout, filters, stdin)
    else:
        with stuck.monitored(symbols, one.target.elf[1]) as monitor:
            status = watch.run(line, timeout, filters, stdin, monitor)
    sys.exit(finish(recordings, program, status))


def _line(
    one: Board,
    program: str,
    args: tuple[str, ...],
    options: dict[str, Any],
    recordings: list[Recording],
) -> list[str]:
    machine.check_program(one, program)
    environment = machine.environment(options["env"], os.environ)
    environment.update(recording.setting for recording in recordings)
    chosen = machine.Options(options["cpus"], options["icount"], options["gdb"], options["words"])
    if one.runner:
        return runner.command(one, program, environment, args, chosen)
    return machine.command(one, program, machine.words(environment, program, args), chosen)
