# SPDX-License-Identifier: MIT
"""What was measured on what: processor, kernel, C library, compiler, versions of the peers."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import tomllib
from pathlib import Path


def first_line(*command: str) -> str:
    """What a command says first, or "-" where there is no such command."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "-"
    return next(iter((done.stdout or done.stderr).splitlines()), "-")


def cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def cache_entry(build: Path, name: str) -> str:
    """A variable of the build's CMake cache."""
    try:
        text = (build / "CMakeCache.txt").read_text()
    except OSError:
        return ""
    match = re.search(rf"^{name}:[^=]*=(.*)$", text, re.MULTILINE)
    return match[1] if match else ""


def crates(root: Path) -> dict[str, str]:
    """The peers' versions, which Cargo.toml pins exactly."""
    manifest = tomllib.loads((root / "bench/peers/rust/Cargo.toml").read_text())
    return {
        name: wanted["version"].lstrip("=") for name, wanted in manifest["dependencies"].items()
    }


def boost_version() -> str:
    header = Path("/usr/include/boost/version.hpp")
    match = header.exists() and re.search(r'BOOST_LIB_VERSION "([^"]*)"', header.read_text())
    return match[1].replace("_", ".") if match else "-"


def describe(root: Path, build: Path) -> dict[str, str]:
    """In the order in which it is printed."""
    compiler = cache_entry(build, "CMAKE_C_COMPILER") or "cc"
    crate = crates(root)
    return {
        "processor": f"{cpu_model()}, {os.cpu_count()} CPUs",
        "kernel": f"{platform.system()} {platform.release()}",
        "C library": os.confstr("CS_GNU_LIBC_VERSION") or "-",
        "compiler": first_line(compiler, "--version"),
        "flags": cache_entry(build, "CMAKE_C_FLAGS_RELWITHDEBINFO") or "-",
        "commit": first_line("git", "-C", str(root), "describe", "--always", "--dirty"),
        "Boost.Fiber": boost_version(),
        "GNU Pth": first_line("pth-config", "--version"),
        "Go": first_line("go", "version"),
        "Rust": first_line("rustc", "--version"),
        "may": crate["may"],
        "Tokio": crate["tokio"],
        "load before": ", ".join(f"{load:.2f}" for load in os.getloadavg()),
    }
