# SPDX-License-Identifier: MIT
"""The first program of README.md builds and does what it says there, or says that memory is short.

check_readme.py README COMPILER FOLDER_OF_THE_LIBRARY
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOM = 300 << 20  # of address space: some of the 10,000 threads find none


def run(
    program: Path, cpus: int, room: int = resource.RLIM_INFINITY
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program],
        env={**os.environ, "PIRN_CPUS": str(cpus)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (room, room)),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def main() -> None:
    readme, compiler, libraries = sys.argv[1:]
    text = re.search(r"^```c\n(.*?)^```", Path(readme).read_text(), re.MULTILINE | re.DOTALL)
    expected = text and re.search(r"printf.*/\* (\d+) \*/", text[1])
    if not text or not expected:
        sys.exit("README.md has no program in C with its output in a comment")
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "sum.c"), Path(folder, "sum")
        source.write_text(text[1])
        warnings = ["-O2", "-Wall", "-Wextra", "-Werror"]
        library = [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lpirn-pthread"]
        subprocess.run([compiler, *warnings, source, "-o", program, *library], check=True)
        for cpus in (1, 2):
            done = run(program, cpus)
            if done.returncode != 0 or done.stdout != f"{expected[1]}\n":
                sys.exit(f"with {cpus} workers: status {done.returncode}, {done.stdout!r}")
            short = run(program, cpus, ROOM)
            refused = short.returncode == 1 and not short.stdout and short.stderr
            if not refused and (short.returncode, short.stdout) != (0, done.stdout):
                sys.exit(f"without memory: status {short.returncode}, {short.stdout!r}")
            print(f"{cpus} workers: {done.stdout.strip()}; without memory: {short.stderr.strip()}")


if __name__ == "__main__":
    main()
