# SPDX-License-Identifier: MIT
"""A program that runs longer than it may: here one of this computer, which answers like QEMU."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pirn_tools.board import stuck, watch
from pirn_tools.board.places import Places

# More than pipes hold. It comes after the question, so the time is up whenever it comes.
AMOUNT = 1 << 20
QEMU = f"""
import json, re, socket, sys
number = int(re.search(r"fd=([0-9]+)", " ".join(sys.argv))[1])
monitor = socket.socket(fileno=number)
for line in monitor.makefile("r"):
    asked = json.loads(line)["execute"]
    if asked == "stop":
        for stream in (sys.stdout, sys.stderr):
            stream.write("x" * {AMOUNT})
            stream.flush()
    answer = "CPU#0\\n pc 80000010\\n" if asked == "human-monitor-command" else {{}}
    monitor.sendall((json.dumps({{"return": answer}}) + "\\n").encode())
"""


def test_output_is_passed_on_while_qemu_is_asked_where_the_cores_are(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "a.elf"
    program.write_bytes(b"")
    script = tmp_path / "qemu"
    script.write_text(QEMU)

    def unchanged(piece: bytes) -> bytes:
        return piece

    with stuck.monitored(Places(program), 32) as monitor:
        line = [sys.executable, str(script)]
        status = watch.run(line, 0.01, (unchanged, unchanged), monitor=monitor)
    out, err = capfd.readouterr()
    assert status == watch.TIMED_OUT
    assert out == "x" * AMOUNT
    assert "pirn: core 0 is at 0x80000010" in err
