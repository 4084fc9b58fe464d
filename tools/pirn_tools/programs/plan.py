# SPDX-License-Identifier: MIT
"""The list of programs, apps/programs/programs.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pirn_tools.errors import UserError, did_you_mean, listing

NEEDED = ("name", "package", "language", "build", "binary", "installed", "run")
FAMILIES = ("pirn", "preload")


@dataclass(frozen=True)
class Run:
    what: str
    args: str


@dataclass(frozen=True)
class Program:
    name: str
    package: str
    language: str
    build: tuple[str, ...]
    binary: str
    installed: str
    runs: tuple[Run, ...]
    fails: dict[str, str] = field(default_factory=dict)  # family: why
    board: tuple[str, ...] = ()  # how it is built for boards, and for comparison on this machine
    cross: str = ""


def load(path: Path) -> list[Program]:
    try:
        entries = tomllib.loads(path.read_text())["program"]
        return [_program(entry) for entry in entries]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path}: {error}") from None


def choose(programs: list[Program], names: Iterable[str]) -> list[Program]:
    """The programs of these names; all when there are none."""
    wanted = list(names)
    known = [program.name for program in programs]
    for name in wanted:
        if name not in known:
            raise UserError(
                f'no program "{name}"{did_you_mean(name, known)} (valid: {listing(known)})',
                status=2,
            )
    return [program for program in programs if not wanted or program.name in wanted]


def _program(entry: dict[str, Any]) -> Program:
    missing = [key for key in NEEDED if not entry.get(key)]
    unknown = set(entry) - {*NEEDED, "fails", "board", "cross"}
    if missing or unknown:
        words = [f"no {key}" for key in missing] + [f"unknown: {key}" for key in sorted(unknown)]
        raise ValueError(f"program {entry.get('name', '?')}: {', '.join(words)}")
    fails = dict(entry.get("fails", {}))
    if set(fails) - set(FAMILIES):
        raise ValueError(f"program {entry['name']}: fails: {listing(FAMILIES)}, not {set(fails)}")
    return Program(
        entry["name"],
        entry["package"],
        entry["language"],
        tuple(entry["build"]),
        entry["binary"],
        entry["installed"],
        tuple(Run(run["what"], run["args"]) for run in entry["run"]),
        fails,
        tuple(entry.get("board", ())),
        entry.get("cross", ""),
    )
