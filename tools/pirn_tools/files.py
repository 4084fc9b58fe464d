# SPDX-License-Identifier: MIT
"""Opens and reads files that somebody else has named: a profile, a program that is looked at.

Only ordinary files are opened, so a FIFO does not wait for a writer, a terminal or a device gets no
request, and nothing is without end. How much is read is limited.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path

WHOLE = 8 << 20  # up to this size a file is read at once, and closed
LARGEST = 4 << 30  # of a program or library with its debug information
KINDS = (
    (stat.S_ISDIR, "is a folder"),
    (stat.S_ISFIFO, "is a FIFO"),
    (stat.S_ISSOCK, "is a socket"),
    (stat.S_ISCHR, "is a device"),
    (stat.S_ISBLK, "is a device"),
    (stat.S_ISLNK, "is a symbolic link"),
)


class RefusedError(OSError):
    """A file that is not read, and why: strerror."""

    def __init__(self, problem: str) -> None:
        super().__init__(errno.EINVAL, problem)


def open_ordinary(path: str | Path, folder: int | None = None, *, links: bool = True) -> int:
    """A descriptor for reading; links: symbolic links are followed, and lead to ordinary files."""
    flags = os.O_PATH | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW)
    found = os.open(path, flags, dir_fd=folder)  # opens nothing yet: no device notices it
    try:
        mode = os.fstat(found).st_mode
        if not stat.S_ISREG(mode):
            kind = next((text for test, text in KINDS if test(mode)), "is of an unknown kind")
            raise RefusedError(f"{kind}, not an ordinary file")
        return os.open(f"/proc/self/fd/{found}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.close(found)


def check_size(fd: int, most: int) -> int:
    """The file's size, if it is not too large."""
    size = os.fstat(fd).st_size
    if size > most:
        raise RefusedError(f"is too large: {size} bytes, at most {most} are read")
    return size


def read_ordinary(path: str | Path, most: int) -> bytes:
    """All of it."""
    fd = open_ordinary(path)
    try:
        check_size(fd, most)
        return read_up_to(fd, most)
    finally:
        os.close(fd)


def read_up_to(fd: int, most: int) -> bytes:
    """Read from here to the end, and not more than so many bytes."""
    pieces: list[bytes] = []
    while most > 0 and (piece := os.read(fd, min(most, 1 << 20))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def contents(fd: int, most: int = LARGEST) -> io.BytesIO | Parts:
    """The file's bytes, to seek and read in. Takes the descriptor, and closes it."""
    try:
        if check_size(fd, most) > WHOLE:
            parts = Parts(fd)
            fd = -1
            return parts
        return io.BytesIO(read_up_to(fd, WHOLE))
    finally:
        if fd >= 0:
            os.close(fd)


class Parts:
    """A large file, of which only what is asked for is read. A file that grows ends where it did.

    Not mapped: a program that cuts its file off meanwhile would end this one.
    """

    def __init__(self, fd: int) -> None:
        self._fd, self._at = fd, 0
        self._size = os.fstat(fd).st_size

    def __del__(self) -> None:
        os.close(self._fd)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError("a place before the file")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        left = max(self._size - self._at, 0)
        raw = os.pread(self._fd, left if size < 0 else min(size, left), self._at) if left else b""
        self._at += len(raw)
        return raw
