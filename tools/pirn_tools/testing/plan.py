# SPDX-License-Identifier: MIT
"""The request for a run of tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pirn_tools.board.boards import Board
from pirn_tools.board.options import ourselves
from pirn_tools.board.package import Package
from pirn_tools.testing.process import Processes
from pirn_tools.testing.project import Project

TIMEOUT = 60.0


@dataclass(frozen=True)
class Plan:
    board: Board
    package: Package
    places: tuple[Path, ...]  # --boards
    rule: str
    clean: bool
    compile_only: bool
    cpus: int | None
    timeout: float | None
    jobs: int  # within a project
    processes: Processes

    def seconds(self, project: Project) -> float:
        """How long a test may take; 0: for ever."""
        for value in (self.timeout, project.settings.timeout):
            if value is not None:
                return value
        return TIMEOUT

    def runner(self, project: Project) -> list[str]:
        """The words in front of a program. We have an eye on the time ourselves."""
        words = [*_absolute(ourselves()), "board", "run", "--timeout", "0"]
        for place in self.places:
            words += ["--boards", str(place.resolve())]
        cpus = self.cpus if self.cpus is not None else project.settings.cpus
        words += ["--cpus", str(cpus)] if cpus is not None else []
        for name, value in project.settings.env.items():
            words += ["--env", f"{name}={value}"]
        return [*words, self.board.name]


def _absolute(words: list[str]) -> list[str]:
    first = words[0]
    return [str(Path(first).absolute()) if "/" in first else first, *words[1:]]
