# SPDX-License-Identifier: MIT
"""Debian's mpi4py, unchanged: its own tests, and its pool of futures, which has a thread that calls
MPI, with the system's threads and preloaded. Each test must have the same result.

Usage: mpi4py_suite.py FOLDER LIBRARY... -- MPIRUN...

FOLDER: for the tests, which Debian's package does not have: they come from the source package of
the same version on PyPI (network, the first time). LIBRARY: those to preload. Debian's mpi4py
is built for Open MPI, and belongs to /usr/bin/python3.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

VERSION = "3.1.4"  # Debian 12's
SHA256 = "17858f2ebc623220d0120d1fa8d428d033dde749c4bc35b33d81a66ad7f93480"
BUILDERS = ("setuptools==69.5.1", "cython==0.29.37", "wheel==0.43.0")  # pip asks them for its name
PYTHON = "/usr/bin/python3"
LIMIT = 1500  # s: hangs only
SUITE = ("test/runtests.py", "--no-builddir", "-v")
RUNS = (  # ranks, what Python gets, how many tests there are at least
    # Without spawn and dynproc: Open MPI over shared memory alone has no way to new processes.
    (2, (*SUITE, "-e", "spawn", "-e", "dynproc"), 1300),
    # Groups of one and of two ranks.
    (3, (*SUITE, "-i", "test_cco", "-i", "test_p2p", "-i", "test_comm"), 500),
    (3, ("-m", "mpi4py.futures", "demo/futures/test_futures.py", "-v"), 70),
)
RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
ENDED = re.compile(r"^(OK|FAILED)( \([^)]*\))?$", re.MULTILINE)
PRELOADED = (
    'print("libpirn-mpi" in open("/proc/self/maps").read(), __import__("mpi4py").__version__)'
)


def checked(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"mpi4py: {' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def tests(folder: Path) -> Path:
    """The unpacked source package."""
    unpacked = folder / f"mpi4py-{VERSION}"
    if unpacked.is_dir():
        return unpacked
    pip = (str(folder / "venv/bin/python"), "-m", "pip", "--disable-pip-version-check")
    checked(sys.executable, "-m", "venv", str(folder / "venv"))
    checked(*pip, "install", "--quiet", *BUILDERS)
    how = ("--no-deps", "--no-build-isolation", "--no-binary", ":all:")
    checked(*pip, "download", "--quiet", *how, f"mpi4py=={VERSION}", cwd=folder)
    archive = folder / f"mpi4py-{VERSION}.tar.gz"
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != SHA256:
        sys.exit(f"mpi4py: {archive} is another file: SHA-256 {found}, expected {SHA256}")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return unpacked


def run(
    mpirun: list[str], ranks: int, preload: str, words: tuple[str, ...], cwd: Path
) -> list[str]:
    """What each rank prints, by a file for each: mpirun may mix them. Ends this program if one
    fails."""
    files = [cwd / f"output.{rank}" for rank in range(ranks)]
    for file in files:
        file.unlink(missing_ok=True)
    into_file = ("sh", "-c", 'exec "$@" > output.$OMPI_COMM_WORLD_RANK 2>&1', "sh")
    program = ("env", f"LD_PRELOAD={preload}", PYTHON, *words)
    done = subprocess.run(
        [*mpirun, "-n", str(ranks), *into_file, *program],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    texts = [file.read_text() if file.exists() else "" for file in files]
    if done.returncode != 0:
        what = "preloaded" if preload else "with the system's threads"
        said = "\n".join([done.stdout, *texts])
        sys.exit(f"mpi4py: {' '.join(words)}, {what}: status {done.returncode}: {said}")
    return texts


def verdicts(outputs: list[str]) -> list[tuple[list[str], list[str]]]:
    """Of each rank: how many tests it ran, and its verdict with the number it left out."""
    return [
        (RAN.findall(text), ["".join(match) for match in ENDED.findall(text)]) for text in outputs
    ]


def main() -> None:
    place = sys.argv.index("--")
    folder, mpirun = Path(sys.argv[1]).resolve(), sys.argv[place + 1 :]
    preload = " ".join(str(Path(name).resolve()) for name in sys.argv[2:place])
    os.environ |= {"PYTHONPATH": "", "PIRN_CPUS": "2"}
    os.environ |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    folder.mkdir(parents=True, exist_ok=True)
    for libraries, answer in (("", "False"), (preload, "True")):
        said = run(mpirun, 1, libraries, ("-c", PRELOADED), folder)[0]
        if said.split() != [answer, VERSION]:
            sys.exit(f"mpi4py: expected version {VERSION}, preloaded {answer}, not: {said}")
    source = tests(folder)
    for ranks, words, least in RUNS:
        alone = verdicts(run(mpirun, ranks, "", words, source))
        with_pirn = verdicts(run(mpirun, ranks, preload, words, source))
        ran, ended = alone[0]
        if alone != with_pirn or len(ran) != 1 or len(ended) != 1 or int(ran[0]) < least:
            sys.exit(f"mpi4py: {' '.join(words)}: {alone}, preloaded: {with_pirn}")
        print(f"{' '.join(words)}: {ranks} ranks, {ran[0]} tests: {ended[0]}", flush=True)
    print("mpi4py: done")


main()
