# SPDX-License-Identifier: MIT
"""pirn_tools.binary: with damaged debug information functions keep their names."""

from __future__ import annotations

import contextlib
import os
import resource
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from profiles import example, needs_cc, program

from pirn_tools.binary.demangle import plain_name
from pirn_tools.binary.elf import File
from pirn_tools.binary.lines import Lines
from pirn_tools.prof import annotate

pytestmark = needs_cc


def place(binary: Path, section: str) -> int:
    """Where in the file it begins."""
    with binary.open("rb") as stream:
        return ELFFile(stream).get_section_by_name(section)["sh_offset"]


def looked_up(tmp_path: Path, binary: Path, at: int, value: int) -> tuple[str, bool]:
    """With that byte in the file: a function's name, and whether its line is known."""
    data = bytearray(binary.read_bytes())
    data[at] = value
    damaged = tmp_path / "damaged"
    damaged.write_bytes(data)
    file = File(str(damaged))
    start = {one.name: one.start for one in file.symbols}["leaf"]
    found = file.symbol(start)
    file.inlined(start)
    file.span(start, start + 8)
    return found.name if found is not None else "", file.line(start) is not None


def test_lines_are_known_where_nothing_is_damaged(tmp_path: Path) -> None:
    binary = program("-no-pie")
    same = binary.read_bytes()[0]
    assert looked_up(tmp_path, binary, 0, same) == ("leaf", True)


def test_table_of_addresses_with_segments_has_no_lines(tmp_path: Path) -> None:
    binary = program("-no-pie")
    assert looked_up(tmp_path, binary, place(binary, ".debug_aranges") + 11, 4) == ("leaf", False)


@pytest.mark.parametrize("value", [0, 4, 127, 255])
@pytest.mark.parametrize("section", [".debug_info", ".debug_line", ".debug_aranges"])
def test_damaged_heads_of_sections_are_no_tracebacks(
    tmp_path: Path, section: str, value: int
) -> None:
    binary = program("-no-pie")
    for offset in range(40):
        name, _ = looked_up(tmp_path, binary, place(binary, section) + offset, value)
        assert name == "leaf"


@pytest.mark.parametrize("section", [".debug_info", ".debug_line", ".debug_abbrev"])
def test_damaged_compressed_sections_have_no_lines(tmp_path: Path, section: str) -> None:
    binary = program("-no-pie", "-gz")
    head_of_stream = place(binary, section) + 24
    assert looked_up(tmp_path, binary, head_of_stream, 255) == ("leaf", False)


SPARSE = 10 << 30


def fifo(path: Path) -> None:
    os.mkfifo(path)


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, SPARSE)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (fifo, "is a FIFO, not an ordinary file"),
        (device, "is a device, not an ordinary file"),
        (sparse, f"is too large: {SPARSE} bytes"),
        (Path.mkdir, "is a folder, not an ordinary file"),
    ],
)
def test_profile_is_shown_without_names_when_it_names_no_ordinary_file(
    tmp_path: Path, make: Callable[[Path], None], problem: str
) -> None:
    """In so little room that reading without limit fails at once."""
    named = tmp_path / "pro\x1bgram"
    make(named)
    binary = program("-no-pie")
    profile = tmp_path / "p.prof"
    profile.write_text(example(binary).text().replace(str(binary), str(named)))
    said = subprocess.run(
        [sys.executable, "-m", "pirn_tools", "prof", "tree", str(profile)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)),
    )
    assert said.returncode == 0, said.stderr
    assert f"{tmp_path}/pro?gram {problem}" in said.stderr + said.stdout
    assert "100.00%" in said.stdout or "main" in said.stdout, said.stdout
    assert "\x1b" not in said.stderr + said.stdout


def test_file_that_is_linked_is_read(tmp_path: Path) -> None:
    """As libraries are."""
    (tmp_path / "link").symlink_to(program("-no-pie"))
    assert File(str(tmp_path / "link")).named["leaf"].name == "leaf"


def test_source_that_is_no_ordinary_file_is_not_shown(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "calls.c")
    assert annotate.find(str(tmp_path / "calls.c"), ()) is None
    assert annotate.find("/nul\0l", ()) is None


def bomb(folder: Path) -> Path:
    """Debug information that is compressed to a thousandth."""
    binary = program("-no-pie", "-gz")
    with binary.open("rb") as stream:
        elf = ELFFile(stream)
        offset = elf.get_section_by_name(".debug_info")["sh_offset"]
        sections, step = elf["e_shoff"], elf["e_shentsize"]
        number = elf.get_section_index(".debug_info")
    data = bytearray(binary.read_bytes())
    size = 2 << 30
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(size >> 20)) + packer.flush()
    head = bytes(data[offset : offset + 4]).ljust(8, b"\0") + struct.pack("<QQ", size, 1)
    at = sections + number * step
    data[at + 24 : at + 40] = struct.pack("<QQ", len(data), len(head) + len(packed))
    made = folder / "bomb"
    made.write_bytes(bytes(data) + head + packed)
    return made


def test_debug_information_without_end_leaves_names_and_a_remark(tmp_path: Path) -> None:
    file = File(str(bomb(tmp_path)))
    start = file.named["leaf"].start
    assert file.line(start) is None
    assert file.allowance.limits[0].startswith("reading the lines of bomb takes more than ")
    assert file.allowance.limits[0].endswith("MiB of memory")


def test_lines_that_take_too_long_leave_names_and_a_remark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def for_ever(self: Lines, address: int) -> None:
        while True:
            with contextlib.suppress(Exception):
                address += 1

    monkeypatch.setattr(Lines, "at", for_ever)
    file = File(str(program("-no-pie")))
    start = file.named["leaf"].start
    assert file.line(start) is None
    assert file.line(start + 1) is None
    assert file.symbol(start) is not None
    assert file.allowance.limits[0].endswith("s of CPU time")


def test_names_that_stand_for_longer_ones_stay_as_they_are() -> None:
    twice = "".join(f"_ZN1{chr(97 + i % 26)}" for i in range(3000))
    assert plain_name(twice) == twice
    doubled = "_Z1fSt4pairI" + "St4pairI" * 20 + "i" + "E" * 21
    assert len(plain_name(doubled)) < 1 << 24


LABELS = """
    .text
    .globl around, label
    .type around, @function
around:
    nop
label:
    nop
    ret
    .size around, .-around
    .section .note.GNU-stack
"""


def test_label_in_a_function_is_a_place_of_the_function(tmp_path: Path) -> None:
    source, binary = tmp_path / "labels.s", tmp_path / "labels.so"
    source.write_text(LABELS)
    subprocess.run(["cc", "-shared", "-o", binary, source], check=True)
    file = File(str(binary))
    around = next(one for one in file.symbols if one.name == "around")
    found = [file.symbol(around.start + at) for at in range(3)]
    assert found == [around] * 3
