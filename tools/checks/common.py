# SPDX-License-Identifier: MIT
"""Common to the checks: the list of files, problems, the command line.

A check is a function `check(root, files) -> list[Problem]`; files are relative to root. It needs
nothing but Python, so that it runs from any python3.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

C_SUFFIXES = (".c", ".h", ".hpp", ".cpp", ".cc", ".def")
CODE_SUFFIXES = (*C_SUFFIXES, ".S", ".s", ".py", ".sh", ".cmake", ".sv", ".v", ".go", ".rs")
SKIPPED_FOLDERS = ("build", "__pycache__", ".venv", ".git")
SKIPPED_AT_TOP = ("results",)  # what benchmarks write; docs/results is kept
CACHE_SUFFIX = "_cache"  # .mypy_cache, .ruff_cache


@dataclass(frozen=True, order=True)
class Problem:
    """One finding, printed like a compiler's."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


Check = Callable[[Path, list[Path]], list[Problem]]


def list_files(root: Path) -> list[Path]:
    """Tracked files and new ones that are not ignored; without git, all files."""
    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others"]
    try:
        result = subprocess.run(
            [*command, "--exclude-standard"], capture_output=True, text=True, check=False
        )
        names = result.stdout.split("\0") if result.returncode == 0 else _walk(root)
    except FileNotFoundError:
        names = _walk(root)
    paths = sorted({Path(name) for name in names if name})
    return [path for path in paths if (root / path).is_file() and not (root / path).is_symlink()]


def _walk(root: Path) -> Iterable[str]:
    for folder, folders, names in os.walk(root):
        at_top = Path(folder) == root
        folders[:] = [
            name
            for name in folders
            if not _skipped(name) and not (at_top and name in SKIPPED_AT_TOP)
        ]
        for name in names:
            yield os.path.relpath(Path(folder) / name, root)


def _skipped(folder: str) -> bool:
    return folder in SKIPPED_FOLDERS or folder.endswith(CACHE_SUFFIX)


def read_lines(path: Path) -> list[str]:
    """The lines of a text file; of a binary one, none."""
    data = path.read_bytes()
    if b"\0" in data[:4096]:
        return []
    return data.decode("utf-8", errors="replace").splitlines()


def under(path: Path, *folders: str) -> bool:
    """Whether a relative path lies in one of the folders."""
    return any(path.is_relative_to(folder) for folder in folders)


def parse_root(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    default = Path(__file__).resolve().parent.parent.parent
    parser.add_argument("--root", type=Path, default=default, help="the tree to check")
    return parser


def report(name: str, problems: list[Problem]) -> int:
    """Prints the findings; the exit status."""
    for problem in sorted(problems):
        print(problem, file=sys.stderr)
    verdict = f"{len(problems)} problem(s)" if problems else "ok"
    print(f"check {name}: {verdict}")
    return 1 if problems else 0


def main(name: str, check: Check, description: str | None) -> None:
    """The command line of a check."""
    root = parse_root(description).parse_args().root.resolve()
    sys.exit(report(name, check(root, list_files(root))))
