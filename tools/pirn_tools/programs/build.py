# SPDX-License-Identifier: MIT
"""Builds a program from its unpacked source: once for each threads library, without edits.

Only the linker's flags differ. A program stays until recipe or version change.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from pirn_tools.errors import UserError
from pirn_tools.programs.plan import Program
from pirn_tools.programs.sources import Source

KINDS = ("nptl", "pirn")


def flags(kind: str, libraries: Path) -> str:
    """The linker's flags: none, or the library that is to come before the C library."""
    if kind == "nptl":
        return ""
    return (
        f"-L{libraries} -Wl,-rpath,{libraries} "
        "-Wl,--push-state,--no-as-needed -lpirn-pthread -Wl,--pop-state"
    )


def commands(program: Program, kind: str, libraries: Path) -> list[list[str]]:
    values = {"ldflags": flags(kind, libraries), "jobs": str(len(os.sched_getaffinity(0)))}
    return [[word.format(**values) for word in shlex.split(line)] for line in program.build]


def build(program: Program, source: Source, kind: str, folder: Path, libraries: Path) -> Path:
    """The built binary."""
    steps = commands(program, kind, libraries)
    return make(program, source, kind, folder, Recipe(steps, f"{source.version}\n{steps}\n"))


@dataclass(frozen=True)
class Recipe:
    steps: list[list[str]]
    text: str  # all that decides what is built
    environment: dict[str, str] = field(default_factory=dict)


def make(program: Program, source: Source, kind: str, folder: Path, recipe: Recipe) -> Path:
    """Follows the recipe in a copy of the source, unless that has been done."""
    tree = folder / kind / program.name
    stamp, log = tree.with_suffix(".built"), tree.with_suffix(".log")
    binary = tree / program.binary
    if stamp.exists() and stamp.read_text() == recipe.text and binary.exists():
        return binary
    stamp.unlink(missing_ok=True)
    shutil.rmtree(tree, ignore_errors=True)
    shutil.copytree(source.folder, tree, symlinks=True)
    environment = {key: value for key, value in os.environ.items() if key not in _MAKES}
    environment |= recipe.environment
    with log.open("w") as out:
        for step in recipe.steps:
            print("+", shlex.join(step), file=out, flush=True)
            done = subprocess.run(
                step, cwd=tree, stdout=out, stderr=out, env=environment, check=False
            )
            if done.returncode != 0:
                raise UserError(f"building {program.name} ({kind}) failed: see {log}\n{_end(log)}")
    if not os.access(binary, os.X_OK):
        raise UserError(f"building {program.name} ({kind}) made no {program.binary}: see {log}")
    stamp.write_text(recipe.text)
    return binary


# Variables that a make around this one hands down, and that would change the build.
_MAKES = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CC", "CFLAGS", "CXXFLAGS", "LDFLAGS", "JOBS", "YES")


def _end(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-5:])
