# SPDX-License-Identifier: MIT
"""`pirn board new`: a project that builds, runs and is tested on a board, to begin with."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click

from pirn_tools.board import boards, package
from pirn_tools.board.boards import Alarm, Board
from pirn_tools.board.options import DEFAULT, boards_option, ourselves
from pirn_tools.errors import UserError, listing

SKELETON = Path(__file__).parent / "skeleton"
WITH_IRQ = Path(__file__).parent / "skeleton-irq"
HIDDEN = {"gitignore": ".gitignore"}
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
# Targets that CMake, or the skeleton, has already.
TAKEN = frozenset(
    {"all", "clean", "depend", "edit_cache", "help", "install", "list_install_components"}
)
TAKEN |= {"package", "package_source", "rebuild_cache", "test", "test_sum", "test_device"}


@click.command("new")
@click.option("--board", default=DEFAULT, show_default=True, metavar="BOARD", help="Its board.")
@click.option(
    "--irq",
    is_flag=True,
    help="With the handler of a device's interrupt, a thread that it wakes, and a watchdog.",
)
@boards_option
@click.argument("path", metavar="NAME", type=click.Path(path_type=Path))
def command(path: Path, board: str, irq: bool, places: tuple[Path, ...]) -> None:
    """Make a project in the folder NAME, and say how to build and run it on a board."""
    folders = boards.folders(places)
    one = boards.find(folders, board)
    alarm = _alarm(one, folders) if irq else None
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
    values = {"NAME": name, "BOARD": one.name, **_values(alarm)}
    for source in _sources(alarm):
        target = path / HIDDEN.get(source.name, source.name)
        target.write_text(_filled(source.read_text(), values))
    click.echo(f"{path}: a program, its test, README.md. To build and run it:")
    for line in commands(path, one.name, tools, places):
        click.echo(f"    {line}")


def _alarm(board: Board, folders: list[Path]) -> Alarm:
    """The board's device that can interrupt, or an error that names the boards with one."""
    alarm = _of_package(board, folders)
    if alarm is None:
        others = [one.name for one in boards.load_all(folders) if _of_package(one, folders)]
        raise UserError(
            f"--irq: the description of {board.name} names no device that can interrupt "
            f"(tests.alarm); boards that have one: {listing(others)}",
            status=2,
        )
    return alarm


def _of_package(board: Board, folders: list[Path]) -> Alarm | None:
    """Tests, and with them the alarm, are described with the board that programs are built for."""
    if board.image is None and board.package.name != board.name:
        return boards.read(board.package / boards.FILE, folders).tests.alarm
    return board.tests.alarm


def _values(alarm: Alarm | None) -> dict[str, str]:
    if alarm is None:
        return {}
    return {
        "DEVICE": alarm.device,
        "SOURCE": str(alarm.source),
        "ADDRESS": f"{alarm.address:#x}",
        "HZ": str(alarm.hz),
    }


def _sources(alarm: Alarm | None) -> list[Path]:
    """Of the drivers only that of the device."""
    if alarm is None:
        return sorted(SKELETON.iterdir())
    drivers = {f"alarm_{device}.c" for device in boards.ALARMS if device != alarm.device}
    return [source for source in sorted(WITH_IRQ.iterdir()) if source.name not in drivers]


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
