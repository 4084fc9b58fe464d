# SPDX-License-Identifier: MIT
"""Where things are: the project's tree and its builds."""

from __future__ import annotations

import os
from pathlib import Path

from pirn_tools.errors import UserError

MARKS = ("CMakePresets.json", "tools/pirn_tools")


def find_project() -> Path | None:
    """The project's root: the tree this package lives in, else one above the current directory."""
    here = Path(__file__).resolve().parent
    for folder in (here.parent.parent, *_upwards(Path.cwd())):
        if all((folder / mark).exists() for mark in MARKS):
            return folder
    return None


def project() -> Path:
    """The project's root, or an error for commands that make no sense outside it."""
    root = find_project()
    if root is None:
        raise UserError("this command works inside the project's tree; go there and run it again")
    return root


def build_dir(root: Path) -> Path:
    """The build that is measured: $PIRN_BUILD, else build/release."""
    return Path(os.environ.get("PIRN_BUILD") or root / "build" / "release").resolve()


def need_program(path: Path) -> Path:
    """The path of a built program, or an error that says how to get it."""
    if not os.access(path, os.X_OK):
        raise UserError(f"{path} is missing; build it first (make apps)")
    return path


def short(path: Path) -> str:
    """A path as the user would type it from here."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _upwards(folder: Path) -> list[Path]:
    return [folder, *folder.parents]
