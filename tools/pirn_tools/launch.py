# SPDX-License-Identifier: MIT
"""Commands that start a program on Pirn: `pirn run`, and those that record one.

Such a command is made by @command, which gives it the options of the library, and ends with what
@program adds: --preload, --no-children, PROGRAM, ARGS. Its function hands all of that to prepare(),
and then lets the program replace this process, or waits for it:

    @launch.command(short_help="...", left_out=("trace",))
    @click.option("-o", "--output")
    @launch.program
    def record(output, **given):
        started = launch.prepare(**given).with_settings({"PIRN_TRACE": output})
        status = started.wait()

The options come from the library's table (describe.py): each sets its environment variable.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TypeVar

import click

from pirn_tools import openmp
from pirn_tools.binary import linked, target
from pirn_tools.binary.target import Entry, Target
from pirn_tools.describe import (
    PTHREAD_SONAME,
    SONAME,
    SPEC_TYPE,
    Description,
    Option,
    check_options,
    find_library,
    load,
)
from pirn_tools.errors import UserError
from pirn_tools.spec import check_spec

CHILDREN = "PIRN_CHILDREN"  # the library's option for which --no-children stands
Function = TypeVar("Function", bound=Callable[..., Any])


class LaunchCommand(click.Command):
    """A command with the library's options, but those that are left out."""

    def __init__(self, *args: Any, left_out: Sequence[str] = (), **kwargs: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **kwargs)
        self.left_out = frozenset(left_out)

    def table(self) -> tuple[Option, ...]:
        """The library's options that are this command's."""
        return tuple(option for option in _options_or_none() if option.name not in self.left_out)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*map(_parameter, self.table()), *super().get_params(ctx)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--help" not in _own_args(args):
            load()  # so that a missing library is reported as such, not as an unknown option
        return super().parse_args(ctx, spell_out(args, self.table(), valued(self.params)))


def _options_or_none() -> tuple[Option, ...]:
    try:
        return load().options
    except UserError:
        return ()


def _own_args(args: Sequence[str]) -> list[str]:
    return list(args[: args.index("--")]) if "--" in args else list(args)


def _parameter(option: Option) -> click.Option:
    return click.Option(
        [f"--{option.name}", _variable(option)], metavar=option.metavar, help=option.detail
    )


def _variable(option: Option) -> str:
    return f"option_{option.name.replace('-', '_')}"


def valued(parameters: Sequence[click.Parameter]) -> frozenset[str]:
    """The words of the options that have a value."""
    options = [one for one in parameters if isinstance(one, click.Option)]
    return frozenset(
        word for one in options if not one.is_flag and not one.count for word in one.opts
    )


def spell_out(
    args: Sequence[str], options: Sequence[Option], others: frozenset[str] = frozenset()
) -> list[str]:
    """Gives options whose value may be left out their implied value: --stats → --stats=text.

    others: other options that have a value. Stops where the program begins, so that the program's
    arguments stay as they are.
    """
    table = {f"--{option.name}": option for option in options}
    out: list[str] = []
    rest = list(args)
    while rest and rest[0].startswith("-") and rest[0] != "--":
        word = rest.pop(0)
        option = table.get(word)
        if word in others or (option is not None and option.implied is None):
            out += [word, *rest[:1]]
            rest = rest[1:]
        elif option is None:
            out.append(word)
        elif rest and option.takes(rest[0]):
            out.append(f"{word}={rest.pop(0)}")
        else:
            out.append(f"{word}={option.implied}")
    return out + rest


def command(**attributes: Any) -> Callable[[Callable[..., Any]], LaunchCommand]:  # noqa: ANN401
    """A command that starts a program; attributes are click's, and left_out."""
    context = {"allow_interspersed_args": False}
    return click.command(cls=LaunchCommand, context_settings=context, **attributes)


def program(function: Function) -> Function:
    """The program to start, and how the library gets into it; for prepare()."""
    function = click.argument("args", nargs=-1, type=click.UNPROCESSED)(function)
    function = click.argument("program")(function)
    function = click.option(
        "--no-children",
        "children",
        is_flag=True,
        flag_value=False,
        default=True,
        help="Only PROGRAM runs on Pirn, and what it becomes by exec; the processes that it "
        "starts run on the system's threads: --children 0.",
    )(function)
    return click.option(
        "--preload",
        is_flag=True,
        help="Load libpirn-pthread into PROGRAM in any case, or fail. Without it that is done "
        "if PROGRAM is not linked with Pirn, and can be loaded into.",
    )(function)


@dataclass(frozen=True)
class Launch:
    """A program that can be started."""

    path: Path
    arguments: tuple[str, ...]  # the first one is its name
    environment: Mapping[str, str]  # all of it
    remark: str = ""  # a line for the user, before it starts

    def with_settings(self, settings: Mapping[str, str]) -> Launch:
        """The same with these environment variables."""
        return replace(self, environment={**self.environment, **settings})

    def replace_us(self) -> NoReturn:
        """The program takes this process over, so its exit status and signals are its own."""
        self._say()
        try:
            os.execve(self.path, self.arguments, dict(self.environment))  # noqa: S606
        except OSError as error:
            raise self._failed(error) from None

    def wait(self) -> int:
        """Runs it; its exit status as a shell says it: 128 and the signal that ended it."""
        path = self.path.absolute()  # a name without a folder would be looked for in PATH
        self._say()
        try:
            child = subprocess.Popen(self.arguments, executable=path, env=self.environment)
        except OSError as error:
            raise self._failed(error) from None
        with _signals_to(child):
            status = child.wait()
        return 128 - status if status < 0 else status

    def _say(self) -> None:
        if self.remark:
            click.echo(f"pirn: {self.remark}", err=True)

    def _failed(self, error: OSError) -> UserError:
        why = error.strerror
        if error.errno == errno.ENOEXEC:
            why = "it is of no format that this system can run"
        return UserError(f"cannot run {self.arguments[0]}: {why}", status=126)


