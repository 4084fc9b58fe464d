# SPDX-License-Identifier: MIT
"""Which files the runtime writes, and how it says that it does not.

usage: check_files.py OBEYS UNALLOCATED TEST

TEST is one of the functions below that are called test_...; each goes through all options that name
an output. Exit status 77 where what the test needs is not to be had.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

PROGRAM, UNALLOCATED = sys.argv[1:3]
KEPT = "what was in the file before\n"
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_REC, MS_PRIVATE, MNT_DETACH = 0x4000, 0x40000, 2


@dataclass(frozen=True)
class Output:
    """An option that names a file, and the exit status when it cannot be made or written."""

    name: str
    variables: dict[str, str]
    status: int

    def environment(self, file: Path | str) -> dict[str, str]:
        return {key: value.replace("FILE", str(file)) for key, value in self.variables.items()}


OUTPUTS = (
    Output("trace", {"PIRN_TRACE": "FILE", "PIRN_TRACESIZE": "64K", "PIRN_CPUS": "2"}, 2),
    Output("prof", {"PIRN_PROF": "FILE"}, 2),
    Output("stats-json", {"PIRN_STATS": "json:FILE"}, 0),
    Output("stats-prometheus", {"PIRN_STATS": "prometheus:FILE"}, 0),
    Output("measure", {"PIRN_SCHED": "dist:measure=FILE", "PIRN_CPUS": "1"}, 2),
)


def skip(why: str) -> NoReturn:
    print(f"skipped: {why}")
    sys.exit(77)


def run(
    output: Output,
    file: Path | str,
    before: Callable[[], None] | None = None,
    launcher: Sequence[str] = (),
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*launcher, PROGRAM],
        env=output.environment(file),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=before,
    )


def succeeds(output: Output, file: Path, launcher: Sequence[str] = ()) -> None:
    done = run(output, file, launcher=launcher)
    if done.returncode == 77:
        skip(done.stderr.strip())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), (output.name, done)
    assert file.stat().st_size > 0, output.name


def refused(
    output: Output,
    file: Path | str,
    why: str,
    before: Callable[[], None] | None = None,
    launcher: Sequence[str] = (),
) -> None:
    """One line that names the file and the reason."""
    done = run(output, file, before, launcher)
    if done.returncode == 77:
        skip(done.stderr.strip())
    assert done.returncode == output.status, (output.name, done)
    assert done.stderr.startswith("pirn: "), (output.name, done)
    assert done.stderr.count("\n") == 1, (output.name, done)
    assert f'"{file}"' in done.stderr, (output.name, done)
    assert why in done.stderr, (output.name, done)


def test_modes(folder: Path, output: Output) -> None:
    """A new file is its owner's alone; an older one keeps its mode."""
    file = folder / "new"
    os.umask(0)
    succeeds(output, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600, (output.name, oct(file.stat().st_mode))
    file.chmod(0o640)
    file.write_text(KEPT * 100000)
    succeeds(output, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640, output.name
    assert KEPT.encode() not in file.read_bytes(), output.name


def test_links(folder: Path, output: Output) -> None:
    """No file is written through a symbolic link, and none is made; folders may be links."""
    target, link = folder / "target", folder / "link"
    target.write_text(KEPT)
    link.symlink_to(target)
    refused(output, link, "it is a symbolic link, which is not followed; valid: ")
    assert target.read_text() == KEPT, output.name
    assert link.is_symlink(), output.name
    target.unlink()
    refused(output, link, "it is a symbolic link, which is not followed; valid: ")
    assert not target.exists(), output.name
    (folder / "here").symlink_to(".")
    succeeds(output, folder / "here" / "new")


def test_kinds(folder: Path, output: Output) -> None:
    """Nothing but ordinary files: a FIFO is not waited for, and gets nothing; devices neither."""
    fifo, name = folder / "fifo", folder / "socket"
    why = "it is a FIFO, a socket or a device; valid: the name of a new or of an ordinary file"
    os.mkfifo(fifo)
    refused(output, fifo, why)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    refused(output, fifo, why)
    with contextlib.suppress(BlockingIOError):
        assert os.read(reader, 1) == b"", output.name
    os.close(reader)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(name))
        refused(output, name, why)
    refused(output, "/dev/null", why)
    refused(output, "/dev/full", why)
    refused(output, folder, "Is a directory")


def test_limits(folder: Path, output: Output) -> None:
    """A limit of file sizes is an error, and not the end of the program by a signal."""
    for limit in (8, 128):

        def lower(bytes_: int = limit) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_))

        file = folder / f"file-{limit}"
        done = run(output, file, lower)
        if done.returncode == 0 and not done.stderr:
            assert 0 < file.stat().st_size <= limit, (output.name, limit)  # it fits
            continue
        # At the end of the program a profile is written that it has begun.
        assert done.returncode == (0 if "cannot write" in done.stderr else output.status), done
        assert done.stderr.startswith("pirn: "), (output.name, done)
        assert "larger than this process may make a file (ulimit -f)" in done.stderr, done
        assert not file.exists() or file.stat().st_size <= limit, output.name
    refused(output, folder / "none", "(ulimit -f)", lambda: resource.setrlimit(*tiny()))


def tiny() -> tuple[int, tuple[int, int]]:
    return resource.RLIMIT_FSIZE, (1, 1)


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of that size, which only this process sees."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0:
        ids = os.getuid(), os.getgid()
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0:
            skip(f"no mount namespace: {os.strerror(ctypes.get_errno())}")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {ids[0]} 1")
        Path("/proc/self/gid_map").write_text(f"0 {ids[1]} 1")
    disk = folder / "disk"
    disk.mkdir()
    private = libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    if private != 0 or libc.mount(b"none", bytes(disk), b"tmpfs", 0, b"size=" + size.encode()) != 0:
        skip(f"no file system can be mounted: {os.strerror(ctypes.get_errno())}")
    try:
        yield disk
    finally:
        libc.umount2(bytes(disk), MNT_DETACH)


def fill(disk: Path) -> None:
    with contextlib.suppress(OSError), (disk / "ballast").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def test_full(folder: Path) -> None:
    """A full disk is an error of each output, which leaves no half of a file."""
    with small_disk(folder, "64k") as disk:
        trace = OUTPUTS[0]
        refused(trace, disk / "trace", "No space left on device; option tracesize makes it smaller")
        assert (disk / "trace").stat().st_size == 0
        fill(disk)
        for output in OUTPUTS:
            file = disk / output.name
            refused(output, file, "No space left on device")
            assert file.stat().st_size == 0, output.name


def test_unallocated(folder: Path) -> None:
    """Without fallocate a trace has all its blocks, too, or there is none: never a SIGBUS."""
    file = folder / "trace"
    trace = OUTPUTS[0]
    succeeds(trace, file, [UNALLOCATED])
    seen = file.stat()
    assert seen.st_blocks * 512 >= seen.st_size > 100000, (seen.st_blocks, seen.st_size)
    with small_disk(folder, "64k") as disk:
        fill(disk)
        refused(trace, disk / "trace", "No space left on device", launcher=[UNALLOCATED])
        (disk / "ballast").unlink()
        refused(trace, disk / "trace", "No space left on device", launcher=[UNALLOCATED])
        assert (disk / "trace").stat().st_size == 0


def main() -> None:
    test = globals()["test_" + sys.argv[3]]
    if sys.argv[3] in ("full", "unallocated"):
        with tempfile.TemporaryDirectory() as name:
            test(Path(name))
        return
    for output in OUTPUTS:
        with tempfile.TemporaryDirectory() as name:
            test(Path(name), output)


if __name__ == "__main__":
    main()
