# SPDX-License-Identifier: MIT
"""The boards: <folder>/<name>/board.toml, one file each. port/board is such a folder, an installed
lib/pirn/boards is another, and users have their own. All that depends on a board comes from this
file: CMake's settings, presets, make's lists, tests (configure.py, lists.py). docs/guide/boards.md,
"A board's description", says what each key means; the keys of each table stand below.

An unknown or missing key is an error that names the file and the key, and lists what is valid.
"""

from __future__ import annotations

import itertools
import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pirn_tools import paths
from pirn_tools.board import targets
from pirn_tools.board.entry import Entry
from pirn_tools.board.targets import Target
from pirn_tools.errors import UserError, did_you_mean, listing

FILE = "board.toml"
VARIABLE = "PIRN_BOARDS"
INSTALLED = "pirn/boards"  # below the folder of the libraries: cmake/install-board.cmake
INPUTS = ("console", "program")
ALARMS = ("cntp", "pit", "rtc", "sp804")  # skeleton-irq/alarm_<device>.c

# Tables: the keys that are needed, the others.
REQUIRED = ("description", "target", "cpus")
OPTIONAL = ("exit", "qemu", "memory", "interrupts", "image", "tests", "bench", "runner", "like")
CPUS = (("default", "most"), ("tested", "parked"))
QEMU = (("program", "arguments"), ())
RUNNER = (("command",), ("input", "packages"))
IMAGE = (
    ("ram", "ram_mib"),
    ("begin", "flash", "flash_mib", "page", "uncached", "code", "devices", "addresses"),
)
TESTS = ((), ("fast", "check", "chip", "alarm", "starts", "small_each"))
ALARM = (("device", "source", "address", "console"), ("hz",))
BENCH = ((), ("sections", "programs", "sizes"))

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\Z")
NUMBERS = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?\Z")
LAST_SOURCE = 255  # port/env/bare/bare_irq.c
PARKED_MOST = 32
PARKING = ("riscv",)  # port/arch whose start code parks cores
MIB = 1 << 20
MHZ = 1_000_000


@dataclass(frozen=True)
class Runner:
    """A command that runs a program on a board."""

    command: tuple[str, ...]
    input: str  # one of INPUTS
    packages: str = ""  # the group of tools/packages.txt that it needs


@dataclass(frozen=True)
class Image:
    """The sources of the libraries and images for a board; only for a board that has a port."""

    ram: int
    ram_mib: int
    begin: int  # where images are linked to
    flash: int  # code and constants are there, and what data begin with, if flash_mib is not 0
    flash_mib: int
    page: int  # alignment of vectors and start code; 0: none
    uncached: int  # where the memory at `ram` is not cached, for all data; 0: data are cached
    code: str  # the folder of the board's own sources; "": the one of board.toml
    devices: tuple[str, ...]  # files of port/board/devices
    addresses: tuple[tuple[str, int], ...]  # BOARD_... of board_map.h


@dataclass(frozen=True)
class Interrupts:
    """Of a device, or of several alike: numbers of the interrupt controller (<pirn/irq.h>)."""

    first: int
    last: int
    what: str


@dataclass(frozen=True)
class Alarm:
    """A device that can interrupt once after a given time."""

    device: str
    source: int
    address: int
    console: int  # the console's interrupt
    hz: int  # its clock; 0: the device has one rate


@dataclass(frozen=True)
class Tests:
    fast: str = "."  # regular expression of CMake
    check: bool = False  # the fast tests are part of `make check`
    chip: bool = False  # the chip of hw/rtl, simulated: the few tests of tests/board/chip.cmake
    alarm: Alarm | None = None
    starts: tuple[str, ...] = ()  # properties of the machine: cores begin at other levels
    small_each: bool = False  # each feature is left out once


@dataclass(frozen=True)
class Bench:
    sections: float = 0  # of `make board-sections`; 0: not run there
    programs: bool = False  # `make board-apps` runs there
    sizes: bool = False  # tests/board/small/sizes.toml has configurations of it


@dataclass(frozen=True)
class Board:
    name: str
    description: str
    target: Target
    exit: str
    cpus_default: int
    cpus_most: int
    cpus_tested: tuple[int, ...]
    parked: tuple[int, ...]  # cores beside the CPUs, by the hardware's numbers
    qemu: str
    arguments: tuple[str, ...]
    memory: tuple[tuple[int, str], ...]
    interrupts: tuple[Interrupts, ...]
    runner: Runner | None
    package: Path  # the folder of the board for which its programs are built
    image: Image | None = None
    tests: Tests = field(default_factory=Tests)
    bench: Bench = field(default_factory=Bench)

    @property
    def cpus_text(self) -> str:
        return f"1 to {self.cpus_most}" if self.cpus_most > 1 else "1"


def folder(root: Path) -> Path:
    return root / "port" / "board"


