# SPDX-License-Identifier: MIT
"""The cost of profiling: programs with and without, in paired rounds, by their CPU time."""

from __future__ import annotations

import csv
import os
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pirn_tools.errors import UserError

from harness.rounds import environment_with, rotated

TIMEOUT_SECONDS = 300.0


@dataclass(frozen=True)
class Case:
    """One way to run one program. The name is unique in a part."""

    part: str
    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.part, self.name))


@dataclass
class Measured:
    """CPU seconds (user and system) by part, case and round."""

    seconds: dict[tuple[str, str, int], float] = field(default_factory=dict)

    def of(self, part: str, name: str) -> list[float]:
        return [v for (p, n, _), v in self.seconds.items() if (p, n) == (part, name)]

    def median(self, part: str, name: str) -> float:
        return statistics.median(self.of(part, name))

    def ratio(self, part: str, name: str, base: str) -> float:
        """Median over the rounds of the ratio within a round."""
        rounds = sorted({r for p, n, r in self.seconds if (p, n) == (part, name)})
        pairs = [
            self.seconds[part, name, r] / self.seconds[part, base, r]
            for r in rounds
            if (part, base, r) in self.seconds
        ]
        return statistics.median(pairs)


def cpu_seconds(case: Case, folder: Path) -> float:
    """CPU time of one run, including the children that it waits for."""
    with (folder / "output").open("w") as output:
        child = subprocess.Popen(
            case.argv,
            env=environment_with(case.env),
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
        )
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            child.wait()
            raise
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        said = (folder / "output").read_text(errors="replace").strip().splitlines()[-1:]
        what = " ".join(case.argv)
        raise UserError(f"{case.part}, {case.name}: status {child.returncode} of {what}: {said}")
    return usage.ru_utime + usage.ru_stime


def measure(
    cases: Sequence[Case], rounds: Mapping[str, int], folder: Path, step: Callable[[str], None]
) -> Measured:
    """Run `rounds` of each part. A round runs every case once, in an order that rotates."""
    measured = Measured()
    for part in dict.fromkeys(case.part for case in cases):
        own = [case for case in cases if case.part == part]
        for number in range(1, rounds[part] + 1):
            for case in rotated(own, number):
                step(f"{part}: {case.name}")
                measured.seconds[part, case.name, number] = cpu_seconds(case, folder)
    return measured


def write_csv(path: Path, measured: Measured) -> None:
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["part", "case", "round", "cpu_seconds"])
        for (part, name, number), value in measured.seconds.items():
            out.writerow([part, name, number, f"{value:.6f}"])


@dataclass
class Facts:
    """The values of a profile that the report needs: see docs/internals/profile-format.md."""

    calls: int = 0
    nodes: int = 0
    samples: int = 0
    distances: dict[int, int] = field(default_factory=dict)


def facts_of(path: Path) -> Facts:
    facts = Facts()
    for line in path.read_text().splitlines():
        kind, *row = line.split("\t")
        if kind == "node" and row[2] == "call":
            facts.calls += int(row[5])
            facts.nodes += 1
        elif kind == "sample":
            facts.samples += int(row[3])
        elif kind == "distance":
            facts.distances[int(row[0])] = int(row[1])
    return facts


def fit(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Least squares: value at 0, slope."""
    slope, at_zero = statistics.linear_regression(*zip(*points, strict=True))
    return at_zero, slope


def hit_rate(distances: Mapping[int, int]) -> tuple[float, float]:
    """Share of look-ups that find their node at once; places looked at beside that, on average."""
    total = sum(distances.values())
    if total == 0:
        return 0.0, 0.0
    return distances.get(0, 0) / total, sum(d * n for d, n in distances.items()) / total
