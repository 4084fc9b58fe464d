# SPDX-License-Identifier: MIT
"""Finding projects with tests below a folder. Files in one belong to it; folders of builds
(CMakeCache.txt) and hidden ones are left out."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pirn_tools.errors import UserError
from pirn_tools.testing.project import CMAKE, FILE, MAKEFILES, Project, settings

PROJECT = re.compile(r"^\s*project\s*\(", re.IGNORECASE | re.MULTILINE)
TESTS = re.compile(
    r"^\s*(enable_testing\s*\(|include\s*\(\s*CTest\s*\))", re.IGNORECASE | re.MULTILINE
)
NOTHING = "pirn-asks-for-nothing"
OF_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")  # of a make that may have started us
COMMENT = re.compile(r"#\[(=*)\[.*?\]\1\]|#[^\n]*", re.DOTALL)


def scan(root: Path, rule: str) -> Iterator[Project]:
    """In the order of their names."""
    for folder, inner, names in os.walk(root):
        path = Path(folder)
        found = None if "CMakeCache.txt" in names else _look(root, path, set(names), rule)
        if found is not None:
            yield found
        if found is not None or "CMakeCache.txt" in names:
            inner.clear()
        inner[:] = sorted(name for name in inner if not name.startswith("."))


def _look(root: Path, path: Path, names: set[str], rule: str) -> Project | None:
    """The project that is in this very folder."""
    described = FILE in names
    name = str(path.relative_to(root)) if path != root else path.resolve().name
    makes = not names.isdisjoint(MAKEFILES)
    kind = "cmake" if CMAKE in names and _whole(path / CMAKE) else "make" if makes else ""
    if not kind:
        text = f"{path / FILE}: there is no {CMAKE} with project(), nor a Makefile, beside it"
        return Project(path, name, "broken", problem=text) if described else None
    project = Project(path, name, kind)
    if described:
        try:
            project = replace(project, settings=settings(path / FILE, kind))
        except UserError as error:
            return replace(project, kind="broken", problem=error.message)
    if kind == "cmake":
        return project if described or _tested(path / CMAKE) else None
    return _made(project, project.settings.rule or rule, described)


def _text(path: Path) -> str:
    return COMMENT.sub("", path.read_text(errors="replace"))


def _whole(path: Path) -> bool:
    return PROJECT.search(_text(path)) is not None


def _tested(path: Path) -> bool:
    return TESTS.search(_text(path)) is not None


def _made(project: Project, rule: str, described: bool) -> Project | None:
    """The project for make, if it has the rule; a Makefile that make cannot read may have it."""
    problem, readable = missing_rule(project.path, rule)
    if problem is None:
        return project
    if described or (not readable and _written(project.path, rule)):
        return replace(project, kind="broken", problem=problem)
    return None


def _written(path: Path, rule: str) -> bool:
    files = [path / name for name in MAKEFILES if (path / name).exists()]
    wanted = re.compile(rf"^{re.escape(rule)}\s*:", re.MULTILINE)
    return any(wanted.search(file.read_text(errors="replace")) for file in files)


def missing_rule(path: Path, rule: str) -> tuple[str | None, bool]:
    """None if make has the rule there, else why not; whether make can read its file. Nothing is
    made: what is asked for is something that there is not."""
    variables = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
    line = ["make", "-C", str(path), f"PIRN_MK={os.devnull}", "-pnq", NOTHING]
    try:
        done = subprocess.run(
            line,
            env={**variables, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise UserError(f"cannot run make: {error.strerror}") from None
    lines = done.stdout.decode(errors="replace").splitlines()
    for before, one in zip(["", *lines], lines, strict=False):
        if one.startswith(f"{rule}:") and before != "# Not a target:":
            return None, True
    said = done.stderr.decode(errors="replace").strip().splitlines()
    readable = bool(said) and NOTHING in said[-1]
    return f'{path}: make has no rule "{rule}"' + ("" if readable else f" ({said[-1]})"), readable
