# SPDX-License-Identifier: MIT
"""The boards: <folder>/<name>/board.toml, one file each. port/board is such a folder, an installed
lib/pirn/boards is another, and users have their own.

description   one line
target        of targets.toml: compiler, flags, C library
exit          how a program ends with a status
[cpus]        default, most
[qemu]        program, arguments: of the machine alone, without CPUs, console and program
[memory]      address = what is there; addresses are what the CPU sees

Instead of [qemu], where the board is something else that a command runs programs on (runner.py):

[runner]      command, and input: "program" gives it the program as standard input

like          another board's name: its programs, and all that is not said here, are the same
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pirn_tools import paths
from pirn_tools.board import targets
from pirn_tools.board.targets import Target
from pirn_tools.errors import UserError, did_you_mean, listing

FILE = "board.toml"
KEYS = {"description", "target", "exit", "cpus", "qemu", "memory", "runner", "like"}
VARIABLE = "PIRN_BOARDS"
INPUTS = ("console", "program")


@dataclass(frozen=True)
class Runner:
    """A command that runs a program on a board."""

    command: tuple[str, ...]
    input: str  # one of INPUTS


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
    runner: Runner | None
    package: Path  # the folder of the board for which its programs are built


def folder(root: Path) -> Path:
    return root / "port" / "board"


def folders(given: Sequence[Path] = ()) -> list[Path]:
    """Where boards are looked for, in this order: given, $PIRN_BOARDS, the project's tree."""
    found = [_existing(path, "--boards") for path in given]
    named = os.environ.get(VARIABLE, "").split(os.pathsep)
    found += [_existing(Path(name), VARIABLE) for name in named if name]
    root = paths.find_project()
    found += [folder(root)] if root is not None else []
    if not found:
        raise UserError(f"no boards: --boards DIR or {VARIABLE} names a folder of them", status=2)
    return found


def _existing(path: Path, what: str) -> Path:
    if not path.is_dir():
        raise UserError(f"{what} {path}: no such folder", status=2)
    return path.resolve()


def files(places: Sequence[Path]) -> dict[str, Path]:
    """Name → description; the first folder that has a board counts."""
    found: dict[str, Path] = {}
    for place in places:
        for path in sorted(place.glob(f"*/{FILE}")):
            found.setdefault(path.parent.name, path)
    return found


def load_all(places: Sequence[Path]) -> list[Board]:
    found = files(places)
    return [read(found[name], places) for name in sorted(found)]


def find(places: Sequence[Path], name: str) -> Board:
    found = files(places)
    if name not in found:
        raise UserError(_unknown("no board", name, found), status=2)
    return read(found[name], places)


def _unknown(what: str, name: str, found: dict[str, Path]) -> str:
    names = sorted(found)
    return f'{what} "{name}"{did_you_mean(name, names)} (valid: {listing(names)})'


def read(path: Path, places: Sequence[Path] = ()) -> Board:
    try:
        entry, package = _whole(path, places)
        return _board(path.parent.name, entry, package)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise UserError(f"{path}: {what}") from None


def _whole(path: Path, places: Sequence[Path]) -> tuple[dict[str, Any], Path]:
    """The description with what it has from another one, and whose programs it runs."""
    entry = _entry(path)
    if "like" not in entry:
        return entry, path.parent
    found = files(places)
    name = entry.pop("like")
    if name not in found:
        raise ValueError(_unknown("like: no board", name, found))
    other = _entry(found[name])
    if "like" in other:
        raise ValueError(f'like: "{name}" is itself like another board')
    for one, instead in (("runner", "qemu"), ("qemu", "runner")):
        if one in entry:
            other.pop(instead, None)
    return {**other, **entry}, found[name].parent


def _entry(path: Path) -> dict[str, Any]:
    entry = tomllib.loads(path.read_text())
    unknown = sorted(set(entry) - KEYS)
    if unknown:
        raise ValueError(f"unknown: {listing(unknown)} (valid: {listing(sorted(KEYS))})")
    return entry


def _board(name: str, entry: dict[str, Any], package: Path) -> Board:
    cpus = entry["cpus"]
    if not 1 <= cpus["default"] <= cpus["most"]:
        raise ValueError("cpus: default is to be between 1 and most")
    runner = _runner(entry["runner"]) if "runner" in entry else None
    if runner is not None and "qemu" in entry:
        raise ValueError("either qemu or runner is valid, not both")
    none: dict[str, Any] = {"program": "", "arguments": ()}
    qemu = none if runner is not None else entry["qemu"]
    return Board(
        name=name,
        description=entry["description"],
        target=_target(entry["target"], targets.load()),
        exit=entry["exit"] if runner is None else "the command's status",
        cpus_default=cpus["default"],
        cpus_most=cpus["most"],
        qemu=qemu["program"],
        arguments=tuple(qemu["arguments"]),
        memory=tuple((int(address, 0), what) for address, what in entry.get("memory", {}).items()),
        runner=runner,
        package=package,
    )


def _runner(entry: dict[str, Any]) -> Runner:
    unknown = sorted(set(entry) - {"command", "input"})
    if unknown:
        raise ValueError(f"runner: unknown: {listing(unknown)} (valid: command, input)")
    command, source = entry["command"], entry.get("input", "console")
    if not isinstance(command, list) or not command or not all(isinstance(w, str) for w in command):
        raise ValueError("runner: command is to be a list of words")
    if source not in INPUTS:
        raise ValueError(f'runner: input "{source}" (valid: {listing(INPUTS)})')
    return Runner(tuple(command), source)


def _target(name: str, table: Sequence[Target]) -> Target:
    for target in table:
        if target.name == name:
            return target
    raise ValueError(f'no target "{name}" (valid: {listing([one.name for one in table])})')
