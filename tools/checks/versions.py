# SPDX-License-Identifier: MIT
"""All files that name Pirn's version name that of CMakeLists.txt.

The library's binary interface has the same major version: in its file's name (SOVERSION), in the
version of its symbols, and in the names of Debian's packages.
"""

from __future__ import annotations

import re
from pathlib import Path

from common import Problem, main

SOURCE = "CMakeLists.txt"
SOURCE_PATTERN = r"^project\(pirn VERSION (\d+)\.(\d+)\.(\d+)[ )]"
# A file, and a pattern whose group is the version; each line that fits is checked, one must.
WHOLE = (
    ("docs/STATUS.md", r"\bVersion (\d+\.\d+\.\d+) runs"),
    ("docs/guide/programs.md", r"^ +ok +library +(\d+\.\d+\.\d+),"),
    ("include/pirn/pirn.h", r'^#define PIRN_VERSION "(.*)"'),
    ("packaging/debian/changelog", r"\A\w+ \((.*)-[^-]*\)"),
    ("src/core/config.h", r'^#define RT_VERSION "(.*)"'),
    ("tools/pirn_tools/__init__.py", r'^__version__ = "(.*)"'),
    ("tools/pyproject.toml", r'^version = "(.*)"'),
)
MAJOR = (
    ("packaging/debian/control", r"^Package: libpirn(\d+)$"),
    ("packaging/wheel.py", r'"libpirn[a-z-]*\.so\.(\d+)"'),
    ("src/CMakeLists.txt", r"\bSOVERSION (\d+)\b"),
    ("src/pirn.map", r"^PIRN_(\d+) \{"),
    ("src/posix/CMakeLists.txt", r"\bSOVERSION (\d+)\b"),
)


def find(root: Path, path: str, pattern: str, wanted: str) -> list[Problem]:
    """The places in a file where the pattern finds another version; or that it finds none."""
    file = root / path
    text = file.read_text() if file.is_file() else ""
    found = list(re.finditer(pattern, text, re.MULTILINE))
    if not found:
        return [Problem(path, 1, f"names no version where {wanted} is expected ({pattern})")]
    return [
        Problem(
            path, text.count("\n", 0, match.start(1)) + 1, f"{match[1]}, but {SOURCE} has {wanted}"
        )
        for match in found
        if match[1] != wanted
    ]


def check(root: Path, _files: list[Path]) -> list[Problem]:
    version = re.search(SOURCE_PATTERN, (root / SOURCE).read_text(), re.MULTILINE)
    if version is None:
        return [Problem(SOURCE, 1, "no project(pirn VERSION MAJOR.MINOR.PATCH")]
    problems = []
    for path, pattern in WHOLE:
        problems += find(root, path, pattern, ".".join(version.groups()))
    for path, pattern in MAJOR:
        problems += find(root, path, pattern, version[1])
    return problems


if __name__ == "__main__":
    main("versions", check, __doc__)
