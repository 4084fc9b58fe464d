# SPDX-License-Identifier: MIT
"""The guest's first file system: a cpio archive with busybox, programs and their libraries."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

DIRECTORY, FILE = 0o040755, 0o100755


@dataclass
class Image:
    """Names are absolute; folders are made as files need them."""

    files: dict[str, bytes] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)

    def add_folder(self, name: str) -> None:
        for parent in [*reversed(Path(name).parents), Path(name)]:
            if str(parent) != "/":
                self.folders.add(str(parent))

    def add_bytes(self, name: str, data: bytes) -> None:
        self.add_folder(str(Path(name).parent))
        self.files[name] = data

    def add_program(self, name: str, path: Path) -> None:
        """With the libraries that the dynamic linker finds for it here."""
        self.add_bytes(name, path.read_bytes())
        for library in libraries_of(path):
            self.add_bytes(library, Path(library).read_bytes())

    def archive(self) -> bytes:
        """In the format that the kernel unpacks ("newc")."""
        entries = [(name, DIRECTORY, b"") for name in sorted(self.folders)]
        entries += [(name, FILE, data) for name, data in sorted(self.files.items())]
        parts = [_entry(number, *entry) for number, entry in enumerate(entries, start=1)]
        return b"".join([*parts, _entry(0, "/TRAILER!!!", 0, b"")])


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _entry(number: int, name: str, mode: int, data: bytes) -> bytes:
    bare = name.lstrip("/").encode() + b"\0"
    # inode, mode, uid, gid, links, time, size, four device numbers, length of the name, checksum
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(bare), 0]
    header = b"070701" + b"".join(b"%08x" % value for value in fields)
    return _padded(header + bare) + _padded(data)


def libraries_of(path: Path) -> list[str]:
    """Absolute names of the shared libraries of a program; none if it is static."""
    listed = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        return []
    return re.findall(r"(/\S+) \(0x", listed.stdout)
