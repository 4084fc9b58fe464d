# SPDX-License-Identifier: MIT
"""Boards that a command runs programs on: one that is reached over ssh, a loader, a simulator.

In the words of the command (board.toml, [runner]) these stand for

{program}   the program's file
{cpus}      the number of CPUs
{words}     environment (NAME=VALUE), program and arguments as one text, in which a shell finds them
{options}   the words of --with, if it is a word by itself
{env}       a word for each variable, if it is a word by itself
{args}      a word for each argument, if it is a word by itself

The command `pirn` is this one, wherever it is installed.

The command's outputs are passed on, its exit status is the program's. Where the time is up, or we
are ended, it gets SIGTERM, and SIGKILL two seconds later.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pirn_tools.board.boards import FILE, Board, Runner
from pirn_tools.board.machine import Options, cpus
from pirn_tools.errors import UserError, listing

OURS = "pirn"
SEVERAL = ("{options}", "{env}", "{args}")
SINGLE = ("{program}", "{cpus}", "{words}")


def command(
    board: Board,
    program: str,
    environment: Mapping[str, str],
    args: Sequence[str],
    options: Options,
) -> list[str]:
    runner = _runner(board)
    if options.icount or options.gdb is not None:
        word = "--icount" if options.icount else "--gdb"
        raise UserError(f"{word}: {board.name} is run by {runner.command[0]}, not by QEMU", 2)
    variables = [f"{name}={value}" for name, value in environment.items()]
    if options.words and "{options}" not in runner.command:
        text = f"its command, {FILE}, has no {{options}}"
        raise UserError(f"--with {options.words[0]}: {board.name} takes no options: {text}", 2)
    several = {"{options}": list(options.words), "{env}": variables, "{args}": list(args)}
    single = {
        "{program}": program,
        "{cpus}": str(cpus(board, options)),
        "{words}": shlex.join([*variables, program, *args]),
    }
    line: list[str] = []
    for word in runner.command:
        line += several[word] if word in several else [_filled(board, word, single)]
    return [sys.executable, "-m", "pirn_tools", *line[1:]] if line[0] == OURS else line


def _runner(board: Board) -> Runner:
    assert board.runner is not None  # noqa: S101
    return board.runner


def _filled(board: Board, word: str, values: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        if found[0] in SEVERAL:
            text = f'"{word}": {found[0]} is to be a word by itself'
        elif found[0] in values:
            return values[found[0]]
        else:
            text = f'"{word}": {found[0]} (valid: {listing([*SINGLE, *SEVERAL])})'
        raise UserError(f"{board.name}, {FILE}, runner: {text}")

    return re.sub(r"\{\w*\}", value, word)


def check(board: Board) -> None:
    name = _runner(board).command[0]
    if name != OURS and shutil.which(name) is None:
        raise UserError(f"{board.name} is run by {name}, which is not there", status=2)


def stdin(board: Board, program: str) -> Path | None:
    """The input of the command, if it is not ours."""
    return Path(program) if _runner(board).input == "program" else None
