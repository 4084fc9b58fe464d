# SPDX-License-Identifier: MIT
"""`pirn board new`: a project that builds, runs and is tested on a board, to begin with."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click

from pirn_tools.board import boards, package
from pirn_tools.board.options import DEFAULT, boards_option, ourselves
from pirn_tools.errors import UserError

SKELETON = Path(__file__).parent / "skeleton"
HIDDEN = {"gitignore": ".gitignore"}
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
# Targets that CMake, or the skeleton, has already.
TAKEN = frozenset(
    {"all", "clean", "depend", "edit_cache", "help", "install", "list_install_components"}
)
TAKEN |= {"package", "package_source", "rebuild_cache", "test", "test_sum"}


@click.command("new")
@click.option("--board", default=DEFAULT, show_default=True, metavar="BOARD", help="Its board.")
@boards_option
@click.argument("path", metavar="NAME", type=click.Path(path_type=Path))
def command(path: Path, board: str, places: tuple[Path, ...]) -> None:
    """Make a project in the folder NAME, and say how to build and run it on a board."""
    one = boards.find(boards.folders(places), board)
    tools = package.find(one)
    name = path.name
    if not NAME.match(name) or name in TAKEN:
        raise UserError(
            f'"{name}" cannot be the name of a program: letters, digits, _ and - are valid, '
            "a letter first, and no name of a target that CMake has",
            status=2,
        )
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UserError(f"{path} is there already, and is not an empty folder", status=2)
    path.mkdir(parents=True, exist_ok=True)
    for source in sorted(SKELETON.iterdir()):
        target = path / HIDDEN.get(source.name, source.name)
        target.write_text(_filled(source.read_text(), {"NAME": name, "BOARD": one.name}))
    click.echo(f"{path}: a program, its test, README.md. To build and run it:")
    for line in commands(path, one.name, tools, places):
        click.echo(f"    {line}")


def _filled(text: str, values: dict[str, str]) -> str:
    """Without the first line, which is the licence of what is in this tree."""
    text = text.partition("\n")[2]
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def commands(path: Path, board: str, tools: package.Package, places: tuple[Path, ...]) -> list[str]:
    build = path / "build" / board
    others = [word for place in places for word in ("--boards", str(place))]
    lines = [
        ["cmake", "-S", str(path), "-B", str(build), "--toolchain", str(tools.toolchain)],
        ["cmake", "--build", str(build)],
        [*ourselves(), "board", "run", *others, "--cpus", "4", board, f"{build / path.name}.elf"],
        [*ourselves(), "test", *others, "--board", board, str(path)],
    ]
    return [shlex.join(line) for line in lines]
