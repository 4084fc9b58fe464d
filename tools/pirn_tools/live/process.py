# SPDX-License-Identifier: MIT
"""A process of somebody's: its memory and its mappings, read without stopping it.

The memory may change meanwhile. Readers check whether the data makes sense, and read again or leave
it out.
"""

from __future__ import annotations

import errno
import mmap
import os
import re
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from pirn_tools import files
from pirn_tools.binary.memory import UnreadableError
from pirn_tools.errors import UserError
from pirn_tools.terminal import printable

MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (....) ([0-9a-f]+) (\S+) (\d+) *(.*)")
DELETED = " (deleted)"
MOST_BYTES = 4 << 20  # read at once from the memory
MOST_TEXT = 1 << 16
MOST_MAPS = 16 << 20  # bytes: 65,530 mappings with names of 200


class EndedError(UserError):
    """The process has ended."""

    def __init__(self, pid: int) -> None:
        super().__init__(f"process {pid} has ended, or has become another program")


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
        return self.name.removesuffix(DELETED).replace("\\012", "\n")


class Process:
    """A process whose memory may be read; needs the rights that a debugger needs.

    All is opened relative to one descriptor of its folder in /proc. That stays the folder of this
    process: when the process has ended, nothing can be opened in it, even if another process gets
    the number.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.folder = Path(f"/proc/{pid}")  # for messages
        try:
            self._proc = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise UserError(f"no process has the number {pid}") from None
        try:
            self._memory = self._open("mem")
        except (FileNotFoundError, ProcessLookupError):
            os.close(self._proc)
            raise EndedError(pid) from None
        except PermissionError:
            os.close(self._proc)
            raise UserError(
                f"no permission to read the memory of process {pid}: it has to be yours, "
                "and where kernel.yama.ptrace_scope is not 0, root may read it"
            ) from None

    def _open(self, name: str, flags: int = 0) -> int:
        return os.open(name, os.O_RDONLY | os.O_CLOEXEC | flags, dir_fd=self._proc)

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._memory)
        os.close(self._proc)

    def read(self, address: int, size: int) -> bytes:
        """Exactly so many bytes."""
        if size > MOST_BYTES:
            raise UnreadableError
        try:
            raw = self._pread(size, address)
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

    def _pread(self, size: int, address: int) -> bytes:
        return os.pread(self._memory, size, address)

    def word(self, address: int) -> int:
        """A pointer."""
        return int.from_bytes(self.read(address, 8), "little")

    def lives(self) -> bool:
        """Whether it has memory; a process that has ended and was not waited for has none."""
        state = self._text("stat").rpartition(")")[2].split()
        return bool(state) and state[0] not in ("Z", "X")

    def _text(self, name: str, most: int = MOST_TEXT) -> str:
        try:
            fd = self._open(name)
        except PermissionError:
            raise UserError(f"no permission to read {self.folder / name}") from None
        except OSError:
            return ""
        try:
            raw = files.read_up_to(fd, most + 1)
        except OSError:  # it has ended meanwhile
            return ""
        finally:
            os.close(fd)
        if len(raw) > most:
            raise UserError(f"{self.folder / name} has more than {most} bytes: not read")
        return os.fsdecode(raw)

    def table(self, name: str, most: int) -> str:
        """A file of text; empty if there is none."""
        return self._text(name, most)

    def link(self, name: str) -> str:
        """Where a symbolic link leads; empty if there is none."""
        try:
            return os.readlink(name, dir_fd=self._proc)
        except OSError:
            return ""

    def descriptors(self) -> list[int]:
        """The numbers of its open files."""
        return sorted(self._numbers("fd"))

    def open_mode(self, number: int) -> int:
        """O_RDONLY, O_WRONLY or O_RDWR, of a descriptor; -1: not known."""
        match = re.search(r"^flags:\s*([0-7]+)$", self._text(f"fdinfo/{number}"), re.MULTILINE)
        return int(match[1], 8) & os.O_ACCMODE if match is not None else -1

    def command(self) -> str:
        """Its name in the kernel."""
        return printable(self._text("comm").rstrip("\n"))

    def mappings(self) -> list[Mapping]:
        """All that have a file."""
        found: list[Mapping] = []
        for line in self._text("maps", MOST_MAPS).split("\n"):
            match = MAPPING.fullmatch(line)
            if match is not None and match[7].startswith("/"):
                start, end, offset = (int(match[i], 16) for i in (1, 2, 4))
                found.append(
                    Mapping(start, end, offset, "x" in match[3], match[5], int(match[6]), match[7])
                )
        return found

    def file_of(self, mapping: Mapping) -> int:
        """A descriptor of the very file that is mapped there, if that is an ordinary one."""
        try:  # needs more rights than to read the memory
            span = f"map_files/{mapping.start:x}-{mapping.end:x}"
            fd = files.open_ordinary(span, self._proc)
        except files.RefusedError:
            raise
        except OSError:
            fd = self._walk(mapping.path)
        if self._is(fd, mapping):
            return fd
        os.close(fd)
        raise files.RefusedError("is another file than the one that is mapped")

    def _walk(self, path: str) -> int:
        """Opens a path as it is in the process's own root. The kernel writes it without links:
        where there is one now, it is not followed, as it would lead into our root."""
        folder = self._open("root", os.O_PATH | os.O_DIRECTORY)
        try:
            *folders, name = (part for part in path.split("/") if part)
            for part in folders:
                flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                below = os.open(part, flags, dir_fd=folder)
                os.close(folder)
                folder = below
            return files.open_ordinary(name, folder, links=False)
        finally:
            os.close(folder)

    @staticmethod
    def _is(fd: int, mapping: Mapping) -> bool:
        found = os.fstat(fd)
        if found.st_ino != mapping.inode:
            return False
        device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
        return device == mapping.device or _device_when_mapped(fd) == mapping.device

    def tasks(self) -> set[int]:
        """Its kernel threads."""
        return self._numbers("task")

    def _numbers(self, name: str) -> set[int]:
        """The names in a folder, all of which are numbers."""
        try:
            folder = self._open(name, os.O_DIRECTORY)
        except OSError:
            return set()
        try:
            with os.scandir(folder) as entries:
                return {int(one.name) for one in entries}
        except OSError:
            return set()
        finally:
            os.close(folder)

    def cpu_time(self, tid: int) -> int | None:
        """Of a kernel thread, in ns; None where the kernel does not tell."""
        words = self._text(f"task/{tid}/schedstat").split()
        return int(words[0]) if words else None

    def registers(self, tid: int) -> tuple[int, int] | None:
        """Stack pointer and program counter of a kernel thread that waits in the kernel."""
        words = self._call(tid)
        return (int(words[-2], 16), int(words[-1], 16)) if words else None

    def call(self, tid: int) -> tuple[int, int] | None:
        """The system call in which a kernel thread waits: its number, its first argument."""
        words = self._call(tid)
        return (int(words[0]), int(words[1], 16)) if len(words) > 3 else None

    def _call(self, tid: int) -> list[str]:
        try:
            words = self._text(f"task/{tid}/syscall").split()
        except UserError:
            return []
        return words if len(words) >= 3 else []  # "running"


def _device_when_mapped(fd: int) -> str:
    """As /proc/PID/maps names it: on some file systems another one than stat says."""
    try:
        with mmap.mmap(fd, 1, mmap.MAP_PRIVATE, mmap.PROT_READ):
            inode = os.fstat(fd).st_ino
            text = Path("/proc/self/maps").read_text(errors="replace")
    except (OSError, ValueError):
        return ""
    found = {m[5] for m in map(MAPPING.fullmatch, text.splitlines()) if m and int(m[6]) == inode}
    return found.pop() if len(found) == 1 else ""
