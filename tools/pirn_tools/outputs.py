# SPDX-License-Identifier: MIT
"""Which files a program has written under a name in which %p stands for the process.

before = outputs.existing(name)
... the program runs ...
files = outputs.written(name, before)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Stamp:
    """Which file it is, to tell a new one from an old one of the same name."""

    inode: int
    changed: int

    @staticmethod
    def of(path: Path) -> Stamp | None:
        try:
            found = path.stat()
        except OSError:
            return None
        return Stamp(found.st_ino, found.st_mtime_ns)


def existing(output: str) -> dict[Path, Stamp | None]:
    """All files that the name may mean."""
    path = Path(output)
    if "%p" not in path.name:
        return {path: Stamp.of(path)}
    pattern = re.compile(re.escape(path.name).replace("%p", r"\d+"))
    try:
        names = [entry for entry in path.parent.iterdir() if pattern.fullmatch(entry.name)]
    except OSError:
        return {}
    return {name: Stamp.of(name) for name in names}


def written(output: str, before: dict[Path, Stamp | None]) -> list[Path]:
    """The files that are new, or are not what they were before."""
    found = existing(output)
    return sorted(path for path, stamp in found.items() if stamp and before.get(path) != stamp)
