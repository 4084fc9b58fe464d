# SPDX-License-Identifier: MIT
"""Where things are: the project's tree and its builds."""

from __future__ import annotations

import os
from pathlib import Path

from pirn_tools.errors import UserError

MARKS = ("CMakePresets.json", "tools/pirn_tools")


def find_project() -> Path | None:
    """The project's root, if this package lies in its tree.

    Never one above the current directory: that may be anybody's, and what is found there is loaded
    (the library) or run (boards' commands).
    """
    root = Path(__file__).resolve().parent.parent.parent
    return root if all((root / mark).exists() for mark in MARKS) else None


def project() -> Path:
    """The project's root, or an error for commands that make no sense outside it."""
    root = find_project()
    if root is None:
        raise UserError(
            "this command belongs to the project's tree, and this pirn is installed outside: "
            "run the tree's own, .venv/bin/pirn (make setup)"
        )
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


def distinct(first: Path, second: Path) -> tuple[str, str]:
    """The ends of two paths, as long as it takes to tell them apart."""
    one, two = first.resolve().parts, second.resolve().parts
    for length in range(1, max(len(one), len(two)) + 1):
        if one[-length:] != two[-length:]:
            return "/".join(one[-length:]), "/".join(two[-length:])
    return first.name, second.name
