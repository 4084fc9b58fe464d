# SPDX-License-Identifier: MIT
"""pirn_tools.binary: one loader for all tools; lines and symbols."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from profiles import needs_cc, program

import pirn_tools
from pirn_tools import files
from pirn_tools.binary.elf import File, Files
from pirn_tools.board import boards, machine
from pirn_tools.board.places import Places
from pirn_tools.errors import UserError

needs_objcopy = pytest.mark.skipif(shutil.which("objcopy") is None, reason="no objcopy")


def test_only_the_loader_opens_elf_files() -> None:
    """Its limits and its refusal of FIFOs and devices hold for all tools."""
    folder = Path(pirn_tools.__file__).parent
    found = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if re.search(r"\bELFFile\(", path.read_text())
    }
    assert found == {"binary/elf.py"}


@needs_cc
def test_a_file_is_opened_once_when_it_is_asked_for_again() -> None:
    path, opened = str(program("-no-pie")), []

    def opener() -> int:
        opened.append(path)
        return files.open_ordinary(path)

    known = Files()
    first = known.get(path, opener, ("8:1", 42))
    assert known.get(path, opener, ("8:1", 42)) is first
    assert opened == [path]
    assert first.named["leaf"].name == "leaf"


@needs_cc
@needs_objcopy
def test_lines_are_found_without_a_table_of_addresses(tmp_path: Path) -> None:
    """clang writes no .debug_aranges."""
    binary, stripped = program("-no-pie"), tmp_path / "stripped"
    subprocess.run(["objcopy", "-R", ".debug_aranges", binary, stripped], check=True)
    file, plain = File(str(stripped)), File(str(binary))
    for name in ("leaf", "again", "main"):
        start = plain.named[name].start
        assert file.line(start) == plain.line(start) is not None


@needs_cc
def test_data_and_functions_have_names() -> None:
    file = File(str(program("-no-pie")))
    table = file.table
    sink = table.defined["sink"]
    found = [table.at(address) for address in (sink, sink + 3, file.named["leaf"].start + 1)]
    assert [one.name for one in found if one is not None] == ["sink", "sink", "leaf"]
    assert file.symbol(sink) is None


@needs_cc
def test_thumb_code_begins_at_an_even_address_when_the_file_is_for_arm(tmp_path: Path) -> None:
    binary = program("-no-pie")
    start = File(str(binary)).named["leaf"].start
    data = bytearray(binary.read_bytes())
    with binary.open("rb") as stream:
        elf = ELFFile(stream)
        table = elf.get_section_by_name(".symtab")
        place = next(i for i, one in enumerate(table.iter_symbols()) if one.name == "leaf")
        data[table["sh_offset"] + place * table["sh_entsize"] + 8] |= 1
    data[18:20] = (40).to_bytes(2, "little")
    (tmp_path / "arm").write_bytes(data)
    found = File(str(tmp_path / "arm")).symbol(start)
    assert found is not None
    assert (found.name, found.start) == ("leaf", start & ~1)


def test_a_board_runs_no_fifo(tmp_path: Path) -> None:
    """Nobody writes to it: opening it for reading would not return."""
    os.mkfifo(tmp_path / "fifo")
    board = boards.find(boards.folders(()), "riscv64-virt")
    with pytest.raises(UserError, match="is a FIFO, not an ordinary file"):
        machine.check_program(board, str(tmp_path / "fifo"))
    assert Places(tmp_path / "fifo").of(0x1000) is None
