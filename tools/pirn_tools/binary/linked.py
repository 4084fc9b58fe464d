# SPDX-License-Identifier: MIT
"""Whether a program is linked with Pirn, read from its ELF file and the libraries it needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pirn_tools import damage
from pirn_tools.binary.elf import Files, NotElfError
from pirn_tools.errors import UserError
from pirn_tools.limits import LimitError

# Debian's linker begins with the folder of the architecture.
DEBIAN_FOLDER = f"/usr/lib/{os.uname().machine}-linux-gnu"
SYSTEM_FOLDERS = (DEBIAN_FOLDER, "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib")


@dataclass(frozen=True)
class Binary:
    """The facts of an ELF file that matter."""

    path: Path
    needed: tuple[str, ...]
    search: tuple[str, ...]  # RPATH and RUNPATH, $ORIGIN expanded
    dynamic: bool
    defines_pirn: bool  # linked statically with libpirn
    registers: bool  # calls pirn_sched_register: brings policies of its own
    interpreter: str  # the dynamic linker; empty: none
    bits: int
    machine: str  # EM_X86_64
    files: Files = field(compare=False, repr=False)  # that were read for it


def find_program(name: str) -> Path:
    """The program that exec would run, or an error with the shell's exit status for it."""
    found = shutil.which(name)
    if found is not None:
        return Path(found)
    path = Path(name)
    if os.sep in name and path.exists():
        reason = "is a folder" if path.is_dir() else "is not executable"
        raise UserError(f"{name} {reason}", status=126)
    raise UserError(f"{name}: no such program", status=127)


def read(path: Path, files: Files | None = None) -> Binary | None:
    """The ELF file, or None when it is something else (a script). files: read before."""
    files = files or Files()
    file = files.get(str(path.absolute()))
    if isinstance(file.error, NotElfError):
        return None
    _check(path, file.error)
    links, table = file.links, file.table
    if file.allowance.limits:
        raise LimitError(file.allowance.limits[0])
    if file.allowance.problems:
        raise _damaged(path, file.allowance.problems[0])
    return Binary(
        path,
        links.needed,
        tuple(part for value in links.search for part in _expand_origin(path, value)),
        links.dynamic,
        defines_pirn="pirn_describe" in table.defined,
        registers="pirn_sched_register" in table.defined.keys() | table.undefined,
        interpreter=file.interpreter,
        bits=file.bits,
        machine=file.machine,
        files=files,
    )


def _check(path: Path, error: Exception | None) -> None:
    if isinstance(error, LimitError):
        raise error
    if isinstance(error, OSError):
        raise UserError(f"cannot read {path}: {error.strerror}", status=126)
    if error is not None:
        raise _damaged(path, damage.said(error))


def _damaged(path: Path, why: str) -> UserError:
    return UserError(f"{path} is a damaged ELF file: {why}", status=126)


def _expand_origin(path: Path, value: str) -> list[str]:
    origin = str(path.resolve().parent)
    return [re.sub(r"\$ORIGIN|\$\{ORIGIN\}", origin, part) for part in value.split(":") if part]


def uses_pirn(binary: Binary) -> bool:
    """Whether libpirn or libpirn-pthread gets loaded with the program, directly or by a library."""
    return binary.defines_pirn or any(_is_pirn(name) for name, _ in loaded(binary))


def brings_policies(binary: Binary) -> bool:
    """Whether the program, or a library that it loads, may register policies."""
    return binary.registers or any(
        library is not None and library.registers
        for name, library in loaded(binary)
        if not _is_pirn(name)
    )


def _is_pirn(name: str) -> bool:
    return name.startswith(("libpirn.so", "libpirn-pthread.so"))


def loaded(binary: Binary) -> Iterator[tuple[str, Binary | None]]:
    """Every library that the program needs, with what can be read of it; Pirn's are not opened."""
    seen: set[str] = set()
    waiting = [(name, binary.search) for name in binary.needed]
    while waiting:
        name, search = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        found = None if _is_pirn(name) else locate(name, search)
        library = read(found, binary.files) if found is not None else None
        yield name, library
        if library is not None:
            waiting += [(needed, (*search, *library.search)) for needed in library.needed]


def unresolved_pirn(binary: Binary) -> list[str]:
    """The Pirn libraries that the program names and the dynamic linker would not find."""
    names = [name for name in binary.needed if name.startswith("libpirn")]
    return [name for name in names if locate(name, binary.search) is None]


def locate(name: str, search: tuple[str, ...]) -> Path | None:
    """Where the dynamic linker would find a library, near enough for a check."""
    if "/" in name:
        return Path(name) if Path(name).exists() else None
    environment = [part for part in os.environ.get("LD_LIBRARY_PATH", "").split(":") if part]
    for folder in (*search, *environment):
        if (Path(folder) / name).exists():
            return Path(folder) / name
    cached = dict(_linker_cache()).get(name)
    if cached is not None:
        return cached
    places = (Path(folder) / name for folder in SYSTEM_FOLDERS)
    return next((place for place in places if place.exists()), None)


def _linker_cache() -> Iterator[tuple[str, Path]]:
    ldconfig = shutil.which("ldconfig") or "/sbin/ldconfig"
    try:
        output = subprocess.run(
            [ldconfig, "-p"], capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        return
    for line in output.splitlines():
        match = re.match(r"\s+(\S+) \(.*\) => (\S+)", line)
        if match:
            yield match[1], Path(match[2])
