# SPDX-License-Identifier: MIT
"""Programs on boards whose time is counted in instructions (`pirn board run --icount`)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pirn_tools.board import boards
from pirn_tools.errors import UserError

NS = 8  # an instruction


@dataclass(frozen=True)
class Place:
    root: Path
    board: str

    def program(self, name: str) -> Path:
        return self.root / "build" / self.board / "bench/board" / f"{name}.elf"


def chosen(root: Path, asked: Sequence[str] | None, programs: Sequence[str]) -> list[Place]:
    """The requested boards, or all boards that are built."""
    names = asked or [board.name for board in boards.load_all([boards.folder(root)])]
    places = [Place(root, name) for name in names]
    built = [p for p in places if all(p.program(name).exists() for name in programs)]
    if asked and len(built) < len(places):
        missing = next(p for p in places if p not in built)
        raise UserError(f"{missing.board} is not built; `make boards` builds it")
    if not built:
        raise UserError("no board is built; `make boards` builds them")
    return built


def run(
    place: Place,
    program: str,
    cores: int,
    settings: Mapping[str, str],
    arguments: Sequence[str],
    limit: int = 120,
) -> str:
    """The output. A run that does not end (docs/STATUS.md, known limits) is an error that names the
    command; it is not repeated."""
    file = place.program(program)
    command = [
        sys.executable, "-m", "pirn_tools", "board", "run", "--icount", "--timeout", str(limit),
        "--cpus", str(cores), place.board, str(file.relative_to(place.root)), *arguments,
    ]  # fmt: skip
    environment = {**os.environ, **settings}
    done = subprocess.run(
        command, cwd=place.root, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise UserError(
            f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def instructions(printed: str) -> float:
    """The result of a program of apps/scheduling."""
    found = re.search(r" seconds=([0-9.]+)", printed)
    if not found:
        raise UserError(f"there is no time in: {printed}")
    return float(found[1]) * 1e9 / NS
