# SPDX-License-Identifier: MIT
"""A board is one file: a description that is dropped in is configured and has its tests, and no
other file is edited. Mistakes in one are named. CMake's part is skipped without compiler and C
library."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pirn_tools import paths
from pirn_tools.board import boards, configure, lists, machine, picolibc
from pirn_tools.errors import UserError

ROOT = paths.project()
MODEL = "riscv64-virt"
TEXT = (boards.folder(ROOT) / MODEL / boards.FILE).read_text()
NAME = "dropped-in"


def drop_in(folder: Path, text: str = TEXT, name: str = NAME) -> Path:
    """The description of a new board, in a folder of boards."""
    path = folder / "boards" / name / boards.FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def changed(*pairs: tuple[str, str]) -> str:
    text = TEXT
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def cmake(folder: Path, name: str | None) -> subprocess.CompletedProcess[str]:
    """Configures in the folder's build, with what has been dropped in there."""
    target = boards.find([boards.folder(ROOT)], MODEL).target
    library = picolibc.Folders(ROOT / ".boards").library(target)
    if not (library / "recipe").exists() or shutil.which(f"{target.compiler}gcc") is None:
        pytest.skip("rv64 is not set up (tools/setup-boards --target rv64)")
    environment = {key: value for key, value in os.environ.items() if key != "PIRN_BOARD"}
    environment[boards.VARIABLE] = str(folder / "boards")
    if name is not None:
        environment["PIRN_BOARD"] = name
    return subprocess.run(
        ["cmake", "--preset", "board", "-B", folder / "build"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def declared(build: Path) -> dict[str, dict[str, Any]]:
    """Name → command, labels."""
    done = subprocess.run(
        ["ctest", "--test-dir", build, "--show-only=json-v1"],
        capture_output=True,
        text=True,
        check=True,
    )
    found = {}
    for test in json.loads(done.stdout)["tests"]:
        properties = {one["name"]: one["value"] for one in test["properties"]}
        found[test["name"]] = {
            "command": test.get("command", []),
            "labels": properties.get("LABELS", []),
        }
    return found


def test_a_board_is_dropped_in(tmp_path: Path) -> None:
    drop_in(tmp_path)
    done = cmake(tmp_path, NAME)
    assert done.returncode == 0, done.stdout + done.stderr
    found = declared(tmp_path / "build")
    assert {"suites-steal-4-1", "cores-8", "alarm-steal-4", "small-each"} <= found.keys()
    assert NAME in found["cores-8"]["command"]
    assert found["suites-steal-4-1"]["labels"] == ["board", "fast", "repeat"]
    # Another tree's board of the model's name must not have been meant.
    assert not any(MODEL in word for test in found.values() for word in test["command"])


def test_tests_are_those_that_the_description_names(tmp_path: Path) -> None:
    drop_in(
        tmp_path,
        changed(
            ("most = 8", "most = 3"),
            ("default = 4", "default = 2"),
            ("tested = [1, 2, 4]", "tested = [1, 2, 3]"),
            ("check = true", 'fast = "^libc-"'),
            ("small_each = true", ""),
            ("alarm = ", "# "),
        ),
    )
    done = cmake(tmp_path, NAME)
    assert done.returncode == 0, done.stdout + done.stderr
    found = declared(tmp_path / "build")
    assert {"suites-steal-3-1", "cores-3", "conformance-dist-3"} <= found.keys()
    assert not any(name.endswith(("-4", "-4-1")) for name in found)
    assert not any(name.startswith(("alarm", "small-each")) for name in found)
    assert {name for name, test in found.items() if "fast" in test["labels"]} == {
        "libc-1",
        "libc-3",
    }


def test_the_image_is_linked_where_the_description_says(tmp_path: Path) -> None:
    text = changed(("ram_mib = 128", "ram_mib = 64\nbegin = 0x80200000"), ('"128M"', '"64M"'))
    file = drop_in(tmp_path, text)
    configure.write(boards.read(file), file, tmp_path)
    script = (tmp_path / "board" / "board.ld").read_text()
    assert "ORIGIN = 0x80200000, LENGTH = 0x3e00000 }" in script
    assert 'REGION_ALIAS("data", ram)' in script
    header = (tmp_path / "board" / "board_map.h").read_text()
    assert "#define BOARD_RAM_MIB 0x800\n#define BOARD_RAM_MIBS 0x40\n" in header
    assert "BOARD_UNCACHED" not in header


def test_parked_cores_are_told_to_the_start_code_and_the_machine(tmp_path: Path) -> None:
    file = drop_in(tmp_path, changed(("[1, 2, 4]", "[1, 2, 4]\nparked = [0, 5]")))
    board = boards.read(file)
    configure.write(board, file, tmp_path)
    assert "#define BOARD_PARKED 0x21\n" in (tmp_path / "board" / "board_map.h").read_text()
    line = machine.command(board, "a.elf", [], machine.Options(3))
    assert line[line.index("-smp") + 1] == "5"
    other = (boards.folder(ROOT) / "vexpress-a9" / boards.FILE).read_text()
    file = drop_in(tmp_path, other.replace("[1, 2, 4]", "[1, 2, 4]\nparked = [0]"))
    with pytest.raises(UserError, match=r"start code of arm parks no cores .that does: riscv"):
        boards.read(file)


def test_data_are_linked_where_memory_is_not_cached(tmp_path: Path) -> None:
    begin = "begin = 0x80200000\nuncached = 0xc0000000"
    file = drop_in(tmp_path, changed(("ram_mib = 128", f"ram_mib = 128\n{begin}")))
    configure.write(boards.read(file), file, tmp_path)
    script = (tmp_path / "board" / "board.ld").read_text()
    assert "ram (rwx) : ORIGIN = 0x80200000, LENGTH = 0x7e00000 }" in script
    assert "data (rw) : ORIGIN = 0xc0200000, LENGTH = 0x7e00000 }" in script
    header = (tmp_path / "board" / "board_map.h").read_text()
    assert "#define BOARD_UNCACHED 0xc0000000\n" in header


@pytest.mark.parametrize("wrong", ["0xc0000001", "0x80000000", "0x87f00000", "-1"])
def test_where_memory_is_not_cached_is_not_in_ram(tmp_path: Path, wrong: str) -> None:
    file = drop_in(tmp_path, changed(("ram_mib = 128", f"ram_mib = 128\nuncached = {wrong}")))
    with pytest.raises(UserError, match=r"image: uncached is to be a (multiple|whole number)"):
        boards.read(file)


FLASH = "flash = 0x20000000\nflash_mib = 4"


def test_code_is_linked_to_flash(tmp_path: Path) -> None:
    file = drop_in(tmp_path, changed(("ram_mib = 128", f"ram_mib = 128\n{FLASH}")))
    configure.write(boards.read(file), file, tmp_path)
    script = (tmp_path / "board" / "board.ld").read_text()
    assert "ram (rx) : ORIGIN = 0x20000000, LENGTH = 0x400000 }" in script
    assert "data (rw) : ORIGIN = 0x80000000, LENGTH = 0x8000000 }" in script
    assert "bare_flash = 1;" in script
    header = (tmp_path / "board" / "board_map.h").read_text()
    assert "#define BOARD_FLASH_MIB 0x200\n#define BOARD_FLASH_MIBS 0x4\n" in header


@pytest.mark.parametrize(
    ("flash", "said"),
    [
        ("flash = 0x20000000", "flash and flash_mib belong together"),
        ("flash_mib = 4", "flash and flash_mib belong together"),
        ("flash = 0x87f00000\nflash_mib = 4", "flash is to be a multiple of 1 MiB, and its memory"),
        ("flash = 0x7ff00000\nflash_mib = 2", "flash is to be a multiple of 1 MiB, and its memory"),
        ("flash = 0x20000001\nflash_mib = 4", "flash is to be a multiple of 1 MiB, and its memory"),
        (f"{FLASH}\nbegin = 0x80000000", "begin is to be within the memory that flash and flash"),
    ],
)
def test_wrong_flash_is_named(tmp_path: Path, flash: str, said: str) -> None:
    file = drop_in(tmp_path, changed(("ram_mib = 128", f"ram_mib = 128\n{flash}")))
    with pytest.raises(UserError) as caught:
        boards.read(file)
    assert f"image: {said}" in caught.value.message


def test_queues_in_the_hardware_are_those_of_the_description(tmp_path: Path) -> None:
    """And boards that have them are named, for those that have none."""
    file = drop_in(tmp_path)
    tree = tmp_path / "board" / "tree.cmake"
    configure.write(boards.read(file), file, tmp_path)
    assert "set(PIRN_BOARD_READY_QUEUES [==[OFF]==])" in tree.read_text()
    assert "set(PIRN_BOARDS_READY_QUEUES [==[pirn-soc;pirn-soc-incoherent]==])" in tree.read_text()
    file.write_text(changed(("[image.addresses]", "[image.addresses]\nscheduler = 0x13000000")))
    configure.write(boards.read(file), file, tmp_path)
    assert "set(PIRN_BOARD_READY_QUEUES [==[ON]==])" in tree.read_text()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("riscv46-virt", f'no board "riscv46-virt"; did you mean "{MODEL}"? (valid: aarch64-virt,'),
        (None, "PIRN_BOARD names no board (valid: aarch64-virt,"),
        ("broken", "broken/board.toml: image: unknown: rum (valid: addresses, begin, code,"),
    ],
)
def test_cmake_says_what_is_valid(tmp_path: Path, name: str | None, said: str) -> None:
    (tmp_path / "boards").mkdir()
    if name == "broken":
        drop_in(tmp_path, changed(("\nram = ", "\nrum = ")), name)
    done = cmake(tmp_path, name)
    assert done.returncode != 0
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("description =", "descripton =", "unknown: descripton (valid: bench, cpus, description,"),
        ('target = "rv64"', "", "'target' is missing (needed: cpus, description, exit, qemu,"),
        ('exit = "', 'exit = 1 # "', "exit is to be a text"),
        ("most = 8", "moist = 8", "cpus: unknown: moist (valid: default, most, parked, tested);"),
        ("most = 8", 'most = "8"', "cpus: most is to be a whole number"),
        ("[1, 2, 4]", "[1, 4]", "cpus: tested is to be 1, 2 and then larger numbers up to most"),
        ("[1, 2, 4]", "[1, 2, 9]", "cpus: tested is to be 1, 2 and then larger numbers up to"),
        ("ram = 0x80000000", "", "image: 'ram' is missing (needed: ram, ram_mib; optional: "),
        ("ram = 0x80000000", "ram = 0x80000001", "image: ram is to be a multiple of 1 MiB"),
        ("ram_mib = 128", "ram_mib = 64", "arguments: -m 128M, but image: ram_mib says 64M"),
        ("ram_mib = 128", "ram_mib = 128\nbegin = 0", "image: begin is to be within the memory"),
        ("ram_mib = 128", "ram_mib = 128\npage = true", "image: page is to be a whole number"),
        ("[1, 2, 4]", "[1, 2, 4]\nparked = [1, 0]", "cpus: parked is to be cores in order, each"),
        ("[1, 2, 4]", "[1, 2, 4]\nparked = [32]", "cpus: parked is to be cores in order, each"),
        ("10 = ", "256 = ", 'interrupts: "256" is to be the number of an interrupt, 0 to 255'),
        ("10 = ", "9-7 = ", 'interrupts: "9-7" is to be the number of an interrupt, 0 to 255'),
        ("10 = ", "ten = ", 'interrupts: "ten" is to be the number of an interrupt, 0 to 255'),
        ("10 = ", "8-10 = ", "interrupts: 8 is there twice"),
        ('10 = "', '10 = 1 # "', "interrupts: is to be a table of number = text"),
        ("11 = ", "12 = ", "tests.alarm: source 11 is not among the interrupts"),
        ("10 = ", "9 = ", "tests.alarm: console 10 is not among the interrupts"),
        ("check = true", 'check = "yes"', "tests: check is to be true or false"),
        ("check = true", 'fast = "["', "tests: fast is to be a regular expression"),
        (
            'device = "rtc"',
            'device = "rtk"',
            'tests.alarm: device "rtk" (valid: cntp, pit, rtc, sp804)',
        ),
        (
            'device = "rtc"',
            'device = "sp804"',
            "tests.alarm: hz is to be the rate of the device's clock, 1000000 or more",
        ),
        ("source = 11", "sauce = 11", "tests.alarm: unknown: sauce (valid: address, console,"),
        (
            "programs = true",
            "program = true",
            "bench: unknown: program (valid: programs, sections, sizes)",
        ),
        ("[bench]", "[[bench]]", "bench: is to be a table"),
    ],
)
def test_a_wrong_description_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = drop_in(tmp_path, changed((old, new)))
    with pytest.raises(UserError) as caught:
        boards.read(file)
    assert caught.value.message.startswith(f"{file}: ")
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            '"riscv-virt"',
            '"riscv-wirt"',
            'code: no folder "riscv-wirt"; did you mean "riscv-virt"?',
        ),
        ('"plic.c"', '"gick.c"', 'no file "gick.c"; did you mean "gic.c"?'),
    ],
)
def test_files_that_are_not_there_are_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    file = drop_in(tmp_path, changed((old, new)))
    with pytest.raises(UserError) as caught:
        configure.write(boards.read(file), file, tmp_path)
    assert caught.value.message.startswith(f"{file}: image: ")
    assert said in caught.value.message
    assert "(valid: " in caught.value.message


