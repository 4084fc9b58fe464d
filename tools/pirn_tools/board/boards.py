# SPDX-License-Identifier: MIT
"""The boards: port/board/<name>/board.toml, one file each.

description   one line
target        of targets.toml: compiler, flags, C library
exit          how a program ends with a status
[cpus]        default, most
[qemu]        program, arguments: of the machine alone, without CPUs, console and program
[memory]      address = what is there; addresses are what the CPU sees
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pirn_tools.board import targets
from pirn_tools.board.targets import Target
from pirn_tools.errors import UserError, did_you_mean, listing

FILE = "board.toml"
KEYS = {"description", "target", "exit", "cpus", "qemu", "memory"}


@dataclass(frozen=True)
class Board:
    name: str
    description: str
    target: Target
    exit: str
    cpus_default: int
    cpus_most: int
    qemu: str
    arguments: tuple[str, ...]
    memory: tuple[tuple[int, str], ...]


def folder(root: Path) -> Path:
    return root / "port" / "board"


def load_all(root: Path) -> list[Board]:
    return [read(path) for path in sorted(folder(root).glob(f"*/{FILE}"))]


def find(root: Path, name: str) -> Board:
    names = [path.parent.name for path in sorted(folder(root).glob(f"*/{FILE}"))]
    if name not in names:
        raise UserError(
            f'no board "{name}"{did_you_mean(name, names)} (valid: {listing(names)})', status=2
        )
    return read(folder(root) / name / FILE)


def read(path: Path) -> Board:
    try:
        return _board(path.parent.name, tomllib.loads(path.read_text()))
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise UserError(f"{path}: {what}") from None


def _board(name: str, entry: dict[str, Any]) -> Board:
    unknown = sorted(set(entry) - KEYS)
    if unknown:
        raise ValueError(f"unknown: {listing(unknown)} (valid: {listing(sorted(KEYS))})")
    cpus, qemu = entry["cpus"], entry["qemu"]
    if not 1 <= cpus["default"] <= cpus["most"]:
        raise ValueError("cpus: default is to be between 1 and most")
    return Board(
        name=name,
        description=entry["description"],
        target=_target(entry["target"], targets.load()),
        exit=entry["exit"],
        cpus_default=cpus["default"],
        cpus_most=cpus["most"],
        qemu=qemu["program"],
        arguments=tuple(qemu["arguments"]),
        memory=tuple((int(address, 0), what) for address, what in entry["memory"].items()),
    )


def _target(name: str, table: Sequence[Target]) -> Target:
    for target in table:
        if target.name == name:
            return target
    raise ValueError(f'no target "{name}" (valid: {listing([one.name for one in table])})')
