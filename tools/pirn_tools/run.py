# SPDX-License-Identifier: MIT
"""`pirn run`: a program under chosen runtime options.

The options come from the library's table (describe.py): each sets its environment variable, then
the program replaces this process, so that its exit status and its signals are its own.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from pirn_tools import elf
from pirn_tools.describe import (
    PTHREAD_SONAME,
    SONAME,
    SPEC_TYPE,
    Description,
    Option,
    find_library,
    load,
)
from pirn_tools.errors import UserError
from pirn_tools.spec import check_spec

EPILOG = (
    "Each option stands for the environment variable in brackets. Without an option the variable "
    "counts, without both the default. `pirn sched list` lists the organizations."
)


class RunCommand(click.Command):
    """A command whose options are the library's."""

    own_words: tuple[str, ...] = ()  # options of the command itself that have a value

    def table(self) -> tuple[Option, ...]:
        """The library's options that are this command's."""
        return _options_or_none()

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        fixed = super().get_params(ctx)
        return [*_table_params(self.table()), *fixed]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--help" not in _own_args(args):
            load()  # so that a missing library is reported as such, not as an unknown option
        return super().parse_args(ctx, spell_out(args, self.table(), self.own_words))


def _options_or_none() -> tuple[Option, ...]:
    try:
        return load().options
    except UserError:
        return ()


def _own_args(args: Sequence[str]) -> list[str]:
    return list(args[: args.index("--")]) if "--" in args else list(args)


def _table_params(options: Sequence[Option]) -> list[click.Parameter]:
    return [_table_param(option) for option in options]


def _table_param(option: Option) -> click.Option:
    names = [f"--{option.name}", f"option_{option.name.replace('-', '_')}"]
    return click.Option(names, metavar=option.metavar, help=option.detail)


def spell_out(
    args: Sequence[str], options: Sequence[Option], valued: Sequence[str] = ()
) -> list[str]:
    """Gives options whose value may be left out their implied value: --stats → --stats=text.

    valued: other options that have a value. Stops where the program begins, so that the program's
    arguments stay as they are.
    """
    table = {f"--{option.name}": option for option in options}
    out: list[str] = []
    rest = list(args)
    while rest and rest[0].startswith("-") and rest[0] != "--":
        word = rest.pop(0)
        option = table.get(word)
        if word in valued:
            out += [word, *rest[:1]]
            rest = rest[1:]
        elif option is None:
            out.append(word)
        elif option.implied is None:
            out += [word, *rest[:1]]
            rest = rest[1:]
        elif rest and option.takes(rest[0]):
            out.append(f"{word}={rest.pop(0)}")
        else:
            out.append(f"{word}={option.implied}")
    return out + rest


def settings(
    description: Description, values: dict[str, Any], *, others: bool = False
) -> dict[str, str]:
    """The environment variables for the given options, organizations checked.

    others: there may be organizations that the library does not come with; it checks those itself.
    """
    chosen: dict[str, str] = {}
    for option in description.options:
        value = values.get(f"option_{option.name.replace('-', '_')}")
        if value is None:
            continue
        if option.type == SPEC_TYPE or option.name == "sched":
            check_spec(description, value, others=others)
        chosen[option.env] = value
    return chosen


def preload_library() -> Path:
    """libpirn-pthread, to be loaded before the program's own libraries."""
    library = find_library(PTHREAD_SONAME)
    if library is None or not Path(library).is_absolute():
        found = elf.locate(PTHREAD_SONAME, ())
        if found is None:
            raise UserError(f"{PTHREAD_SONAME} not found: build the project or set PIRN_LIBRARY")
        return found
    if not Path(library).exists():
        raise UserError(f"{library} does not exist; it has to lie beside {SONAME}")
    return Path(library)


def check_linked(path: Path, name: str) -> None:
    """An error unless the program runs on Pirn by itself."""
    binary = elf.read(path)
    if binary is None:
        raise UserError(f"{name} is a script, not a program linked with Pirn; try --preload")
    if not elf.uses_pirn(binary):
        hint = "try --preload" if binary.dynamic else "it is static: link it again, with Pirn"
        raise UserError(
            f"{name} is not linked with Pirn (neither libpirn nor libpirn-pthread among the "
            f"libraries it needs); {hint}"
        )
    if elf.unresolved_pirn(binary):
        _add_library_folder()


def check_preloadable(path: Path, name: str) -> None:
    """An error when the dynamic linker would ignore LD_PRELOAD."""
    if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID):
        raise UserError(
            f"{name} is set-user-ID or set-group-ID: the system ignores --preload for it"
        )
    binary = elf.read(path)
    if binary is not None and not binary.dynamic:
        raise UserError(f"{name} is a static program: nothing can be preloaded into it")


def brings_organizations(path: Path) -> bool:
    """Whether the program or something preloaded registers organizations of its own."""
    preloaded = [Path(name) for name in re.split("[: ]+", os.environ.get("LD_PRELOAD", "")) if name]
    binaries = [elf.read(name) for name in (path, *preloaded) if name.exists()]
    return any(elf.brings_organizations(binary) for binary in binaries if binary is not None)


def _add_library_folder() -> None:
    library = find_library()
    if isinstance(library, Path):
        folders = [str(library.parent), os.environ.get("LD_LIBRARY_PATH", "")]
        os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, folders))


def _add_preload(library: Path) -> None:
    earlier = os.environ.get("LD_PRELOAD", "")
    os.environ["LD_PRELOAD"] = ":".join(filter(None, [str(library), earlier]))


@click.command(
    cls=RunCommand,
    context_settings={"allow_interspersed_args": False},
    epilog=EPILOG,
    short_help="Run a program under chosen scheduler options.",
)
@click.option(
    "--preload",
    is_flag=True,
    help="Load libpirn-pthread into a program that is not linked with Pirn.",
)
@click.argument("program")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def run(program: str, args: tuple[str, ...], preload: bool, **values: Any) -> None:  # noqa: ANN401
    """Run PROGRAM with its ARGS on the Pirn runtime; the exit status is the program's.

    A -- before PROGRAM is allowed: pirn run --sched steal --cpus 2 -- program --its-option
    """
    path = elf.find_program(program)
    environment = settings(load(), values, others=brings_organizations(path))
    if preload:
        check_preloadable(path, program)
        _add_preload(preload_library())
    else:
        check_linked(path, program)
    os.environ.update(environment)
    try:
        os.execv(path, [program, *args])  # noqa: S606
    except OSError as error:
        raise UserError(f"cannot run {program}: {error.strerror}", status=126) from None
