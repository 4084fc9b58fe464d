# SPDX-License-Identifier: MIT
"""C and C++ files are formatted as clang-format 14 does it (.clang-format). --fix formats them."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from common import Problem, list_files, parse_root, report

TOOL = "clang-format-14"
SUFFIXES = (".c", ".h", ".hpp", ".cpp", ".cc")
FINDING = re.compile(r"^(.*?):(\d+):\d+: (?:error|warning): (.*)$")


def c_files(files: list[Path]) -> list[str]:
    return [str(path) for path in files if path.suffix in SUFFIXES]


def check(root: Path, files: list[Path]) -> list[Problem]:
    """One problem a file: the first line that differs."""
    names = c_files(files)
    if not names:
        return []
    command = [TOOL, "--dry-run", "-Werror", "--style=file", *names]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    first: dict[str, Problem] = {}
    for line in result.stderr.splitlines():
        match = FINDING.match(line)
        if match:
            problem = Problem(match[1], int(match[2]), "not formatted; run make format")
            first.setdefault(match[1], problem)
    if result.returncode != 0 and not first:
        first[""] = Problem(TOOL, 0, result.stderr.strip())
    return list(first.values())


def fix(root: Path, files: list[Path]) -> None:
    names = c_files(files)
    if names:
        subprocess.run([TOOL, "-i", "--style=file", *names], cwd=root, check=True)


def run() -> int:
    parser = parse_root(__doc__)
    parser.add_argument("--fix", action="store_true", help="format instead of checking")
    options = parser.parse_args()
    root = options.root.resolve()
    if shutil.which(TOOL) is None:
        print(f"check format: {TOOL} is missing; run tools/setup", file=sys.stderr)
        return 1
    if options.fix:
        fix(root, list_files(root))
        return 0
    return report("format", check(root, list_files(root)))


if __name__ == "__main__":
    sys.exit(run())