def folders(given: Sequence[Path] = ()) -> list[Path]:
    """Where boards are looked for: given, $PIRN_BOARDS, this tree or prefix, in this order."""
    found = [_existing(path, "--boards") for path in given]
    named = os.environ.get(VARIABLE, "").split(os.pathsep)
    found += [_existing(Path(name), VARIABLE) for name in named if name]
    root, libraries = paths.find_project(), paths.libraries()
    if root is not None:
        found.append(folder(root))
    elif libraries is not None and (libraries / INSTALLED).is_dir():
        found.append(libraries / INSTALLED)
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
        table, package = _whole(path, places)
        return _board(path, table, package)
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise UserError(f"{path}: {error}") from None


def _whole(path: Path, places: Sequence[Path]) -> tuple[dict[str, Any], Path]:
    """The description with what it has from another one, and whose programs it runs."""
    table = _load(path)
    if "like" not in table:
        return table, path.parent
    Entry("", table, (), (*REQUIRED, *OPTIONAL))
    found = files(places)
    name = table.pop("like")
    if name not in found:
        raise ValueError(_unknown("like: no board", name, found))
    other = _load(found[name])
    if "like" in other:
        raise ValueError(f'like: "{name}" is itself like another board')
    for one, instead in (("runner", "qemu"), ("qemu", "runner")):
        if one in table:
            other.pop(instead, None)
    for own in ("image", "tests", "bench"):  # of the board for which its programs are built
        other.pop(own, None)
    return {**other, **table}, found[name].parent


def _load(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text())


def _board(path: Path, table: dict[str, Any], package: Path) -> Board:
    name = path.parent.name
    if not NAME.match(name):
        raise ValueError(f'"{name}" cannot be a board\'s name: letters, digits, _ and - are valid')
    runner = _runner(table["runner"]) if "runner" in table else None
    if runner is not None and "qemu" in table:
        raise ValueError("either qemu or runner is valid, not both")
    needed = (*REQUIRED, *(() if runner else ("exit", "qemu")))
    entry = Entry("", table, needed, OPTIONAL)
    cpus = Entry("cpus", table["cpus"], *CPUS)
    default, most, tested = _cpus(cpus)
    qemu = None if runner else Entry("qemu", table["qemu"], *QEMU)
    board = Board(
        name=name,
        description=entry.text("description"),
        target=_target(entry.text("target"), targets.load()),
        exit="the command's status" if runner else entry.text("exit"),
        cpus_default=default,
        cpus_most=most,
        cpus_tested=tested,
        parked=_parked(cpus),
        qemu=qemu.text("program") if qemu else "",
        arguments=qemu.words("arguments") if qemu else (),
        memory=_memory(table.get("memory", {})),
        interrupts=_interrupts(table.get("interrupts", {})),
        runner=runner,
        package=package,
        image=_image(table["image"]) if "image" in table else None,
        tests=_tests(table.get("tests", {})),
        bench=_bench(table.get("bench", {})),
    )
    _check_ram(board)
    _check_interrupts(board)
    if board.parked and board.image is not None and board.target.family not in PARKING:
        raise ValueError(
            f"cpus: parked: the start code of {board.target.family} parks no cores "
            f"(that does: {listing(PARKING)})"
        )
    return board


def _cpus(entry: Entry) -> tuple[int, int, tuple[int, ...]]:
    default, most, tested = entry.number("default"), entry.number("most"), entry.numbers("tested")
    if not 1 <= default <= most:
        raise ValueError("cpus: default is to be between 1 and most")
    if not entry.has("tested"):
        tested = tuple(cores for cores in (1, 2, 4) if cores <= most)
    elif (
        tested != tuple(sorted(set(tested)))
        or tested[:2] != (1, 2)[: min(most, 2)]
        or tested[-1] > most
    ):
        raise entry.wrong("tested", "1, 2 and then larger numbers up to most")
    return default, most, tested


def _parked(entry: Entry) -> tuple[int, ...]:
    """As a bit each in the start code."""
    parked = entry.numbers("parked")
    if parked != tuple(sorted({core for core in parked if 0 <= core < PARKED_MOST})):
        raise entry.wrong("parked", f"cores in order, each once, 0 to {PARKED_MOST - 1}")
    return parked


def _memory(table: object) -> tuple[tuple[int, str], ...]:
    if not isinstance(table, dict) or not all(isinstance(what, str) for what in table.values()):
        raise ValueError("memory: is to be a table of address = text")
    return tuple((_address(text), what) for text, what in table.items())


def _interrupts(table: object) -> tuple[Interrupts, ...]:
    if not isinstance(table, dict) or not all(isinstance(what, str) for what in table.values()):
        raise ValueError("interrupts: is to be a table of number = text")
    found = [_numbers(text, what) for text, what in table.items()]
    for one, following in itertools.pairwise(sorted(found, key=lambda one: one.first)):
        if following.first <= one.last:
            raise ValueError(f"interrupts: {following.first} is there twice")
    return tuple(found)


