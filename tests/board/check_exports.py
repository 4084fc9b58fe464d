# SPDX-License-Identifier: MIT
"""check_exports.py NM LIST LIBRARY...

Fails if one of these static libraries defines an external symbol that LIST (names, and patterns
with *) does not permit, or if none of them defines a name of LIST. Which patterns LIST may have is
fixed here: one of a prefix that the public headers do not own would permit all of that prefix.
"""

import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

PATTERNS = {
    "pirn_*",
    "__pirn_*",
    "pthread_*",
    "mq_*",
    "sem_*",
    "cnd_*",
    "mtx_*",
    "thrd_*",
    "tss_*",
    "__atomic_*_8",
}
SOME = {"__aeabi_read_tp"}  # not for all architectures


def permitted(path: Path) -> list[str]:
    lines = (line.strip() for line in path.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def external(nm: str, library: str) -> set[str]:
    listing = subprocess.run(
        [nm, "--extern-only", "--defined-only", "--format=posix", library],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return {words[0] for line in listing.splitlines() if len(words := line.split()) > 2}


def main() -> int:
    nm, path, *libraries = sys.argv[1:]
    names = permitted(Path(path))
    problems = [
        f"{path}: pattern {n} is not one of {', '.join(sorted(PATTERNS))}"
        for n in names
        if "*" in n and n not in PATTERNS
    ]
    defined: set[str] = set()
    for library in libraries:
        symbols = external(nm, library)
        if "pirn_create" not in symbols:
            problems.append(f"{library} does not define pirn_create: is that the library?")
        wrong = sorted(s for s in symbols if not any(fnmatchcase(s, n) for n in names))
        problems += [f"{library}: external symbol {s}, which {path} does not permit" for s in wrong]
        defined |= symbols
    problems += [
        f"{path}: no library defines {n}" for n in names if "*" not in n and n not in defined | SOME
    ]
    print("\n".join(problems) or f"{len(defined)} external symbols, all permitted")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
