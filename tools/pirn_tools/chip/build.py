# SPDX-License-Identifier: MIT
"""Builds a simulator for a configuration, once for each state of its sources.

A simulator lies in build/hw/<configuration>-<hash>/; the hash is that of all files that it is made
from and of the tools. A build takes place beside it and is renamed when it is whole. A lock file
for each configuration and hash makes a second process wait for the first one's build. Two things do
not depend on the configuration: build/hw/options-<hash>.o, which is made in the same way, and the
objects of Verilator's own functions, build/hw/verilated-<hash>/, which the first build leaves.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from pirn_tools.chip.config import Config
from pirn_tools.errors import UserError
from pirn_tools.paths import short

TOOL = "verilator"
LIBRARIES = {"CLI/CLI.hpp": "libcli11-dev", "gelf.h": "libelf-dev"}
# Packages of SystemVerilog come first; the other modules are found by name.
FIRST = ("soc_pkg.sv", "decode.sv")
TOP = "soc"
PROGRAM = "Vsoc"
VERILATOR_FLAGS = ("--assert", "-O3", "--x-assign", "fast", "--x-initial", "unique")
# Indices of arrays of one element have a bit more than is used.
WARNINGS = ("-Wno-WIDTH", "-Wno-DECLFILENAME")
# Its simulators of eight cores are a third faster than those of g++, and take less time to build.
COMPILER = "clang++-14"
# Slow: what runs once, at the start. Global: Verilator's own functions.
MAKE_FLAGS = (
    f"CXX={COMPILER}",
    f"LINK={COMPILER}",
    "OPT_FAST=-O2",
    "OPT_SLOW=-O1",
    "OPT_GLOBAL=-O1",
)
FLAGS = ("-std=c++20", "-DVL_USER_STOP")
SHARED = "options.cc"


def sources(root: Path) -> list[Path]:
    """All files that a simulator is made from."""
    folders = (root / "hw" / "rtl", root / "hw" / "sim")
    suffixes = (".sv", ".cc", ".h")
    files = [path for folder in folders for path in folder.iterdir() if path.suffix in suffixes]
    return sorted(files)


def tool() -> str:
    """The path of verilator. The compiler of what it writes is there, too."""
    for name in (TOOL, COMPILER):
        if shutil.which(name) is None:
            raise UserError(f"{name} is missing; tools/setup --group chip installs it")
    return str(shutil.which(TOOL))


@functools.cache
def version(path: str) -> str:
    """Asked once: a sweep has a thousand runs, each with the version in its result's name."""
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout


def versions(path: str) -> str:
    """Of verilator and of the compiler of what it writes."""
    return version(path) + version(COMPILER)


def fingerprint(root: Path, config: Config, tool_version: str) -> str:
    """Of sources, tool, flags and configuration."""
    digest = hashlib.sha256()
    flags = (*VERILATOR_FLAGS, *MAKE_FLAGS, *FLAGS)
    for word in (tool_version, *flags, config.wave, *config.macros):
        digest.update(word.encode() + b"\0")
    for path in sources(root):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def command(root: Path, config: Config, path: str, folder: Path, shared: Path) -> list[str]:
    """Translates RTL to C++, with a makefile; shared: the object that is compiled already."""
    rtl = root / "hw" / "rtl"
    sim = root / "hw" / "sim"
    flags = [*FLAGS, f"-I{sim}", *(f"-D{one}" for one in config.macros)]
    wave = {"": [], ".fst": ["--trace-fst"], ".vcd": ["--trace"]}[config.wave]
    return [
        path,
        "--cc",
        "--exe",
        *VERILATOR_FLAGS,
        *WARNINGS,
        *wave,
        *(f"-D{one}" for one in config.macros),
        f"-I{rtl}",
        "--top-module",
        TOP,
        "--Mdir",
        str(folder),
        "-CFLAGS",
        " ".join(flags),
        "-LDFLAGS",
        "-lelf",
        *(str(rtl / name) for name in (*FIRST, f"{TOP}.sv")),
        *(str(one) for one in sorted(sim.glob("*.cc")) if one.name != SHARED),
        str(shared),
    ]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time. The lock ends with the process, however that ends."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def explain(output: str) -> str:
    """The missing library, if that is why a build failed; else the compiler's last lines."""
    for header, package in LIBRARIES.items():
        if f"'{header}' file not found" in output:
            return f"{header} is missing; tools/setup --group chip installs it ({package})"
    lines = [line for line in output.splitlines() if "rror" in line] or output.splitlines()
    return "\n".join(lines[:20])


