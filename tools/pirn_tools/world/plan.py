# SPDX-License-Identifier: MIT
"""The list of programs: the files apps/world/*.toml, one for each kind."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from pirn_tools.errors import UserError, did_you_mean, listing


@dataclass(frozen=True)
class Program:
    """One program and what it does here. Scripts are for sh; apps/world/README.md explains them."""

    name: str
    threads: str  # for what it uses threads
    kind: str = ""  # the name of its file
    packages: tuple[str, ...] = ()
    run: str = ""
    setup: str = ""  # once, with the system's threads; leaves files in $KEEP
    serve: str = ""  # a server, instead of run, which listens at $PORT of the loopback,
    load: str = ""  # and its clients
    says: str = ""  # what the output has to match, if its bytes are not the same each time
    environment: dict[str, str] = field(default_factory=dict)
    sample: bool = False
    guest: bool = False  # it also runs in guests of other architectures
    known: str = ""  # why it is expected to fail with Pirn


def load(folder: Path) -> list[Program]:
    programs = [one for path in sorted(folder.glob("*.toml")) for one in _file(path)]
    names = [one.name for one in programs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UserError(f"{folder}: more than one program is named {listing(twice)}")
    if not programs:
        raise UserError(f"{folder}: no programs")
    return programs


def choose(programs: Sequence[Program], wanted: Iterable[str], *, sample: bool) -> list[Program]:
    """The programs of these names or kinds; all if there are none."""
    words = set(wanted)
    known = [*dict.fromkeys(one.kind for one in programs), *(one.name for one in programs)]
    for word in sorted(words):
        if word not in known:
            raise UserError(
                f'no program or kind "{word}"{did_you_mean(word, known)} (valid: {listing(known)})',
                status=2,
            )
    chosen = [one for one in programs if not words or {one.name, one.kind} & words]
    if sample:
        chosen = [one for one in chosen if one.sample]
    if not chosen:
        raise UserError("none of these programs is of the sample", status=2)
    return chosen


def _file(path: Path) -> list[Program]:
    try:
        entries = tomllib.loads(path.read_text())["program"]
        return [_program(entry, path.stem) for entry in entries]
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, re.error) as error:
        raise UserError(f"{path}: {error}") from None


def _program(entry: dict[str, Any], kind: str) -> Program:
    name = entry.get("name", "?")
    unknown = set(entry) - {one.name for one in fields(Program)} | set(entry) & {"kind"}
    if unknown:
        raise ValueError(f"program {name}: unknown: {listing(sorted(unknown))}")
    entry = {**entry, "packages": tuple(entry.get("packages", ()))}
    program = Program(kind=kind, **entry)
    if bool(program.run) == bool(program.serve) or bool(program.serve) != bool(program.load):
        raise ValueError(f"program {name}: either run, or serve and load")
    re.compile(program.says)
    return program