def _numbers(text: str, what: str) -> Interrupts:
    match = NUMBERS.match(text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if not first <= last <= LAST_SOURCE:
        valid = f"0 to {LAST_SOURCE}, or several as 1-8"
        raise ValueError(f'interrupts: "{text}" is to be the number of an interrupt, {valid}')
    return Interrupts(first, last, what)


def _address(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise ValueError(f'memory: "{text}" is to be an address, as 0x80000000') from None


def _runner(table: object) -> Runner:
    entry = Entry("runner", table, *RUNNER)
    command, source = entry.words("command"), entry.text("input", "console")
    if not command:
        raise entry.wrong("command", "a list of words")
    if source not in INPUTS:
        raise ValueError(f'runner: input "{source}" (valid: {listing(INPUTS)})')
    return Runner(command, source, entry.text("packages", ""))


def _image(table: object) -> Image:
    entry = Entry("image", table, *IMAGE)
    ram, mib = entry.number("ram"), entry.number("ram_mib")
    flash, flash_mib = _flash(entry, ram, mib)
    begin = entry.number("begin", flash if flash_mib else ram)
    if ram % MIB:
        raise entry.wrong("ram", "a multiple of 1 MiB")
    if flash_mib:
        if not flash <= begin < flash + flash_mib * MIB:
            raise entry.wrong("begin", "within the memory that flash and flash_mib describe")
    elif not ram <= begin < ram + mib * MIB:
        raise entry.wrong("begin", "within the memory that ram and ram_mib describe")
    uncached = entry.number("uncached")
    if uncached and (uncached % MIB or abs(uncached - ram) < mib * MIB):
        raise entry.wrong("uncached", "a multiple of 1 MiB, and its memory not that of ram")
    addresses = entry.value("addresses") if entry.has("addresses") else {}
    if not isinstance(addresses, dict) or not all(type(one) is int for one in addresses.values()):
        raise entry.wrong("addresses", "a table of name = number")
    return Image(
        ram=ram,
        ram_mib=mib,
        begin=begin,
        flash=flash,
        flash_mib=flash_mib,
        page=entry.number("page"),
        uncached=uncached,
        code=entry.text("code"),
        devices=entry.words("devices"),
        addresses=tuple(addresses.items()),
    )


def _flash(entry: Entry, ram: int, mib: int) -> tuple[int, int]:
    """Where it is, and MiB; (0, 0): there is none."""
    if entry.has("flash") != entry.has("flash_mib"):
        raise ValueError("image: flash and flash_mib belong together")
    flash, flash_mib = entry.number("flash"), entry.number("flash_mib")
    if entry.has("flash") and (
        flash % MIB or flash_mib < 1 or (flash < ram + mib * MIB and ram < flash + flash_mib * MIB)
    ):
        raise entry.wrong("flash", "a multiple of 1 MiB, and its memory not that of ram")
    return flash, flash_mib


def _tests(table: object) -> Tests:
    entry = Entry("tests", table, *TESTS)
    alarm = _alarm(entry.value("alarm")) if entry.has("alarm") else None
    fast = entry.text("fast", Tests.fast)
    try:
        re.compile(fast)
    except re.error as error:
        raise entry.wrong("fast", f"a regular expression: {error}") from None
    return Tests(
        fast=fast,
        check=entry.flag("check"),
        chip=entry.flag("chip"),
        alarm=alarm,
        starts=entry.words("starts"),
        small_each=entry.flag("small_each"),
    )


def _alarm(table: object) -> Alarm:
    entry = Entry("tests.alarm", table, *ALARM)
    device = entry.text("device")
    if device not in ALARMS:
        raise ValueError(f'tests.alarm: device "{device}" (valid: {listing(ALARMS)})')
    if device == "sp804" and entry.number("hz") < MHZ:
        raise entry.wrong("hz", f"the rate of the device's clock, {MHZ} or more")
    return Alarm(device, *(entry.number(key) for key in ("source", "address", "console", "hz")))


def _bench(table: object) -> Bench:
    entry = Entry("bench", table, *BENCH)
    return Bench(entry.real("sections"), entry.flag("programs"), entry.flag("sizes"))


def _check_ram(board: Board) -> None:
    """The machine has the memory that images are linked for."""
    words = board.arguments
    if board.image is None or "-m" not in words[:-1]:
        return
    given, wanted = words[words.index("-m") + 1], f"{board.image.ram_mib}M"
    if given != wanted:
        raise ValueError(f"qemu: arguments: -m {given}, but image: ram_mib says {wanted}")


def _check_interrupts(board: Board) -> None:
    """Those by which tests check the board are told to its users, too."""
    alarm = board.tests.alarm
    for key, number in (("source", alarm.source), ("console", alarm.console)) if alarm else ():
        if not any(one.first <= number <= one.last for one in board.interrupts):
            raise ValueError(f"tests.alarm: {key} {number} is not among the interrupts")


def _target(name: str, table: Sequence[Target]) -> Target:
    for target in table:
        if target.name == name:
            return target
    raise ValueError(f'no target "{name}" (valid: {listing([one.name for one in table])})')
