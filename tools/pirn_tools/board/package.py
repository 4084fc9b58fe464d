# SPDX-License-Identifier: MIT
"""Pirn as projects use it on a board: a toolchain file for CMake, pirn.mk for make.

Installed they lie beside board.toml (cmake/install-board.cmake); of the project's tree they are in
the folder of the build."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from pirn_tools import paths
from pirn_tools.board.boards import FILE, Board
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
    if not (folder / CONFIG).exists():  # not installed
        folder = _build(board)
    toolchain = folder / TOOLCHAIN
    if not toolchain.exists():
        raise UserError(f"no Pirn for {board.name}: {toolchain} is not there", status=2)
    compiler = f"{board.target.compiler}gcc"
    if shutil.which(compiler) is None:
        raise UserError(
            f"{compiler} is missing: tools/setup-boards --target {board.target.family}", status=2
        )
    return Package(toolchain, folder / MAKE)


def _build(board: Board) -> Path:
    """The folder of this tree's build for it."""
    root, name = paths.find_project(), board.package.name
    if root is None or not (board.package / FILE).exists():
        raise UserError(f"no Pirn for {board.name}: {board.package} has none", status=2)
    build = root / "build" / name
    if not (build / "src" / "libpirn.a").exists() or not (build / CONFIG).exists():
        configure = f"cmake --preset {name} && cmake --build --preset {name}"
        raise UserError(
            f"Pirn has not been built for {board.name}: in {root} {configure}", status=2
        )
    return build
