# SPDX-License-Identifier: MIT
"""What CMake needs of a board's description. port/board/toolchain.cmake calls it when a build is
configured:

    python -m pirn_tools.board.configure BOARD FOLDER

It writes into FOLDER, the build's, and leaves files alone whose content stays:

board.cmake          compiler and flags: also for projects elsewhere, and installed
board/board.ld       memory; the rest of the linker script is port/board/image.ld
board/board_map.h    addresses, for C and assembly
board/tree.cmake     what is built and tested in this tree
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from pirn_tools import paths
from pirn_tools.board import boards, targets
from pirn_tools.board.boards import Board, Image
from pirn_tools.errors import UserError, did_you_mean, listing

# Of addresses: what the hardware guards stacks by, which moves with the running thread.
GUARDS = {"pmp_granule", "mpu", "stack_limits"}
HEADER = "SPDX-License-Identifier: MIT"
MADE = "Made by CMake of {file}: do not edit."


def find(name: str) -> tuple[Board, Path]:
    """The board of this name, and its file; an error if the runtime cannot be built for it."""
    places = boards.folders()
    if not name:
        portable = [board.name for board in boards.load_all(places) if board.image is not None]
        raise UserError(f"PIRN_BOARD names no board (valid: {listing(portable)})", status=2)
    found = boards.files(places)
    board = boards.find(places, name)
    if board.package != found[name].parent:
        raise UserError(f"{found[name]}: configure {board.package.name}, whose programs it runs")
    image_of(board, found[name])
    return board, found[name]


def image_of(board: Board, file: Path) -> Image:
    """With its files looked for."""
    if board.image is None:
        raise UserError(f"{file}: 'image' is missing, which says what libraries are made of")
    root = paths.project()
    code_folder(board.image, file, root)
    check_devices(board.image, file, root)
    return board.image


def write(board: Board, file: Path, build: Path) -> None:
    """Writes the files above."""
    image = image_of(board, file)
    code = code_folder(image, file, paths.project())
    _write(build / "board.cmake", _cmake(file, toolchain(board)))
    _write(build / "board" / "board.ld", linker_script(image, file))
    _write(build / "board" / "board_map.h", map_header(image, file, board.parked))
    queues = [
        other.name
        for other in boards.load_all([boards.folder(paths.project())])
        if has_queues(other)
    ]
    _write(build / "board" / "tree.cmake", _cmake(file, tree(board, image, file, code, queues)))


def code_folder(image: Image, file: Path, root: Path) -> Path:
    """The folder of board.toml itself, one beside it, or one of the tree's."""
    if not image.code:
        return file.parent
    places = [file.parent.parent, boards.folder(root)]
    for place in places:
        if boards.NAME.match(image.code) and (place / image.code).is_dir():
            return place / image.code
    valid = sorted({path.parent.name for place in places for path in place.glob("*/board.c")})
    raise _wrong(file, "code", "folder", image.code, valid)


def check_devices(image: Image, file: Path, root: Path) -> None:
    valid = sorted(path.name for path in (boards.folder(root) / "devices").glob("*.c"))
    for device in image.devices:
        if device not in valid:
            raise _wrong(file, "devices", "file", device, valid)


def _wrong(file: Path, key: str, what: str, name: str, valid: list[str]) -> UserError:
    close = did_you_mean(name, valid)
    return UserError(f'{file}: image: {key}: no {what} "{name}"{close} (valid: {listing(valid)})')


def toolchain(board: Board) -> dict[str, Iterable[object]]:
    target = board.target
    return {
        "PIRN_BOARD": [board.name],
        "PIRN_BOARD_TARGET": [target.name],
        "PIRN_BOARD_COMPILER": [target.compiler],
        "PIRN_BOARD_FLAGS": [*target.flags, *target.programs],
        "CMAKE_SYSTEM_PROCESSOR": [target.arch],
    }


def has_queues(board: Board) -> bool:
    """Of threads, in the hardware: port_ready.h, which needs the address of their registers."""
    return board.image is not None and "scheduler" in dict(board.image.addresses)


