# SPDX-License-Identifier: MIT
"""Programs of others on boards: built with the board's `pirn-cc`, and the same for this machine.

The boards' output is compared with the latter. A program stays until recipe, version or the board's
libraries change.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from pathlib import Path

from pirn_tools.board.targets import Target
from pirn_tools.errors import UserError
from pirn_tools.programs.build import Recipe, make
from pirn_tools.programs.plan import Program
from pirn_tools.programs.sources import Source

HOST = "host"
LIBRARIES = ("pirn-cc", "src/libpirn.a", "src/posix/libpirn-pthread.a")


def build_host(program: Program, source: Source, folder: Path) -> Path:
    steps = _steps(program, "")
    return make(program, source, HOST, folder, Recipe(steps, f"{source.version}\n{steps}\n"))


def build_board(
    program: Program, source: Source, target: Target, board_build: Path, folder: Path
) -> Path:
    """board_build: the board's build folder of this project."""
    compiler = board_build / LIBRARIES[0]
    if not all((board_build / name).exists() for name in LIBRARIES):
        raise UserError(f"no libraries in {board_build}; `make boards` builds them")
    libraries = hashlib.sha256(b"".join((board_build / name).read_bytes() for name in LIBRARIES))
    steps = _steps(program, program.cross.format(cpu=target.cpu_family, prefix=target.compiler))
    text = f"{source.version}\n{steps}\n{libraries.hexdigest()}\n"
    recipe = Recipe(steps, text, {"CC": str(compiler)})
    return make(program, source, board_build.name, folder, recipe)


def _steps(program: Program, cross: str) -> list[list[str]]:
    if not program.board:
        raise UserError(f"{program.name} has no commands for boards in programs.toml")
    values = {"cross": cross, "jobs": str(len(os.sched_getaffinity(0)))}
    return [shlex.split(line.format(**values)) for line in program.board]
