# SPDX-License-Identifier: MIT
"""Sources that are compiled together with programs for boards: zlib, of the application dedup.

It is the version of the machine's release (or of a later one, where the mirror lacks that), by apt
as other source packages, and stays when it is there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pirn_tools.board.picolibc import Folders
from pirn_tools.programs.sources import fetch as fetch_package
from pirn_tools.programs.sources import machine_apts

ZLIB = "zlib"

Say = Callable[[str], None]


def folder(folders: Folders) -> Path:
    return folders.prefix / "sources"


def is_there(folders: Folders) -> bool:
    return (folder(folders) / ZLIB / "version").exists()


def fetch(folders: Folders, say: Say) -> None:
    say(f"fetching the source of {ZLIB} by apt")
    source = fetch_package(ZLIB, machine_apts(folders.work / "apt"), folder(folders))
    say(" ".join(f"{ZLIB} {source.version} {source.note}".split()))
