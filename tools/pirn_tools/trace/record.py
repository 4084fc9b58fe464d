# SPDX-License-Identifier: MIT
"""`pirn trace record`: a program with its event trace on.

The runtime writes the file itself (options trace, tracesize, tracefull, as environment variables);
this starts the program, waits for it, and says what has become of the file. All options of
`pirn run` are options here, too.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import click

from pirn_tools import elf
from pirn_tools.describe import Option, load
from pirn_tools.errors import UserError
from pirn_tools.paths import short
from pirn_tools.run import (
    RunCommand,
    brings_organizations,
    check_linked,
    check_preloadable,
    preload_library,
    settings,
)

DEFAULT = "pirn.trace"
OWN = ("trace", "tracesize", "tracefull")  # options of the library that have other names here


class RecordCommand(RunCommand):
    """`pirn run`'s options, but those which this command sets itself."""

    own_words = ("-o", "--output", "--size", "--full")

    def table(self) -> tuple[Option, ...]:
        return tuple(option for option in super().table() if option.name not in OWN)


def program_environment(output: str, size: str | None, full: str | None) -> dict[str, str]:
    """What makes the runtime write a trace; a relative name is meant from here."""
    chosen = {"PIRN_TRACE": str(Path.cwd() / output)}
    if size is not None:
        chosen["PIRN_TRACESIZE"] = size
    if full is not None:
        chosen["PIRN_TRACEFULL"] = full
    return chosen


@dataclass(frozen=True)
class Stamp:
    """Which file it is, to tell a new one from an old one of the same name."""

    inode: int
    changed: int

    @staticmethod
    def of(path: Path) -> Stamp | None:
        try:
            found = path.stat()
        except OSError:
            return None
        return Stamp(found.st_ino, found.st_mtime_ns)


def existing(output: str) -> dict[Path, Stamp | None]:
    """All files that the name may mean."""
    path = Path(output)
    if "%p" not in path.name:
        return {path: Stamp.of(path)}
    pattern = re.compile(re.escape(path.name).replace("%p", r"\d+"))
    try:
        names = [entry for entry in path.parent.iterdir() if pattern.fullmatch(entry.name)]
    except OSError:
        return {}
    return {name: Stamp.of(name) for name in names}


def written(output: str, before: dict[Path, Stamp | None]) -> list[Path]:
    """The files that are new, or are not what they were before."""
    found = existing(output)
    return sorted(path for path, stamp in found.items() if stamp and before.get(path) != stamp)


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


def execute(path: Path, arguments: list[str], environment: dict[str, str]) -> int:
    """Runs the program; its exit status as a shell says it: 128 and the signal that ended it."""
    try:
        child = subprocess.Popen(arguments, executable=path, env={**os.environ, **environment})
    except OSError as error:
        raise UserError(f"cannot run {arguments[0]}: {error.strerror}", status=126) from None
    with _signals_to(child):
        status = child.wait()
    return 128 - status if status < 0 else status


def describe(path: Path) -> str:
    """What was recorded, in one line."""
    from pirn_tools.trace import read

    trace = read.load(path)
    lost = f", {trace.lost:,} lost" if trace.lost else ", none lost"
    said = f"{short(path)}: {len(trace.rows):,} events of {trace.cpus} CPUs{lost}"
    remarks = [text for text in trace.remarks if " lost" not in text]
    return "\n    ".join([said, *remarks])


def nothing_written(output: str, program: str, status: int) -> str:
    """Why there may be no file."""
    return (
        f"{program} has written no trace to {output} (exit status {status}): it never started "
        "Pirn's runtime, or ended before it did; a program starts it with its first thread, "
        "and only if it is linked with Pirn (or runs with --preload)"
    )


def verbs(path: Path) -> str:
    """What can be done next."""
    name = short(path)
    stem = short(path.with_suffix(""))
    return "\n".join(
        f"    pirn trace {verb}"
        for verb in (
            f"stat {name}",
            f"plot {name} -o {stem}.png",
            f"report {name} -o {stem}.html",
            f"export {name} --format chrome -o {stem}.json",
        )
    )


@click.command(
    cls=RecordCommand,
    context_settings={"allow_interspersed_args": False},
    short_help="Run a program with its event trace on.",
)
@click.option(
    "-o",
    "--output",
    default=DEFAULT,
    show_default=True,
    metavar="FILE",
    help="Where the trace goes; %p in the name is the number of the process.",
)
@click.option("--size", metavar="BYTES", help="Size of the file; k, M and G may follow.")
@click.option(
    "--full",
    type=click.Choice(["oldest", "stop"]),
    help="What a full ring does: drop its oldest events (the default), or record no more.",
)
@click.option(
    "--preload",
    is_flag=True,
    help="Load libpirn-pthread into a program that is not linked with Pirn.",
)
@click.argument("program")
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
def record(
    program: str,
    args: tuple[str, ...],
    output: str,
    size: str | None,
    full: str | None,
    preload: bool,
    **values: Any,  # noqa: ANN401
) -> None:
    """Run PROGRAM with its ARGS and record what its scheduler does.

    The options of pirn run are options here, too. The exit status is the program's.
    """
    if output == "off":
        raise UserError('a trace cannot be called "off" (./off can)', status=2)
    path = elf.find_program(program)
    environment = settings(load(), values, others=brings_organizations(path))
    environment.update(program_environment(output, size, full))
    if preload:
        check_preloadable(path, program)
        loaded = [str(preload_library()), os.environ.get("LD_PRELOAD", "")]
        environment["LD_PRELOAD"] = ":".join(filter(None, loaded))
    else:
        check_linked(path, program)
    before = existing(output)
    status = execute(path, [program, *args], environment)
    files = written(output, before)
    if not files:
        raise UserError(nothing_written(output, program, status), status=status or 1)
    for file in files:
        click.echo(describe(file), err=True)
    click.echo(verbs(files[0]), err=True)
    click.get_current_context().exit(status)
