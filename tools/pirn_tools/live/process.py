# SPDX-License-Identifier: MIT
"""A process of somebody's: its memory and its mappings, read without stopping it.

What is read may change meanwhile. Whoever reads checks whether it makes sense, and reads again or
leaves it out.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from pirn_tools.errors import UserError

MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (....) ([0-9a-f]+) (\S+) (\d+) *(.*)")
DELETED = " (deleted)"


class EndedError(UserError):
    """The process has ended."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"process {pid} has ended, or has become another program")


class UnreadableError(Exception):
    """There is no memory at that address, or not any more."""


@dataclass(frozen=True)
class Mapping:
    """A line of /proc/PID/maps."""

    start: int
    end: int
    offset: int
    executable: bool
    device: str
    inode: int
    name: str

    @property
    def path(self) -> str:
        """Without what the kernel says of a file that is gone."""
        return self.name.removesuffix(DELETED)


class Process:
    """A process whose memory may be read; needs the rights that a debugger needs."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.folder = Path(f"/proc/{pid}")
        if not self.folder.exists():
            raise UserError(f"no process has the number {pid}")
        try:
            self._memory = os.open(self.folder / "mem", os.O_RDONLY | os.O_CLOEXEC)
        except (FileNotFoundError, ProcessLookupError):
            raise EndedError(pid) from None
        except PermissionError:
            raise UserError(
                f"no permission to read the memory of process {pid}: it has to be yours, "
                "and where kernel.yama.ptrace_scope is not 0, root may read it"
            ) from None

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._memory)

    def read(self, address: int, size: int) -> bytes:
        """Exactly so many bytes."""
        try:
            raw = os.pread(self._memory, size, address)
        except (OverflowError, ValueError):
            raise UnreadableError from None
        except OSError as error:
            if error.errno == errno.ESRCH:
                raise EndedError(self.pid) from None
            raise UnreadableError from None
        if not raw and size:  # all of its memory is gone, not only this
            raise EndedError(self.pid)
        if len(raw) < size:
            raise UnreadableError
        return raw

    def word(self, address: int) -> int:
        """A pointer."""
        return int.from_bytes(self.read(address, 8), "little")

    def lives(self) -> bool:
        """Whether it has memory; a process that has ended and was not waited for has none."""
        state = self._text("stat").rpartition(")")[2].split()
        return bool(state) and state[0] not in ("Z", "X")

    def _text(self, name: str) -> str:
        try:
            return (self.folder / name).read_text(errors="replace")
        except PermissionError:
            raise UserError(f"no permission to read {self.folder / name}") from None
        except OSError:
            return ""

    def command(self) -> str:
        """What the kernel calls it."""
        return printable(self._text("comm").rstrip("\n"))

    def mappings(self) -> list[Mapping]:
        """All that have a file."""
        found: list[Mapping] = []
        for line in self._text("maps").splitlines():
            match = MAPPING.fullmatch(line)
            if match is not None and match[7].startswith("/"):
                start, end, offset = (int(match[i], 16) for i in (1, 2, 4))
                found.append(
                    Mapping(start, end, offset, "x" in match[3], match[5], int(match[6]), match[7])
                )
        return found

    def files_of(self, mapping: Mapping) -> Iterator[Path]:
        """Where the file of a mapping may be opened: the very file, or one of that name."""
        yield self.folder / "map_files" / f"{mapping.start:x}-{mapping.end:x}"
        path = Path(f"{self.folder}/root{mapping.path}")
        with suppress(OSError):
            if path.stat().st_ino == mapping.inode:
                yield path

    def tasks(self) -> set[int]:
        """Its kernel threads."""
        try:
            return {int(entry.name) for entry in (self.folder / "task").iterdir()}
        except OSError:
            return set()

    def cpu_time(self, tid: int) -> int | None:
        """Of a kernel thread, in ns; None where the kernel does not tell."""
        words = self._text(f"task/{tid}/schedstat").split()
        return int(words[0]) if words else None

    def registers(self, tid: int) -> tuple[int, int] | None:
        """Stack pointer and program counter of a kernel thread that waits in the kernel."""
        try:
            words = self._text(f"task/{tid}/syscall").split()
        except UserError:
            return None
        if len(words) < 3:  # "running"
            return None
        return int(words[-2], 16), int(words[-1], 16)


def printable(text: str) -> str:
    """Names are the program's: they are not to move the cursor."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else "?" for c in text)