def tree(
    board: Board, image: Image, file: Path, code: Path, queues: Iterable[str]
) -> dict[str, Iterable[object]]:
    """queues: names of all boards that have queues of threads"""
    tests, alarm = board.tests, board.tests.alarm
    return {
        "PIRN_BOARD_FILE": [file],
        "PIRN_BOARD_FILES": [file, targets.TABLE],
        "PIRN_BOARD_CODE": [code],
        "PIRN_BOARD_DEVICES": image.devices,
        "PIRN_BOARD_CORES": board.cpus_tested,
        "PIRN_BOARD_CORES_MOST": [board.cpus_most],
        "PIRN_BOARD_RAM_MIB": [image.ram_mib],
        "PIRN_BOARD_FAST": [tests.fast],
        "PIRN_BOARD_CHIP": ["ON" if tests.chip else "OFF"],
        "PIRN_BOARD_READY_QUEUES": ["ON" if has_queues(board) else "OFF"],
        "PIRN_BOARDS_READY_QUEUES": queues,
        "PIRN_BOARD_GUARDS": ["ON" if GUARDS & dict(image.addresses).keys() else "OFF"],
        "PIRN_BOARD_UNCACHED": ["ON" if image.uncached else "OFF"],
        "PIRN_BOARD_STARTS": tests.starts,
        "PIRN_BOARD_SMALL_EACH": ["ON" if tests.small_each else "OFF"],
        "PIRN_BOARD_INTERRUPTS": [
            number for one in board.interrupts for number in range(one.first, one.last + 1)
        ],
        "PIRN_BOARD_ALARM": []
        if alarm is None
        else [alarm.device, alarm.source, f"{alarm.address:#x}", alarm.console, alarm.hz],
    }


def linker_script(image: Image, file: Path) -> str:
    ram, mibs = (image.flash, image.flash_mib) if image.flash_mib else (image.ram, image.ram_mib)
    length = ram + mibs * boards.MIB - image.begin
    access = "rx" if image.flash_mib else "rwx"
    lines = [
        f"/* {HEADER} */",
        f"/* {MADE.format(file=file.name)} */",
        f"MEMORY {{ ram ({access}) : ORIGIN = {image.begin:#010x}, LENGTH = {length:#x} }}",
    ]
    if image.flash_mib:
        data, size = image.uncached or image.ram, image.ram_mib * boards.MIB
        lines.append(f"MEMORY {{ data (rw) : ORIGIN = {data:#010x}, LENGTH = {size:#x} }}")
        lines.append("bare_flash = 1;")
    elif image.uncached:
        begin = image.begin - image.ram + image.uncached
        lines.append(f"MEMORY {{ data (rw) : ORIGIN = {begin:#010x}, LENGTH = {length:#x} }}")
    else:
        lines.append('REGION_ALIAS("data", ram)')
    if image.page:
        lines.append(f"bare_page = {image.page};")
    if image.begin != image.ram and not image.flash_mib:
        lines.append("bare_stack_first = 1;")
    return "\n".join([*lines, "INCLUDE image.ld", ""])


def map_header(image: Image, file: Path, parked: Iterable[int] = ()) -> str:
    values = {"ram_mib": image.ram // boards.MIB, "ram_mibs": image.ram_mib}
    if image.flash_mib:
        values["flash_mib"] = image.flash // boards.MIB
        values["flash_mibs"] = image.flash_mib
    if image.uncached:
        values["uncached"] = image.uncached
    values.update(image.addresses)
    mask = sum(1 << core for core in parked)
    if mask:
        values["parked"] = mask
    lines = [
        f"/* {HEADER} */",
        f"/* {MADE.format(file=file.name)} */",
        "#ifndef PIRN_BOARD_MAP_H",
        "#define PIRN_BOARD_MAP_H",
        *(f"#define BOARD_{name.upper()} {value:#x}" for name, value in values.items()),
        "#endif",
    ]
    return "\n".join([*lines, ""])


def _cmake(file: Path, values: dict[str, Iterable[object]]) -> str:
    lines = [f"# {HEADER}", f"# {MADE.format(file=file.name)}"]
    for name, words in values.items():
        # A bracket argument: nothing in it is CMake's.
        lines.append(f"set({name} [==[{';'.join(str(word) for word in words)}]==])")
    return "\n".join([*lines, ""])


def _write(path: Path, text: str) -> None:
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@click.command()
@click.argument("name", metavar="BOARD")
@click.argument("build", metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path))
def main(name: str, build: Path) -> None:
    """Write what CMake needs of BOARD into FOLDER."""
    board, file = find(name)
    write(board, file, build)


if __name__ == "__main__":
    try:
        main(prog_name="configure")
    except OSError as error:
        click.echo(f"Error: {error.filename}: {error.strerror or error}", err=True)
        sys.exit(1)
