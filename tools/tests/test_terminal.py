# SPDX-License-Identifier: MIT
"""pirn_tools.terminal: tables are as wide as they need to be where there is no terminal."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table

import pirn_tools
from pirn_tools import terminal

SHOW = """
from rich.table import Table
from pirn_tools import terminal
table = Table(*(f"column {i}" for i in range(12)))
table.add_row(*(f"{123456789 + i:,}" for i in range(12)))
terminal.console().print(table)
"""


def wide() -> Table:
    table = Table(*(f"column {i}" for i in range(12)))
    table.add_row(*(f"{123456789 + i:,}" for i in range(12)))
    return table


def environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "80", "TERM": "xterm"}


def test_tables_keep_their_digits_when_the_output_is_a_pipe() -> None:
    said = subprocess.run(
        [sys.executable, "-c", SHOW], capture_output=True, text=True, env=environment(), check=True
    )
    for i in range(12):
        assert f"{123456789 + i:,}" in said.stdout
    assert max(map(len, said.stdout.splitlines())) < 250


def test_tables_fit_the_terminal_when_there_is_one() -> None:
    master, slave = pty.openpty()
    subprocess.run([sys.executable, "-c", SHOW], stdout=slave, env=environment(), check=True)
    os.close(slave)
    raw = b""
    while piece := _read(master):
        raw += piece
    os.close(master)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", raw.decode()).splitlines()
    assert max(map(len, lines)) <= 80


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # the other side is closed
        return b""


def test_width_is_asked_for_when_it_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    console = terminal.console()
    console.print(wide())
    assert isinstance(sys.stdout, io.StringIO)
    assert "123,456,800" in sys.stdout.getvalue()


def test_all_commands_print_through_it() -> None:
    folder = Path(pirn_tools.__file__).parent
    found = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        if re.search(r"\bConsole\(", path.read_text())
    }
    assert found == {"terminal.py"}
