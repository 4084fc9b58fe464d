# SPDX-License-Identifier: MIT
"""The facts about the machine beside results."""

from __future__ import annotations

from pathlib import Path

from pirn_tools import machine


def test_first_line_is_a_dash_when_there_is_nothing_to_say() -> None:
    assert machine.first_line("sh", "-c", "echo one; echo two") == "one"
    assert machine.first_line("sh", "-c", "echo version >&2") == "version"
    for command in (("no-such-program",), ("true",), ("sh", "-c", "echo no >&2; exit 1")):
        assert machine.first_line(*command) == "-"


def test_cache_entry_is_read_from_the_build(tmp_path: Path) -> None:
    (tmp_path / "CMakeCache.txt").write_text("//x\nA_FLAGS:STRING=-O2 -g=3\nA:PATH=/x\n")
    assert machine.cache_entry(tmp_path, "A_FLAGS") == "-O2 -g=3"
    assert machine.cache_entry(tmp_path, "A") == "/x"
    assert machine.cache_entry(tmp_path, "FLAGS") == ""
    assert machine.cache_entry(tmp_path / "none", "A") == ""


def test_processor_says_how_many() -> None:
    assert machine.processor().endswith(" CPUs")
