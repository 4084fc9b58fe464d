# SPDX-License-Identifier: MIT
"""bench/goals.toml: goals as multiples of the floor that is measured in the same run."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Goal:
    """One row of one system."""

    row: str
    system: str
    amount: float  # nanoseconds or bytes, on the machine where it was set
    floor: Mapping[str, float]  # row of the floor: how many of it
    ratio_to: str | None  # a peer, instead of a floor
    note: str


@dataclass(frozen=True)
class Goals:
    """All goals, and the floor of the machine where they were set."""

    goals: tuple[Goal, ...]
    there: Mapping[str, float]

    def of(self, row: str, system: str) -> Goal | None:
        return next((g for g in self.goals if (g.row, g.system) == (row, system)), None)

    def multiple(self, goal: Goal) -> float:
        """The goal in units of its floor; the same on every machine."""
        floor = total(goal.floor, self.there)
        if floor is None:
            raise ValueError(f"goals.toml: row {goal.row}: the floor's rows are not all in [there]")
        return goal.amount / floor


def total(weights: Mapping[str, float], floor: Mapping[str, float]) -> float | None:
    """Sum of weight * row, None if a row was not measured."""
    if any(row not in floor for row in weights):
        return None
    return sum(weight * floor[row] for row, weight in weights.items())


def constants() -> dict[str, float]:
    """The part of the floor that is not measured."""
    return {"page_bytes": float(os.sysconf("SC_PAGE_SIZE"))}


def load_goals(path: Path) -> Goals:
    raw = tomllib.loads(path.read_text())
    goals = tuple(
        Goal(
            row=entry["row"],
            system=entry.get("system", "pirn"),
            amount=float(entry.get("ratio", entry.get("ns", 0.0))),
            floor=entry.get("floor", {}),
            ratio_to=entry.get("ratio_to"),
            note=entry.get("note", ""),
        )
        for entry in raw["goal"]
    )
    return Goals(goals, raw["there"])