def test_boards_without_libraries_of_their_own_are_not_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop_in(tmp_path, TEXT.partition("[image]")[0], "machine")
    drop_in(tmp_path, f'like = "{MODEL}"\n[runner]\ncommand = ["true"]', "cellar")
    monkeypatch.setenv(boards.VARIABLE, str(tmp_path / "boards"))
    with pytest.raises(UserError, match="'image' is missing"):
        configure.find("machine")
    with pytest.raises(UserError, match=f"configure {MODEL}, whose programs it runs"):
        configure.find("cellar")


def test_the_template_has_every_key() -> None:
    path = ROOT / "port" / "template" / boards.FILE
    board, table = boards.read(path), tomllib.loads(path.read_text())
    assert board.image is not None
    configure.code_folder(board.image, path, ROOT)
    configure.check_devices(board.image, path, ROOT)
    missing = {*boards.REQUIRED, *boards.OPTIONAL} - set(table)
    assert missing == {"runner", "like"}  # of boards that others have
    for name, keys in (("cpus", boards.CPUS), ("qemu", boards.QEMU), ("image", boards.IMAGE)):
        assert set(table[name]) == {*keys[0], *keys[1]}
    for name, keys in (("tests", boards.TESTS), ("bench", boards.BENCH)):
        assert set(table[name]) == {*keys[0], *keys[1]}


