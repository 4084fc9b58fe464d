# SPDX-License-Identifier: MIT
"""Runs dedup there and back, and on damaged archives.

usage: check_dedup.py round|short|damage|faults PROGRAM...

PROGRAM: the command in front of the program's own arguments. short: `round` of few runs; damage:
hundreds of runs.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dedup_inputs import decode, inputs, noise, text

SMALL = ("--fragment=4096", "--average=256")
# Archives do not depend on these.
SCHEDULES = (
    ("--threads=1", "--inflight=1", "--fifo=1"),
    ("--threads=3", "--inflight=2", "--fifo=1"),
    ("--threads=7", "--inflight=64", "--fifo=64"),
)


class Files:
    """Names in a folder that nothing has used yet."""

    def __init__(self, folder: str) -> None:
        self.numbers: Iterator[int] = itertools.count()
        self.folder = Path(folder)

    def new(self, data: bytes | None = None) -> Path:
        path = self.folder / str(next(self.numbers))
        if data is not None:
            path.write_bytes(data)
        return path


def run(program: list[str], *words: object) -> tuple[int, str]:
    command = [*program, *map(str, words)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


def good(program: list[str], *words: object) -> str:
    status, said = run(program, *words)
    if status != 0:
        sys.exit(f"{words}: status {status}\n{said}")
    return said


def bad(program: list[str], status: int, message: str, *words: object) -> None:
    found, said = run(program, *words)
    if found != status or not re.search(message, said):
        sys.exit(f"{words}: status {found}, wanted {status} and: {message}\n{said}")


def there_and_back(program: list[str], files: Files, data: bytes, *options: str) -> bytes:
    source, archive, restored = files.new(data), files.new(), files.new()
    said = good(program, *options, source, archive)
    good(program, "-d", archive, restored)
    made = archive.read_bytes()
    whole, unique = decode(made)
    assert restored.read_bytes() == whole == data, (options, said)
    assert f"bytes={len(data)} " in said, said
    assert f" unique={unique} " in said, said
    assert f" archive={len(made)} " in said, said
    return made


def check_round(program: list[str], files: Files) -> None:
    for name, data in inputs().items():
        there_and_back(program, files, data)
        made = {there_and_back(program, files, data, *SMALL, *how) for how in SCHEDULES}
        assert len(made) == 1, f"{name}: the archive depends on the schedule"
    check_sizes(program, files)


def check_sizes(program: list[str], files: Files) -> None:
    """Repeated contents are written once, wherever they are; noise costs little."""
    data = inputs()
    size = {n: len(there_and_back(program, files, d, *SMALL)) for n, d in data.items()}
    assert size["text"] < 0.8 * len(data["text"]), size
    assert size["twice"] < 1.1 * size["text"], size
    assert size["moved"] < 1.1 * size["text"], size
    assert size["zeros"] < 0.05 * len(data["zeros"]), size
    assert size["noise"] < 1.2 * len(data["noise"]), size


def check_short(program: list[str], files: Files) -> None:
    made = {
        there_and_back(program, files, inputs()["mixed"], *SMALL, *how) for how in SCHEDULES[1:]
    }
    assert len(made) == 1, "the archive depends on the schedule"
    archive = files.new(made.pop()[:-1])
    bad(program, 1, "the archive ends inside a record", "-d", archive, files.new())


def check_damage(program: list[str], files: Files) -> None:
    """Every byte counts: whichever changes or is missing, nothing is restored."""
    data = text(3000) + noise(700) + text(3000)
    archive = there_and_back(program, files, data, "--average=128", "--fragment=1024")
    places = [
        *range(60),
        *range(60, len(archive) - 40, 97),
        *range(len(archive) - 40, len(archive)),
    ]
    for place in places:
        for what in (
            archive[:place],
            archive[:place] + bytes([archive[place] ^ 0x41]) + archive[place + 1 :],
        ):
            damaged, restored = files.new(what), files.new()
            bad(program, 1, r"^dedup: \S+: byte \d+: ", "-d", damaged, restored)
            assert not restored.exists(), f"byte {place}: something was written"


def check_faults(program: list[str], files: Files) -> None:
    end = b"E" + bytes(16) + bytes.fromhex("da39a3ee5e6b4b0d3255bfef95601890afd80709")
    stored = (
        b"S" + (3).to_bytes(4, "little") + bytes.fromhex("a9993e364706816aba3e25717850c26c9cd0d89d")
    )
    for archive, message in (
        (b"", 'byte 0: no archive of dedup: it does not begin with "PDD1"'),
        (b"PDD2" + end, "byte 0: no archive of dedup"),
        (b"PDD1", "byte 4: the archive ends without its end record"),
        (b"PDD1x", "byte 4: a record of kind 0x78; valid are Z, S, R, E"),
        (b"PDD1" + end + b"x", "byte 41: something follows the end record"),
        (
            b"PDD1" + stored + b"abc" + end,
            "the end record says 0 bytes in 0 chunks; there are 3 in 1",
        ),
        (b"PDD1" + stored + b"abd" + end, "the chunk before is damaged: it has another SHA-1"),
        (b"PDD1R" + bytes(8) + end, "chunk 0 comes again, and 0 have come so far"),
        (b"PDD1S" + b"\xff" * 24, "a chunk of 4294967295 bytes; valid is 1 to 1048576"),
        (b"PDD1Z" + b"\1\0\0\0\2\0\0\0" + bytes(20), "2 bytes stored for 1"),
        (b"PDD1Z" + b"\4\0\0\0\3\0\0\0" + bytes(20) + b"abc", "zlib cannot make 4 bytes of it"),
    ):
        bad(program, 1, re.escape(message), "-d", files.new(archive), files.new())
    kept = files.new(b"kept")
    bad(program, 1, "is there already, and is not overwritten", files.new(b"data"), kept)
    bad(program, 1, "is there already, and is not overwritten", kept, kept)
    bad(
        program, 1, "is there already, and is not overwritten", "-d", files.new(b"PDD1" + end), kept
    )
    assert kept.read_bytes() == b"kept"
    bad(program, 1, "cannot open '.*': No such file", files.new(), files.new())
    bad(program, 1, "cannot make '.*': No such file", kept, files.folder / "no/such")
    bad(
        program,
        1,
        "--average=300: not a power of two from 128 to 262144",
        "--average=300",
        kept,
        "x",
    )
    bad(program, 2, "OUTPUT is missing", kept)
    bad(program, 2, "INPUT is missing")
    bad(program, 2, "--level=10: not a whole number from 1 to 9", "--level=10", kept, "x")


CHECKS = {
    "round": check_round,
    "short": check_short,
    "damage": check_damage,
    "faults": check_faults,
}


def main() -> None:
    mode, *program = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        CHECKS[mode](program, Files(folder))


if __name__ == "__main__":
    main()
