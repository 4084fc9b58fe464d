# SPDX-License-Identifier: MIT
"""Pirn as projects use it on a board: a toolchain file for CMake, pirn.mk for make.

Installed they lie beside board.toml (cmake/install-board.cmake); in the project's tree the first
does, and the second is in the folder of the build."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from pirn_tools.board.boards import Board
from pirn_tools.errors import UserError

TOOLCHAIN = "toolchain.cmake"
CONFIG = "pirn-config.cmake"
MAKE = "pirn.mk"


@dataclass(frozen=True)
class Package:
    toolchain: Path
    make: Path


def find(board: Board) -> Package:
    """Of a board that Pirn has been ported to and built for, with its compiler; else an error."""
    folder = board.package
    toolchain = folder / TOOLCHAIN
    if not toolchain.exists():
        raise UserError(f"no Pirn for {board.name}: {toolchain} is not there", status=2)
    if not (folder / CONFIG).exists():  # not installed
        folder = folder.parents[2] / "build" / folder.name
        if not (folder / "src" / "libpirn.a").exists() or not (folder / CONFIG).exists():
            raise UserError(
                f"Pirn has not been built for {board.name}: in {board.package.parents[2]} "
                f"cmake --preset {folder.name} && cmake --build --preset {folder.name}",
                status=2,
            )
    compiler = f"{board.target.compiler}gcc"
    if shutil.which(compiler) is None:
        raise UserError(
            f"{compiler} is missing: tools/setup-boards --target {board.target.family}", status=2
        )
    return Package(toolchain, folder / MAKE)
