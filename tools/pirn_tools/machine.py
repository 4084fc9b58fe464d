# SPDX-License-Identifier: MIT
"""The machine of a measurement: processor, kernel, C library, compiler, commit."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path


def first_line(*command: str) -> str:
    """The first line of a command's output, or "-" if there is no such command, or it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "-"
    said = done.stdout or done.stderr
    return next(iter(said.splitlines()), "-") if done.returncode == 0 else "-"


def processor() -> str:
    """Its model, and how many CPUs."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return f"{found[1].strip() if found else platform.machine()}, {os.cpu_count()} CPUs"


def c_library() -> str:
    return os.confstr("CS_GNU_LIBC_VERSION") or "-"


def compiler(build: Path) -> str:
    """The compiler and the flags of the build."""
    return first_line(cache_entry(build, "CMAKE_C_COMPILER") or "cc", "--version")


def commit(root: Path) -> str:
    """Of the project's tree, by a hash that stays: commits of a branch may be rebased, so they are
    counted from the last one of main on. Says so if files besides docs/, where results are written,
    differ from it. "-" if git does not know the tree."""
    base = _git(root, "merge-base", "HEAD", "main")
    if base == "-":  # there is no main
        base = "HEAD"
    name = _git(root, "rev-parse", "--short", base)
    if name == "-":
        return name
    ahead = int(_git(root, "rev-list", "--count", f"{base}..HEAD"))
    if ahead:
        name += f" and {ahead} commit{'' if ahead == 1 else 's'} of a branch"
    changed = _git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
    return name if changed == "-" else f"{name}, with changes that are in no commit"


def _git(root: Path, *words: str) -> str:
    return first_line("git", "-C", str(root), *words)


def load() -> str:
    """The load averages."""
    return ", ".join(f"{one:.2f}" for one in os.getloadavg())


def cache_entry(build: Path, name: str) -> str:
    """A variable of the build's CMake cache, or nothing."""
    try:
        text = (build / "CMakeCache.txt").read_text()
    except OSError:
        return ""
    match = re.search(rf"^{name}:[^=]*=(.*)$", text, re.MULTILINE)
    return match[1] if match else ""
