# SPDX-License-Identifier: MIT
"""The C libraries that tools/setup-boards has built, each under QEMU; skipped without."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pirn_tools import paths
from pirn_tools.board import boards, picolibc

SOURCES = Path(__file__).resolve().parent / "boards"
BOARDS = {
    board.name: board
    for board in boards.load_all([boards.folder(paths.project())])
    if board.image is not None
}


@pytest.mark.parametrize("name", BOARDS)
def test_the_library_does_what_a_port_needs(tmp_path: Path, name: str) -> None:
    root = paths.project()
    board = BOARDS[name]
    assert board.image is not None
    library = picolibc.Folders(root / ".boards").library(board.target)
    family = board.target.family
    programs = [f"{board.target.compiler}gcc", board.qemu]
    if not (library / "recipe").exists() or not all(map(shutil.which, programs)):
        pytest.skip(f"{name} is not set up (tools/setup-boards --target {family})")
    layout = (SOURCES / "layout.ld").read_text().replace("BASE", f"{board.image.begin:#x}")
    layout = layout.replace("MIBS", str(min(48, (board.image.flash_mib or 64) - 1)))
    (tmp_path / "layout.ld").write_text(layout)
    compiler = [f"{board.target.compiler}gcc", *board.target.flags]
    headers = [library / "include", compiler_file(compiler, "-print-file-name=include")]
    command = [
        *compiler,
        *("-O2", "-g", "-Wall", "-Wextra", "-Werror", "-ftls-model=local-exec"),
        *("-ffunction-sections", "-fdata-sections", "-fno-stack-protector", "-nostdinc"),
        *(f"-isystem{folder}" for folder in headers),
        *("-static", "-nostdlib", "-T", "layout.ld", "-o", "libc.elf"),
        *("-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments"),
        *(str(SOURCES / f"start-{family}.S"), str(SOURCES / "libc.c")),
        *(f"-L{library / 'lib'}", "-Wl,--start-group", "-lc", "-lsemihost"),
        *(compiler_file(compiler, "-print-libgcc-file-name"), "-Wl,--end-group"),
    ]
    subprocess.run(command, cwd=tmp_path, check=True)
    run = [sys.executable, "-m", "pirn_tools", "board", "run", "--cpus", "1", name, "libc.elf"]
    done = subprocess.run(
        run,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root / "tools")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    # MIPS's semihosting writes to QEMU's error output.
    assert (done.returncode, done.stdout + done.stderr) == (42, "end")
    assert (tmp_path / "written").read_text() == "2 lines\n"


def compiler_file(compiler: list[str], question: str) -> str:
    done = subprocess.run([*compiler, question], capture_output=True, text=True, check=True)
    return done.stdout.strip()
