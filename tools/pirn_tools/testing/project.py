# SPDX-License-Identifier: MIT
"""A project with tests: a folder with one of

CMakeLists.txt   that calls project(), and enable_testing() or includes CTest: its tests are CTest's
Makefile         with the rule `test`, which makes a program, test.elf: that is the test

and, if the usual is not what is wanted, pirn-test.toml, where everything may be left out:

boards    names: it is skipped on others             skip     why it is skipped
cpus      number of CPUs                             timeout  of a test, in seconds
[env]     NAME = "value": variables of the program
cmake     options of CMake, as "-DNAME=VALUE"        rule, program, args   of a project for make
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pirn_tools.board.machine import NAME
from pirn_tools.errors import UserError, did_you_mean, listing

FILE = "pirn-test.toml"
CMAKE = "CMakeLists.txt"
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")  # in make's order
RULE = "test"
PROGRAM = "test.elf"
OF_CMAKE = frozenset({"cmake"})
OF_MAKE = frozenset({"rule", "program", "args"})


@dataclass(frozen=True)
class Settings:
    """The contents of pirn-test.toml."""

    boards: tuple[str, ...] = ()
    skip: str = ""
    cpus: int | None = None
    timeout: float | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    cmake: tuple[str, ...] = ()
    rule: str | None = None
    program: str = PROGRAM
    args: tuple[str, ...] = ()


@dataclass(frozen=True)
class Project:
    path: Path
    name: str  # its folder, from where the search began
    kind: str  # cmake, make, or broken
    settings: Settings = Settings()
    problem: str = ""  # what is wrong with it


def settings(path: Path, kind: str) -> Settings:
    """Of the file; a UserError names what is wrong with it."""
    try:
        table = tomllib.loads(path.read_text())
        return Settings(**{name: _value(name, value, kind) for name, value in table.items()})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, ValueError) as error:
        raise UserError(f"{path}: {error}") from None


def _value(name: str, value: Any, kind: str) -> Any:  # noqa: ANN401
    if name not in CHECKS:
        valid = sorted(CHECKS)
        raise ValueError(f'unknown: "{name}"{did_you_mean(name, valid)} (valid: {listing(valid)})')
    others = OF_MAKE if kind == "cmake" else OF_CMAKE
    if name in others:
        raise ValueError(f'"{name}" is nothing for a project of {kind}')
    wanted, right = CHECKS[name]
    if not right(value):
        raise ValueError(f"{name} = {value!r}: {wanted} is valid")
    return tuple(value) if isinstance(value, list) else value


def _words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) and one for one in value)


def _word(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _number(value: object, least: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= least


def _variables(value: object) -> bool:
    return isinstance(value, dict) and all(
        NAME.match(name) and isinstance(text, str) for name, text in value.items()
    )


CHECKS = {
    "boards": ("a list of names", _words),
    "skip": ("a text", _word),
    "cpus": ("a number from 1", lambda value: isinstance(value, int) and _number(value, 1)),
    "timeout": ("seconds; 0: never", lambda value: _number(value, 0)),
    "env": ('NAME = "value"', _variables),
    "cmake": (
        'a list of "-DNAME=VALUE"',
        lambda value: _words(value) and all(re.match(r"-D\w+(:\w+)?=", one) for one in value),
    ),
    "rule": ("a name", lambda value: _word(value) and not value.startswith("-")),
    "program": ("a file's name", _word),
    "args": ("a list of words", _words),
}
