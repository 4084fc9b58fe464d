# SPDX-License-Identifier: MIT
"""Runs apps/dedup_mpi with several numbers of ranks and threads, with and without Pirn: the archive
is that of dedup, byte by byte, and dedup restores the input from it.

Usage: dedup.py DEDUP NPTL PIRN -- MPIRUN...

DEDUP: the program for one machine. NPTL, PIRN: dedup_mpi.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "apps"))

from dedup_inputs import inputs, noise, text

LIMIT = 500  # s: hangs only
SMALL = ("--fragment=4096", "--average=256")
# Which program, ranks, options on which the archive does not depend. NPTL's threads keep the CPUs
# busy while they wait, so that each chunk may take milliseconds.
NPTL, PIRN = 0, 1
Run = tuple[int, int, tuple[str, ...]]
RUNS: tuple[Run, ...] = (
    (PIRN, 2, ("--threads=8", "--inflight=3")),
    (PIRN, 3, ("--threads=100",)),
)
MORE: dict[str, tuple[Run, ...]] = {
    "byte": ((NPTL, 2, ("--threads=2", "--inflight=2")),),
    "long": ((PIRN, 1, ("--threads=1", "--inflight=1")),),
}


def run(words: list[str]) -> tuple[int, str]:
    done = subprocess.run(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode, done.stdout


def good(*words: str) -> str:
    status, said = run(list(words))
    if status != 0:
        sys.exit(f"dedup: {' '.join(words)}: exit status {status}: {said}")
    return said


def closing(said: str) -> list[str]:
    """The words of the line that tells how much there was."""
    line = next((line for line in said.splitlines() if line.startswith("dedup")), "")
    return [word for word in line.split() if word.partition("=")[0] not in ("threads", "seconds")]


def main() -> None:
    place = sys.argv.index("--")
    (local, *programs), mpirun = sys.argv[1:place], sys.argv[place + 1 :]
    cases = inputs()
    chosen = {name: cases[name] for name in ("empty", "byte", "twice", "mixed")}
    half = text(300000, seed=5) + noise(50000, seed=6)
    chosen["long"] = half + bytes(200000) + half[7:]
    with tempfile.TemporaryDirectory() as folder:
        source, expected, archive, restored = (str(Path(folder, name)) for name in "abcd")
        for name, data in chosen.items():
            Path(source).write_bytes(data)
            wanted = closing(good(local, *SMALL, source, expected))
            for which, ranks, options in (*RUNS, *MORE.get(name, ())):
                words = [*mpirun, "-n", str(ranks), programs[which], *SMALL, *options]
                found = closing(good(*words, source, archive))
                ours = [word for word in found[1:] if word != f"ranks={ranks}"]
                if ours != wanted[1:] or Path(archive).read_bytes() != Path(expected).read_bytes():
                    sys.exit(f"dedup: {name}, {' '.join(words)}: {found}, dedup: {wanted}")
                good(local, "-d", archive, restored)
                if Path(restored).read_bytes() != data:
                    sys.exit(f"dedup: {name}, {' '.join(words)}: restored is another input")
                Path(archive).unlink()
                Path(restored).unlink()
            Path(expected).unlink()
        # The archive is there already: all ranks end, and it stays.
        Path(archive).write_text("mine")
        status, said = run([*mpirun, "-n", "2", programs[PIRN], source, archive])
        if status == 0 or "is there already" not in said or Path(archive).read_text() != "mine":
            sys.exit(f"dedup: an archive that is there: exit status {status}: {said}")
    print("dedup: done")


main()
