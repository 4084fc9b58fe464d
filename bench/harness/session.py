# SPDX-License-Identifier: MIT
"""A run from the command line: building, folders, progress, the report's head."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from pirn_tools import paths
from pirn_tools.errors import UserError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from harness.rounds import environment_with
from harness.tables import markdown

JOBS = 2


def main(name: str, run: Callable[[], int]) -> NoReturn:
    """Wraps a runner: a user's error becomes one line and an exit status."""
    try:
        sys.exit(run())
    except UserError as error:
        print(f"{name}: {error.message}", file=sys.stderr)
        sys.exit(error.exit_code)


def places_of(root: Path, build: Path) -> dict[str, str]:
    """The names that commands in suites.toml may contain."""
    return {
        "root": str(root),
        "build": str(build),
        "bench": str(build / "bench"),
        "apps": str(build / "apps"),
    }


def build_programs(root: Path, build: Path, targets: Sequence[str]) -> None:
    """Configures first, because missing packages may have been installed."""
    if not (build / "CMakeCache.txt").exists():
        raise UserError(f"there is no build in {build}; run `make apps` first")
    for command in (
        ["cmake", str(build)],
        ["cmake", "--build", str(build), "--parallel", str(JOBS), "--target", *targets],
    ):
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            if " is not built: " in line:
                print(line)
        if done.returncode != 0:
            raise UserError("\n".join([shlex.join(command), done.stdout[-3000:], done.stderr]))


@dataclass(frozen=True)
class Place:
    """The folders of the measured programs and of the results."""

    root: Path
    build: Path
    output: Path


def parser_of(doc: str | None, rounds: int | None = None) -> argparse.ArgumentParser:
    """The options of all runners; includes --rounds if a default is given."""
    parser = argparse.ArgumentParser(description=(doc or "").split("\n")[0])
    if rounds is not None:
        parser.add_argument("--rounds", type=int, default=rounds, help=f"paired rounds [{rounds}]")
    parser.add_argument("--output", type=Path, help="folder for the results [results]")
    parser.add_argument("--no-build", action="store_true", help="measure what is built already")
    return parser


def at_least_one(parser: argparse.ArgumentParser, options: argparse.Namespace, *names: str) -> None:
    for name in names:
        if getattr(options, name) < 1:
            parser.error(f"--{name} {getattr(options, name)}: at least 1")


def place_of(options: argparse.Namespace) -> Place:
    root = paths.project()
    output: Path = options.output or root / "results"
    output.mkdir(parents=True, exist_ok=True)
    return Place(root, paths.build_dir(root), output)


def build_what(
    console: Console, options: argparse.Namespace, place: Place, what: str, *targets: str
) -> None:
    """Build, unless --no-build is given."""
    if not options.no_build:
        console.print(f"building {what}")
        build_programs(place.root, place.build, targets)


def show(console: Console, place: Place, name: str, text: str) -> None:
    """Print the report and write it to a file."""
    (place.output / name).write_text(text + "\n")
    console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress_of(console: Console, total: int) -> Iterator[Callable[[str], None]]:
    columns = (
        TextColumn("{task.description:<32}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=total)
        yield lambda what: progress.update(task, description=what, advance=1)


def usable_cpus() -> int:
    return len(os.sched_getaffinity(0))


def command_line() -> str:
    """The command for other machines: without the paths of this one."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


def stamp(machine: Mapping[str, str], rounds: int) -> str:
    """One line: how a part of a page was measured, and on what."""
    known = [machine[key] for key in ("processor", "kernel", "C library")]
    what = f"`{command_line()}`, {rounds} rounds, commit {machine['commit']}"
    return f"{what}, {', '.join(known)}; load before: {machine['load before']}."


def heading(title: str, machine: Mapping[str, str]) -> str:
    """The head of a report: subject, command and machine."""
    rows = [[key, value] for key, value in machine.items()]
    own = sorted(environment_with({}).items())
    variables = [f"{key}={value}" for key, value in own if key.startswith("PIRN_")]
    command = " ".join([*variables, command_line()])
    return f"# {title}\n\nCommand: `{command}`\n\n{markdown(['machine', ''], rows)}"