def checked(words: list[str], root: Path, name: str, log: Path) -> None:
    """Runs a compiler; says why the simulator was not built if that fails."""
    result = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    output = result.stdout + result.stderr
    if result.returncode != 0:
        log.write_text(output)
        raise UserError(f"the simulator {name} was not built ({short(log)}):\n{explain(output)}")


def compile_into(root: Path, config: Config, path: str, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    log = folder.with_name(folder.name + ".log")
    words = command(root, config, path, folder, shared_object(root, config))
    checked(words, root, config.name, log)
    kept = own_objects(root, config, versions(path))
    if kept.exists():
        # newer than the makefile
        shutil.copytree(kept, folder, copy_function=shutil.copy, dirs_exist_ok=True)
    jobs = min(os.cpu_count() or 1, 8)
    words = ["make", "-C", str(folder), "-f", f"{PROGRAM}.mk", f"-j{jobs}", *MAKE_FLAGS, PROGRAM]
    checked(words, root, config.name, log)
    if not kept.exists():
        keep_objects(folder, kept)


def own_objects(root: Path, config: Config, tool_version: str) -> Path:
    """The folder of the objects of Verilator's own functions, once a build has left them."""
    digest = hashlib.sha256()
    for word in (tool_version, config.wave, *MAKE_FLAGS, *FLAGS):
        digest.update(word.encode() + b"\0")
    return root / "build" / "hw" / f"verilated-{digest.hexdigest()[:12]}"


def keep_objects(folder: Path, kept: Path) -> None:
    parts = kept.with_name(f"{kept.name}.{os.getpid()}")
    parts.mkdir(exist_ok=True)
    for one in folder.glob("verilated*.o"):
        shutil.copy2(one, parts)
    try:
        parts.rename(kept)
    except OSError:  # another build has left them meanwhile
        shutil.rmtree(parts)


def shared_object(root: Path, config: Config) -> Path:
    """The object of SHARED, compiled if there is none."""
    sim = root / "hw" / "sim"
    digest = hashlib.sha256(version(COMPILER).encode())
    for path in (sim / SHARED, (sim / SHARED).with_suffix(".h")):
        digest.update(path.read_bytes())
    stem = Path(SHARED).stem
    made = root / "build" / "hw" / f"{stem}-{digest.hexdigest()[:12]}.o"
    with locked(made.with_suffix(".lock")):
        if not made.exists():
            parts = made.with_suffix(".parts")
            words = [COMPILER, *FLAGS, "-c", str(sim / SHARED), "-o", str(parts)]
            checked(words, root, config.name, made.with_suffix(".log"))
            parts.rename(made)
    return made


def simulator(root: Path, config: Config) -> Path:
    """The program, built if there is none."""
    path = tool()
    builds = root / "build" / "hw"
    name = f"{config.name}-{fingerprint(root, config, versions(path))}"
    folder = builds / name
    program = folder / PROGRAM
    if program.exists():
        return program
    builds.mkdir(parents=True, exist_ok=True)
    with locked(builds / f"{name}.lock"):
        if not program.exists():
            click.echo(f"building the simulator {name} ...", err=True)
            parts = builds / f"{name}.parts"
            compile_into(root, config, path, parts)
            keep(parts, folder)
    return program


def keep(parts: Path, folder: Path) -> None:
    """Of a build's files, only the program is needed later."""
    folder.mkdir(exist_ok=True)
    (parts / PROGRAM).rename(folder / PROGRAM)
    shutil.rmtree(parts)
