# SPDX-License-Identifier: MIT
"""A board without a board: its programs are the header of an ELF file and a shell script behind it,
its runner is a command of this computer, and Pirn for it is there in name only."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

HEADER = 64
COMPILER = "riscv64-unknown-elf-gcc"
NAME = "loop"
DESCRIPTION = """
description = "a command of this computer"
target = "rv64"
[cpus]
default = 2
most = 4
"""
# The program's file, CPUs, what else comes.
SCRIPT = """#!/bin/sh
program=$1 cpus=$2
shift 2
tail -c +{offset} "$program" >{folder}/script.$$
export cpus
exec sh {folder}/script.$$ "$@"
"""
# The program on standard input.
STREAM = """#!/bin/sh
tail -c +{offset} >{folder}/script.$$
exec sh {folder}/script.$$ "$@"
"""


def program(path: Path, script: str) -> Path:
    """An ELF file for RISC-V of 64 bits, in which there is nothing but a script."""
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    rest = struct.pack("<HHIQQQIHHHHHH", 2, 243, 1, 0, 0, 0, 0, HEADER, 0, 0, 0, 0, 0)
    path.write_bytes(ident + rest + script.encode())
    return path


def board(folder: Path, runner: str, text: str = DESCRIPTION, name: str = NAME) -> Path:
    """The folder of boards, with one; runner: what its section says."""
    place = folder / "boards"
    (place / name).mkdir(parents=True, exist_ok=True)
    (place / name / "board.toml").write_text(f"{text}\n[runner]\n{runner}\n")
    for file in ("toolchain.cmake", "pirn-config.cmake", "pirn.mk"):
        (place / name / file).write_text("")
    return place


def script(folder: Path, text: str = SCRIPT) -> Path:
    path = folder / "run-on-board"
    path.write_text(text.format(folder=folder, offset=HEADER + 1))
    path.chmod(0o755)
    return path


def compiler(folder: Path) -> str:
    """A PATH on which there is something called like the compiler."""
    bin_ = folder / "bin"
    bin_.mkdir(exist_ok=True)
    stub = bin_ / COMPILER
    stub.write_text("#!/bin/sh\nexit 1\n")
    stub.chmod(0o755)
    return f"{bin_}:{os.environ['PATH']}"


def environment(**variables: str) -> dict[str, str]:
    """Ours without options, for a command that may start itself in other folders."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PIRN_")}
    return {**own, "PYTHONPATH": str(Path(__file__).resolve().parents[1]), **variables}


def pirn(*arguments: object, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pirn_tools", *map(str, arguments)],
        cwd=cwd,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
