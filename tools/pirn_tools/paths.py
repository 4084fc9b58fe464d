# SPDX-License-Identifier: MIT
"""Where things are: the project's tree and its builds, or the prefix of an installation."""

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
            "this command needs Pirn's source tree, and this pirn is installed outside of it: "
            "run .venv/bin/pirn in the tree (make setup makes it)"
        )
    return root


def libraries() -> Path | None:
    """The folder of the libraries that belong to this package, if there is one.

    In the tree the release build's; in a wheel those that lie in this package (packaging/wheel.py);
    else those of the prefix, LIB, if this package is LIB/pirn/python/pirn_tools (tools/install puts
    it there). Debian's package has none of its own: the dynamic linker finds the system's.
    """
    root = find_project()
    if root is not None:
        return root / "build" / "release" / "lib"
    package = Path(__file__).resolve().parent
    if (package / "lib").is_dir():
        return package / "lib"
    python = package.parent
    return python.parent.parent if python.parts[-2:] == ("pirn", "python") else None


def debugger() -> Path | None:
    """The script for gdb that belongs to this package; None: it is not installed."""
    name = "pirn-gdb.py"
    root = find_project()
    if root is not None:
        return root / "tools" / "debuggers" / name
    package = Path(__file__).resolve().parent
    shares = [package.parent.parent]  # Debian's package: SHARE/pirn/python/pirn_tools
    shares += [folder / "share" / "pirn" for folder in package.parents]
    return next((share / name for share in shares if (share / name).is_file()), None)


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
