# SPDX-License-Identifier: MIT
"""pirn_tools.prof.objects: with damaged debug information functions keep their names."""

from __future__ import annotations

from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from profiles import needs_cc, program

from pirn_tools.prof.objects import ObjectFile

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
    file = ObjectFile(str(damaged))
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
