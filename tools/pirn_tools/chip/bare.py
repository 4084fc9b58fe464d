# SPDX-License-Identifier: MIT
"""Builds the workloads of bench/chip, which run on the chip without Pirn."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from pirn_tools.errors import UserError

COMPILER = "riscv64-unknown-elf-gcc"
FLAGS = (
    "-march=rv32ima_zicsr_zifencei",
    "-mabi=ilp32",
    "-mcmodel=medany",
    "-msmall-data-limit=0",
    "-mno-relax",
    "-std=gnu11",
    "-O2",
    "-ffreestanding",
    "-fomit-frame-pointer",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-static",
    "-nostdlib",
    "-nostartfiles",
    "-s",  # symbols would have the names of temporary files
    "-Wl,--no-warn-rwx-segments",
)
SOURCES = ("start.S", "main.c", "soft.c")
# The names that the program knows (kinds in main.c), and what they are.
SCHEDULERS = {
    "hard": "hardware scheduler",
    "hard-tree": "hardware scheduler, threads spawn threads",
    "take": "software workers, hardware queues",
    "mts": "one LIFO, test-and-set lock, workers poll",
    "lifo-backoff": "one LIFO, test-and-set lock, random back-off",
    "lifo-look": "one LIFO, test-and-set lock, workers look before they lock",
    "lifo-look-backoff": "one LIFO, test-and-set lock, workers look first, random back-off",
    "lifo-ticket": "one LIFO, ticket lock, workers look before they lock",
    "lifo-mcs": "one LIFO, MCS lock, workers look before they lock",
    "deque-random": "a Chase-Lev deque each, random victim",
    "deque-spawner": "a Chase-Lev deque each, the parent's first",
    "deque-half": "a locked deque each, random victim, half of it",
    "deque-tree": "a Chase-Lev deque each, threads are created by halves",
}


def image(root: Path) -> Path:
    """The program `threads`, compiled anew."""
    if shutil.which(COMPILER) is None:
        raise UserError(f"{COMPILER} is missing; tools/setup --group chip installs it")
    tests, library = root / "hw" / "tests", root / "hw" / "lib"
    folder = root / "build" / "hw" / "programs"
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"threads.{os.getpid()}.elf"
    line = [COMPILER, *FLAGS, f"-I{library}", f"-Wa,-I{tests},-I{library}"]
    done = subprocess.run(
        [*line, f"-T{library / 'link.ld'}", "-o", str(made), *SOURCES],
        cwd=root / "bench" / "chip",
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise UserError(f"bench/chip: not compiled\n{done.stderr[-2000:]}")
    return made.rename(folder / "threads.elf")
