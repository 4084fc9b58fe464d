# SPDX-License-Identifier: MIT
"""The program in C that docs/internals/chip.md shows, built by the command that it shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from pirn_tools.errors import UserError

NAME = "squares"
PAGE = Path("docs") / "internals" / "chip.md"
SOURCE = re.compile(rf"^<!-- file: {NAME}\.c -->\n```c\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(
    r"^```console\n\$ (\S+-gcc .*?)\n\$ .*?\.elf\n(.*?)^```$", re.MULTILINE | re.DOTALL
)


def built(root: Path, folder: Path) -> tuple[Path, str]:
    """The image, and what it prints."""
    page = (root / PAGE).read_text()
    source, commands = SOURCE.search(page), COMMANDS.search(page)
    if source is None or commands is None:
        raise UserError(f"{PAGE} has no {NAME}.c, or no command that compiles it")
    own = folder / f"{NAME}.{os.getpid()}"
    own.mkdir(parents=True)
    try:
        (own / "hw").symlink_to(root / "hw")
        (own / f"{NAME}.c").write_text(source[1])
        command = commands[1].replace("\n> ", "\n")
        done = subprocess.run(
            ["bash", "-c", command], cwd=own, capture_output=True, text=True, check=False
        )
        if done.returncode != 0 or done.stderr:
            raise UserError(f"{PAGE}: {NAME}.c is not compiled\n{done.stderr}")
        return (own / f"{NAME}.elf").rename(folder / f"{NAME}.elf"), commands[2]
    finally:
        shutil.rmtree(own)
