# SPDX-License-Identifier: MIT
"""The commands `pirn ps`, `pirn dump`, `pirn top`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console

from pirn_tools import terminal
from pirn_tools.allowance import Allowance
from pirn_tools.errors import UserError
from pirn_tools.limits import LimitError, guard
from pirn_tools.live.objects import MEMORY
from pirn_tools.live.process import Process
from pirn_tools.live.snapshot import Runtime

LIMIT = 1.5  # s of CPU time
FOR_FILES = 2 / 3
SORTS = ("id", "name", "class", "state", "cpu", "share", "time", "waits")


def pid_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """-p PID."""
    return click.option(
        "-p",
        "--pid",
        type=click.IntRange(1),
        required=True,
        help="The process: a program that runs on Pirn.",
    )(command)


def limit_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """--limit SECONDS."""
    return click.option(
        "--limit",
        type=click.FloatRange(0.1),
        default=LIMIT,
        show_default=True,
        metavar="SECONDS",
        help="CPU time that a look may take, and 128 MiB of memory for each second.",
    )(command)


@contextmanager
def limited(pid: int, seconds: float) -> Iterator[None]:
    """The process may be hostile and controls the data: reading it must not take for ever."""
    try:
        with guard(seconds, int(seconds * MEMORY), "to look at it"):
            yield
    except LimitError as error:
        raise UserError(
            f"process {pid}: {error.message}: it has very many threads, or its data are damaged; "
            "--limit SECONDS allows more"
        ) from None


def allowance(seconds: float) -> Allowance:
    """Of the limit, for names and lines; without them the rest makes sense, too."""
    return Allowance(seconds * FOR_FILES, int(seconds * FOR_FILES * MEMORY))


def say_limits(runtime: Runtime) -> None:
    """Why names and lines are missing."""
    for text in runtime.objects.allowance.limits:
        click.echo(f"names are missing: {text}; --limit SECONDS allows more", err=True)


def console() -> Console:
    """The standard output."""
    return terminal.console(highlight=False, markup=False, emoji=False)


@click.command(short_help="Workers and threads of a running program.")
@pid_option
@click.option(
    "--equal",
    is_flag=True,
    help="Threads with the same name, class, state and wait in one line.",
)
@limit_option
def ps(pid: int, equal: bool, limit: float) -> None:
    """Print the workers and the threads of a running program, once.

    The program is not stopped. Ready: threads that wait for a CPU, and ran on this one last. Idle:
    share of the time since the start. Time: CPU time, where the program has it counted.
    """
    from pirn_tools.live import tables

    with Process(pid) as process, limited(pid, limit):
        runtime = Runtime(process, allowance(limit))
        snapshot = runtime.look()
        found = tables.in_order(tables.rows(runtime, snapshot), tables.COLUMNS[0])
        out = console()
        out.print(tables.heading(runtime, snapshot))
        out.print(tables.cpus_table(snapshot))
        out.print()
        columns = tables.columns(top=False)
        if equal:
            found, columns = tables.equal_once(found), tables.EQUAL_COLUMNS
        tables.print_text(out, tables.threads_text(found, columns))
        if not snapshot.counted and not equal:
            out.print(tables.UNCOUNTED, style="dim")
        say_limits(runtime)


@click.command(short_help="Threads of a running program: their waits, with back traces.")
@pid_option
@click.option("--all", "all_threads", is_flag=True, help="Each thread by itself: no groups.")
@limit_option
def dump(pid: int, all_threads: bool, limit: float) -> None:
    """Print what each thread of a running program does or waits for, with its back trace.

    The program is not stopped; threads that run have no back trace. Threads with the same back
    trace and the same kind of wait are shown once. Threads that wait for each other in a circle are
    named at the end.
    """
    from pirn_tools.live import tables
    from pirn_tools.live.dump import Dump

    with Process(pid) as process, limited(pid, limit):
        runtime = Runtime(process, allowance(limit))
        snapshot = runtime.look()
        click.echo(tables.heading(runtime, snapshot))
        for line in Dump(runtime, snapshot).lines(all_threads):
            click.echo(line)
        say_limits(runtime)


@click.command(short_help="A running program's workers and threads, live.")
@pid_option
@click.option(
    "-d",
    "--delay",
    type=click.FloatRange(0.1),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="From one look to the next.",
)
@click.option(
    "-n",
    "--count",
    type=click.IntRange(1),
    metavar="COUNT",
    help="Print all threads so many times, without keys: for files, pipes, dumb terminals.",
)
@click.option(
    "-s",
    "--sort",
    type=click.Choice(SORTS),
    default="state",
    show_default=True,
    help="The column to sort by, at first.",
)
@limit_option
def top(pid: int, delay: float, count: int | None, sort: str, limit: float) -> None:
    """Show the workers and the threads of a running program, again and again.

    Keys: q quits; < and >, or i n c s p u t w, choose the column to sort by, r the other direction;
    arrows and page keys move. It ends with the program, too. Counts of workers are those of a
    second, Idle and % shares of the time since the last look.
    """
    from pirn_tools.live import top as module

    if count is None and not _has_screen():
        raise UserError(
            "there is no terminal to draw on (or TERM is dumb): with -n COUNT the tables are "
            "printed so many times",
            status=2,
        )
    view = module.View(SORTS.index(sort))
    with Process(pid) as process:
        with limited(pid, limit):
            runtime = Runtime(process, allowance(limit))
        screen = module.Screen(runtime, console(), view, delay, lambda: limited(pid, limit))
        if count is None:
            screen.live()
        else:
            screen.batch(count)


def _has_screen() -> bool:
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return terminal and os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown")