def tree(folder: Path) -> Path:
    """The part of the project's tree that lists are made of."""
    for path in boards.folder(ROOT).glob("*"):
        if path.is_dir():
            shutil.copytree(path, folder / "port" / "board" / path.name)
    for path in (lists.PRESETS, lists.DOCUMENT):
        (folder / path).parent.mkdir(parents=True)
        shutil.copy(ROOT / path, folder / path)
    return folder


def test_lists_are_compared_with_the_descriptions(tmp_path: Path) -> None:
    root = tree(tmp_path)
    assert lists.stale(root) == []
    (boards.folder(root) / NAME).mkdir()
    (boards.folder(root) / NAME / boards.FILE).write_text(TEXT)
    assert lists.stale(root) == [root / lists.PRESETS, root / lists.DOCUMENT]
    for path, text in lists.wanted(root).items():
        assert f'"{NAME}"' in text or f"`{NAME}`" in text
        path.write_text(text)
    assert lists.stale(root) == []


def test_names_are_chosen_by_family_and_purpose() -> None:
    every = lists.ported(ROOT)
    firsts = lists.choose(every, [], "first")
    assert len({board.target.family for board in every}) == len(firsts)
    arm = lists.choose(every, ["arm"])
    assert {board.name for board in arm} == {"arm-virt", "realview-eb-mpcore", "vexpress-a9"}
    assert [board.name for board in lists.choose(every, [MODEL])] == [MODEL]
    assert [board.name for board in lists.choose(every, ["riscv", "mips"], "sizes")] == [
        MODEL,
        "pirn-soc",
        "malta-p5600",
    ]
    assert [board.name for board in lists.choose(every, [], "chip")] == [
        "pirn-soc",
        "pirn-soc-incoherent",
    ]
    with pytest.raises(UserError, match=r'no board "sparc".* \(valid: riscv, arm, .*, arm-virt, '):
        lists.choose(every, ["arm", "sparc"])
