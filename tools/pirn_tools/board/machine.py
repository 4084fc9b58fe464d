# SPDX-License-Identifier: MIT
"""A board's QEMU with a program: the command, and what is checked before."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pirn_tools.binary.elf import File
from pirn_tools.board.boards import Board
from pirn_tools.errors import UserError

COMMON = ("-display", "none", "-monitor", "none", "-serial", "stdio")
# One instruction takes 8 ns, and time goes on at once when all CPUs wait, also that of calendar
# clocks: runs repeat.
ICOUNT = ("-icount", "shift=3,sleep=off", "-rtc", "clock=vm")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# Variables of the tools on this side.
OURS = frozenset({"PIRN_APPS", "PIRN_BOARD", "PIRN_BOARDS", "PIRN_BUILD", "PIRN_LIBRARY"})


@dataclass(frozen=True)
class Options:
    """How the machine runs."""

    cpus: int | None = None
    icount: bool = False
    gdb: int | None = None  # the port
    words: tuple[str, ...] = ()  # more words of the machine's command


def command(board: Board, program: str, words: Sequence[str], options: Options) -> list[str]:
    """QEMU's. words: what the program gets, see `words`."""
    semihosting = ["enable=on", "target=native", *(f"arg={_doubled(word)}" for word in words)]
    line = [board.qemu, *board.arguments, "-smp", str(cores(board, options)), *COMMON]
    line += [*options.words, "-semihosting-config", ",".join(semihosting)]
    if options.icount:
        line += ICOUNT
    if options.gdb is not None:
        line += ["-gdb", f"tcp:127.0.0.1:{options.gdb}", "-S"]
    return [*line, "-kernel", program]


def cpus(board: Board, options: Options) -> int:
    """How many."""
    chosen = board.cpus_default if options.cpus is None else options.cpus
    if not 1 <= chosen <= board.cpus_most:
        raise UserError(f"--cpus {chosen}: {board.name} has 1 to {board.cpus_most}", status=2)
    return chosen


def cores(board: Board, options: Options) -> int:
    """Of the machine: CPUs, and those that do not run programs."""
    return cpus(board, options) + len(board.parked)


def _doubled(word: str) -> str:
    """A comma ends a value."""
    return word.replace(",", ",,")


def words(environment: Mapping[str, str], program: str, args: Sequence[str]) -> list[str]:
    """NAME=VALUE..., the program's name, its arguments; spaces and what else would end a word
    have a backslash in front: QEMU makes one line of them."""
    if NAME.match(program.partition("=")[0]) and "=" in program:
        program = f"./{program}"
    values = [f"{name}={value}" for name, value in environment.items()]
    return [_escaped(word) for word in (*values, program, *args)]


def _escaped(word: str) -> str:
    if not word:
        raise UserError("a program on a board cannot get an empty argument", status=2)
    return re.sub(r"([\s\\\"'])", r"\\\1", word)


def environment(given: Sequence[str], ours: Mapping[str, str]) -> dict[str, str]:
    """The program's environment: our PIRN_..., then the given NAME=VALUE."""
    chosen = {
        name: value
        for name, value in sorted(ours.items())
        if name.startswith("PIRN_") and NAME.match(name) and name not in OURS
    }
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not NAME.match(name):
            raise UserError(f'--env "{text}": NAME=VALUE is valid', status=2)
        chosen[name] = value
    return chosen


def check_program(board: Board, program: str) -> None:
    """It is there, and for this machine."""
    file = File(str(Path(program).absolute()))
    if isinstance(file.error, OSError):
        raise UserError(f"{program}: {file.error.strerror}", status=2)
    if file.error is not None:
        raise UserError(f"{program} is not an ELF file", status=2)
    found = (file.machine, file.bits)
    if found != board.target.elf:
        raise UserError(
            f"{program} is for {_machine(found)}; {board.name} runs {_machine(board.target.elf)}",
            status=2,
        )
    if file.kind != "ET_EXEC":
        raise UserError(f"{program} is not linked to fixed addresses (ET_EXEC)", status=2)


def _machine(kind: tuple[str, int]) -> str:
    return f"{str(kind[0]).removeprefix('EM_')}, {kind[1]} bits"


def check_qemu(board: Board) -> None:
    if shutil.which(board.qemu) is None:
        raise UserError(
            f"{board.qemu} is missing: tools/setup-boards --target {board.target.family}", status=2
        )