@contextmanager
def _signals_to(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """The program decides what an interrupt means; a terminal's reaches it by itself."""

    def pass_on(number: int, _: FrameType | None) -> None:
        child.send_signal(number)

    earlier = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN),
        signal.SIGQUIT: signal.signal(signal.SIGQUIT, signal.SIG_IGN),
        signal.SIGTERM: signal.signal(signal.SIGTERM, pass_on),
        signal.SIGHUP: signal.signal(signal.SIGHUP, pass_on),
    }
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def prepare(
    program: str,
    args: Sequence[str],
    preload: bool,
    children: bool = True,
    needed: bool = True,
    **values: str | None,
) -> Launch:
    """The program under the given options.

    children: what it starts gets the library, too. needed: it is an error if the program does not
    run on Pirn; otherwise the remark says so. values: of the library's options, as @command gives
    them.
    """
    found = target.find(program, args)
    chosen = settings(load(), values, others=brings_policies(found.file))
    environment = {**os.environ, **chosen}
    openmp.waits(environment)
    if found.entry is Entry.SYSTEM and (needed or preload):
        raise UserError(f"{_said(found, program)}: nothing can be preloaded into it", status=1)
    if not children:
        environment[CHILDREN] = "0"
    if found.entry is Entry.LINKED and not preload:
        folder = folder_of_library(found)
        if folder is not None:
            put_first(environment, "LD_LIBRARY_PATH", folder)
    elif found.entry is not Entry.SYSTEM or (children and found.inherits):
        refuse_wrong(chosen)
        put_first(environment, "LD_PRELOAD", preload_library())
    remark = _remark(found, program) if found.entry is Entry.SYSTEM else ""
    if found.shell:  # as execvp does, and shells do
        script = program if os.sep in program else str(found.path)
        return Launch(found.file, ("sh", script, *args), environment, remark)
    return Launch(found.path, (program, *args), environment, remark)


def refuse_wrong(chosen: Mapping[str, str]) -> None:
    """An error for a wrong value of an option of the command. A preloaded library would say that it
    ignores it, as if it had come with the environment. Policies are left to the library: the
    program may bring some."""
    given = {name: value for name, value in chosen.items() if name != "PIRN_SCHED"}
    around = {"PIRN_CPUS": os.environ["PIRN_CPUS"]} if "PIRN_CPUS" in os.environ else {}
    why = check_options({**around, **given}) if given else None
    if why is not None and not (
        around and why.startswith("option cpus=") and not set(around) & set(given)
    ):
        raise UserError(why, status=2)


def _said(found: Target, name: str) -> str:
    """The command and what it is."""
    via = f" ({found.file})" if len(found.way) > 1 else ""
    return f"{name}{via}: {found.why}"


def _remark(found: Target, name: str) -> str:
    which = "it runs" if found.inherits else "it and the programs that it starts run"
    return f"{_said(found, name)}: {which} on the system's threads"


# At what the dynamic linker splits a variable, and how that is said. In both it replaces $ORIGIN.
_SPLITS = {"LD_PRELOAD": (" :$", "spaces, colons or $"), "LD_LIBRARY_PATH": (":;$", "a :, ; or $")}


def put_first(environment: dict[str, str], name: str, what: Path) -> None:
    """A path that the linker would not read as one is an error: it would say little or nothing,
    and the program would run on the system's threads."""
    characters, said = _SPLITS[name]
    if any(character in str(what) for character in characters):
        raise UserError(
            f"the path {str(what)!r} has {said}, which {name} cannot hold: "
            "install or move the library to a path without them"
        )
    earlier = environment.get(name, "")
    environment[name] = ":".join(filter(None, [str(what), earlier]))


def settings(
    description: Description, values: Mapping[str, str | None], *, others: bool = False
) -> dict[str, str]:
    """The environment variables for the given options, policies checked.

    others: there may be policies that the library does not come with; it checks those itself.
    """
    chosen: dict[str, str] = {}
    for option in description.options:
        value = values.get(_variable(option))
        if value is None:
            continue
        if option.type == SPEC_TYPE or option.name == "sched":
            check_spec(description, value, others=others)
        chosen[option.env] = value
    return chosen


def preload_library() -> Path:
    """libpirn-pthread, to be loaded before the program's own libraries."""
    library = find_library(PTHREAD_SONAME)
    if library is None:
        raise UserError(
            f"{PTHREAD_SONAME} not found: build the project, install it, or set PIRN_LIBRARY"
        )
    if not library.exists():
        raise UserError(f"{library} does not exist; it has to lie beside {SONAME}")
    return library


def folder_of_library(found: Target) -> Path | None:
    """The library's folder, if the dynamic linker would not look there for a linked program."""
    binary = found.binary
    library = find_library() if binary is not None and linked.unresolved_pirn(binary) else None
    return None if library is None else library.parent


def check_preloadable(path: Path, name: str) -> None:
    """An error when nothing can be preloaded into the program."""
    found = target.find(str(path))
    if found.entry is Entry.SYSTEM:
        raise UserError(f"{_said(found, name)}: nothing can be preloaded into it")


def brings_policies(path: Path) -> bool:
    """Whether the program or something preloaded registers policies of its own."""
    preloaded = [Path(name) for name in re.split("[: ]+", os.environ.get("LD_PRELOAD", "")) if name]
    named = [name for name in (path, *preloaded) if os.access(name, os.R_OK)]
    binaries = [linked.read(name) for name in named]
    return any(linked.brings_policies(binary) for binary in binaries if binary is not None)
