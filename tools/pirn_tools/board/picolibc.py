# SPDX-License-Identifier: MIT
"""Builds the C library of the boards, picolibc, from its source: one library a target.

Debian's packages of it have no locks in stdio, and none for MIPS. The source is that of a Debian
release, found by apt as other source packages are, and is always the version below: its SHA-256
is compared, too. A library stays until version, options, flags or compiler change.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pirn_tools.board.targets import Target
from pirn_tools.errors import UserError
from pirn_tools.programs.sources import Apt, has_checksum, machine_release, other_releases

VERSION = "1.8.10"
CHECKSUM = "d1fc2a20f217472f8d9da084a519a25678e8d91852a41c7f3f1840d3508f7163"
RELEASE = "trixie"  # of Debian, that has this version

OPTIONS = {
    "multilib": "false",
    "tests": "false",
    "picocrt": "false",  # start code is the board's
    "semihost": "true",
    "posix-console": "true",  # stdin, stdout, stderr by read and write
    "stdio-locking": "true",
    "thread-local-storage": "true",
    "newlib-nano-malloc": "false",  # its one list of free blocks is searched from the start
    "fast-bufio": "true",
    "optimization": "2",
}
# Lines for the debugger and for traces back, without types and variables.
C_FLAGS = ("-g1",)

Say = Callable[[str], None]


@dataclass(frozen=True)
class Folders:
    """Below the prefix: libraries are for use, work is what they are made of."""

    prefix: Path

    def library(self, target: Target) -> Path:
        return self.prefix / "picolibc" / target.name

    @property
    def work(self) -> Path:
        return self.prefix / "work"


def recipe(target: Target) -> str:
    """All that decides what is built."""
    compiler = f"{target.compiler}gcc"
    try:
        version = subprocess.run(
            [compiler, "-dumpfullversion"], capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        raise UserError(
            f"{target.name} needs {compiler}: tools/setup-boards --target {target.family}"
        ) from None
    lines = [f"picolibc {VERSION}", f"{compiler} {version}"]
    lines += [f"{key}={value}" for key, value in OPTIONS.items()]
    lines.append(shlex.join((*C_FLAGS, *target.flags, *target.only)))
    return "\n".join(lines) + "\n"


def is_built(target: Target, folders: Folders) -> bool:
    stamp = folders.library(target) / "recipe"
    return stamp.exists() and stamp.read_text() == recipe(target)


def build(target: Target, folders: Folders, source: Path, say: Say) -> None:
    """Builds and installs it; the folder of the build is left only if that fails."""
    library = folders.library(target)
    tree, log = folders.work / target.name, folders.work / f"{target.name}.log"
    for folder in (library, tree):
        shutil.rmtree(folder, ignore_errors=True)
    folders.work.mkdir(parents=True, exist_ok=True)
    cross = folders.work / f"{target.name}.cross"
    cross.write_text(cross_file(target))
    say(f"building picolibc {VERSION} for {target.name} ({target.what})")
    with log.open("w") as out:
        for step in steps(target, library, tree, cross, source):
            print("+", shlex.join(step), file=out, flush=True)
            done = subprocess.run(step, stdout=out, stderr=out, env=_environment(), check=False)
            if done.returncode != 0:
                failed = f"building picolibc for {target.name} failed; the whole log is {log}"
                raise UserError(f"{failed}\n{_end(log)}")
    shutil.rmtree(tree)
    (library / "recipe").write_text(recipe(target))


def steps(target: Target, library: Path, tree: Path, cross: Path, source: Path) -> list[list[str]]:
    options = [f"-D{key}={value}" for key, value in OPTIONS.items()]
    flags = [*C_FLAGS, f"-ffile-prefix-map={source}=picolibc", *target.only]
    setup = [
        *("meson", "setup", str(tree), str(source), "--cross-file", str(cross)),
        *("--buildtype", "plain", "--prefix", str(library), *options),
        *("-Dincludedir=include", "-Dlibdir=lib", f"-Dspecsdir={library / 'lib'}"),
        f"-Dc_args={shlex.join(flags)}",
    ]
    jobs = str(len(os.sched_getaffinity(0)))
    return [
        setup,
        ["meson", "compile", "-C", str(tree), "--jobs", jobs],
        ["meson", "install", "-C", str(tree), "--no-rebuild", "--quiet"],
    ]


def cross_file(target: Target) -> str:
    """Meson's description of the target. It takes the flags with the compiler's name."""
    command = [f"{target.compiler}gcc", "-nostdlib", *target.flags]
    tools = "".join(f"{tool} = '{target.compiler}{tool}'\n" for tool in ("ar", "as", "nm", "strip"))
    return (
        f"[binaries]\nc = {command!r}\n{tools}\n"
        f"[host_machine]\nsystem = 'none'\ncpu_family = '{target.cpu_family}'\n"
        f"cpu = '{target.name}'\nendian = 'little'\n\n"
        "[properties]\nskip_sanity_check = true\n"
    )


# Variables that a make around this one hands down, and that would change the build.
_MAKES = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CC", "CFLAGS", "CPPFLAGS", "LDFLAGS", "JOBS", "YES")


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key not in _MAKES}


def _end(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:])


def fetch(folders: Folders, given: Path | None, say: Say) -> Path:
    """The unpacked source. The caller may remove it after the build: the archive is kept."""
    tree = folders.work / f"picolibc-{VERSION}"
    archive = given or _download(folders.work, say)
    if not archive.exists():
        raise UserError(f"{archive}: no such file", status=2)
    if not has_checksum(archive, CHECKSUM):
        raise UserError(
            f"{archive} is not the archive of picolibc {VERSION}: its SHA-256 is to be {CHECKSUM}"
        )
    shutil.rmtree(tree, ignore_errors=True)
    folders.work.mkdir(parents=True, exist_ok=True)
    into = str(folders.work)
    unpack = ["tar", "--extract", "--no-same-owner", "--file", str(archive), "--directory", into]
    done = subprocess.run(unpack, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not tree.is_dir():
        raise UserError(f"unpacking {archive} failed: {done.stderr.strip()}")
    return tree


def _download(folder: Path, say: Say) -> Path:
    """By apt, with lists of its own; the machine's mirror, and the keys that it trusts."""
    kept = folder / "source" / f"picolibc_{VERSION}.orig.tar.gz"
    if has_checksum(kept, CHECKSUM):
        return kept
    say(f"fetching the source of picolibc {VERSION} (Debian {RELEASE}) by apt")
    try:
        about, own = machine_release()
        entries = other_releases(own, about["VERSION_CODENAME"], (RELEASE,))
        apt = Apt(folder / "apt", entries, newest_first=True)
        versions = [v for v in apt.versions("picolibc") if v.partition("-")[0] == VERSION]
        if not versions:
            raise UserError(f"no picolibc {VERSION} in release {RELEASE} of the mirrors")
        archive = apt.download_archive("picolibc", versions[0], folder / "source")
        shutil.rmtree(apt.folder)
        return archive
    except UserError as error:
        raise UserError(
            f"{error.message}\n"
            f"apt does not get the source of picolibc {VERSION} from this machine's mirrors. "
            f"With a copy of {kept.name}: tools/setup-boards --source FILE"
        ) from None
