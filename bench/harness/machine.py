# SPDX-License-Identifier: MIT
"""The machine of a measurement, and the versions of the peers."""

from __future__ import annotations

import platform
import re
import tomllib
from pathlib import Path

from pirn_tools import machine


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
    """The facts in the order in which they are printed."""
    crate = crates(root)
    return {
        "processor": machine.processor(),
        "kernel": f"{platform.system()} {platform.release()}",
        "C library": machine.c_library(),
        "compiler": machine.compiler(build),
        "flags": machine.cache_entry(build, "CMAKE_C_FLAGS_RELWITHDEBINFO") or "-",
        "commit": machine.commit(root),
        "Boost.Fiber": boost_version(),
        "GNU Pth": machine.first_line("pth-config", "--version"),
        "Go": machine.first_line("go", "version"),
        "Rust": machine.first_line("rustc", "--version"),
        "may": crate["may"],
        "Tokio": crate["tokio"],
        "load before": machine.load(),
    }
