# SPDX-License-Identifier: MIT
"""`pirn ps` on processes whose files are not what they should be, and whose number is another's."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from live import LIMIT, command, needs_cc, started

from pirn_tools import files
from pirn_tools.live.process import Mapping, Process

MAPS = """
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, open(argv[i], O_RDONLY), 0) ==
            MAP_FAILED)
            perror(argv[i]);
    puts("ready");
    fflush(stdout);
    pause();
}
"""
ROOM = 1 << 30  # of memory for the command: more would be far too much


@pytest.fixture
def maps(tmp_path: Path) -> Path:
    """A program that maps the files of its arguments, as if they were its code."""
    (tmp_path / "maps.c").write_text(MAPS)
    subprocess.run(["cc", "-o", str(tmp_path / "maps"), str(tmp_path / "maps.c")], check=True)
    return tmp_path / "maps"


def look(pid: int) -> subprocess.CompletedProcess[str]:
    """`pirn ps`, in so little room that reading without limit fails at once."""
    return subprocess.run(
        command("ps", "-p", pid),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM)),
    )


def refused(said: subprocess.CompletedProcess[str], *texts: str) -> None:
    assert said.returncode == 1
    assert "Traceback" not in said.stderr, said.stderr
    assert said.stderr.startswith("Error: process ")
    assert said.stderr.count("\n") == 1
    for text in texts:
        assert text in said.stderr


@needs_cc
def test_refuses_when_the_process_maps_a_device(maps: Path) -> None:
    with started(maps, "/dev/zero") as process:
        refused(look(process.pid), "has no Pirn runtime", "zero is a device, not an ordinary file")


@needs_cc
def test_refuses_when_the_process_maps_a_file_without_end(maps: Path) -> None:
    sparse = maps.with_name("libpirn-pthread.so.0")
    sparse.touch()
    os.truncate(sparse, 10 << 30)
    with started(maps, sparse) as process:
        refused(look(process.pid), f"{sparse.name} is too large: 10737418240 bytes")


@needs_cc
@pytest.mark.parametrize("size", [0, 4096, 3 << 30])
def test_refuses_when_the_head_of_a_library_names_far_too_much(maps: Path, size: int) -> None:
    """Of a section: tables of symbols as large as can be said, in a small file and a sparse one."""
    library = maps.with_name("libpirn-pthread.so.0")
    text = maps.with_suffix(".c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), "-xc", str(text)], check=True)
    raw = bytearray(library.read_bytes())
    sections, step, count = (
        int.from_bytes(raw[at : at + n], "little") for at, n in ((40, 8), (58, 2), (60, 2))
    )
    for i in range(1, count):
        at = sections + i * step + 32
        raw[at : at + 8] = struct.pack("<Q", (1 << 62) - 1)
    library.write_bytes(raw)
    os.truncate(library, max(len(raw), size))
    with started(maps, library) as process:
        refused(look(process.pid), "has no Pirn runtime")


def mapped(path: Path, **changed: object) -> Mapping:
    found = path.stat()
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
    fields = {"device": device, "inode": found.st_ino, "name": str(path), **changed}
    return Mapping(0, 4096, 0, True, **fields)  # type: ignore[arg-type]


@pytest.fixture
def me() -> Iterator[Process]:
    """A process without such a mapping, so that files are looked for by their names."""
    with Process(os.getpid()) as process:
        yield process


def opened(process: Process, mapping: Mapping) -> os.stat_result:
    fd = process.file_of(mapping)
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)


def test_file_is_opened_when_it_is_the_one_that_is_mapped(me: Process, tmp_path: Path) -> None:
    path = tmp_path / "a\nb"
    path.write_bytes(b"x")
    name = str(path).replace("\n", "\\012")
    assert opened(me, mapped(path, name=name)).st_ino == path.stat().st_ino


def test_file_is_refused_when_a_fifo_is_in_its_place(me: Process, tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    with pytest.raises(files.RefusedError, match="is a FIFO, not an ordinary file"):
        opened(me, mapped(path))


def test_file_is_refused_when_a_link_is_in_its_place(me: Process, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(files.RefusedError, match="is a symbolic link"):
        opened(me, mapped(path, name=str(tmp_path / "link")))
    (tmp_path / "folder").symlink_to(tmp_path)
    with pytest.raises(OSError, match="Not a directory"):
        opened(me, mapped(path, name=str(tmp_path / "folder" / "file")))


@pytest.mark.parametrize("changed", [{"device": "ff:ff"}, {"inode": 1}])
def test_file_is_refused_when_it_has_another_identity(
    me: Process, tmp_path: Path, changed: dict[str, object]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")
    with pytest.raises(files.RefusedError, match="is another file"):
        opened(me, mapped(path, **changed))


def child_with(pid: int) -> int:
    """A child that waits, with that number if it may be chosen; else 0."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = (ctypes.c_int * 1)(pid)
    arguments = (ctypes.c_uint64 * 11)()
    arguments[4] = signal.SIGCHLD
    arguments[8], arguments[9] = ctypes.addressof(number), 1
    found: int = libc.syscall(435, ctypes.byref(arguments), 88)  # clone3
    if found == 0:
        while True:
            time.sleep(LIMIT)
    return max(found, 0)


@contextmanager
def reused() -> Iterator[tuple[Process, int]]:
    """A process that has ended, whose number another one has got."""
    with subprocess.Popen(["sleep", str(LIMIT)]) as first, Process(first.pid) as process:
        first.kill()
        first.wait()
        second = child_with(first.pid)
        if second == 0:
            pytest.skip("the number of a process cannot be chosen here (needs root)")
        try:
            yield process, second
        finally:
            os.kill(second, signal.SIGKILL)
            os.waitpid(second, 0)


def test_nothing_is_read_of_another_process_that_has_got_the_number() -> None:
    with reused() as (process, second):
        assert second == process.pid
        assert Path(f"/proc/{second}/maps").read_text()
        assert process.mappings() == []
        assert process.tasks() == set()
        assert process.command() == ""
        assert process.registers(second) is None
        assert process.cpu_time(second) is None
        assert not process.lives()
