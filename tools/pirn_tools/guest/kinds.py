# SPDX-License-Identifier: MIT
"""The kinds of guests: guests.toml, and what tools/setup-guest has made of them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from pirn_tools.errors import UserError, did_you_mean, listing

TABLE = Path(__file__).with_name("guests.toml")


@dataclass(frozen=True)
class Kind:
    name: str
    elf: int  # its number in ELF files
    preset: str  # whose build runs there
    debian: str  # the architecture's name in packages
    release: str
    kernel: str  # the package that depends on the newest kernel
    kernel_release: str
    qemu: str
    machine: str
    cpu: str
    console: str


def load() -> list[Kind]:
    table = tomllib.loads(TABLE.read_text())
    return [Kind(name=name, **values) for name, values in table.items()]


def find(name: str) -> Kind:
    known = {one.name: one for one in load()}
    if name not in known:
        names = list(known)
        raise UserError(
            f'no guest "{name}"{did_you_mean(name, names)} (valid: {listing(names)})',
            status=2,
        )
    return known[name]


@dataclass(frozen=True)
class Files:
    """What tools/setup-guest has put below .guest."""

    folder: Path

    @property
    def kernel(self) -> Path:
        return self.folder / "kernel/vmlinuz"

    @property
    def modules(self) -> Path:
        return self.folder / "kernel/modules"

    @property
    def load(self) -> list[str]:
        """The modules in the order in which they have to be loaded."""
        return (self.folder / "kernel/load").read_text().split()

    @property
    def version(self) -> str:
        return (self.folder / "kernel/version").read_text().strip()

    @property
    def image(self) -> Path:
        return self.folder / "system/image"

    @property
    def busybox(self) -> Path:
        return self.folder / "system/busybox"


def files(root: Path, kind: Kind) -> Files:
    """An error if they are not there."""
    found = Files(root / ".guest" / kind.name)
    for path in (found.kernel, found.image, found.busybox):
        if not path.exists():
            raise UserError(f"there is no {path}; run tools/setup-guest {kind.name}")
    return found


def library(build: Path, kind: Kind) -> Path:
    """What is preloaded. An error unless the build is of the guest's architecture."""
    path = build / "lib/libpirn-pthread.so"
    if not (build / "CMakeCache.txt").exists():
        raise UserError(f"{build} is no build: run make build-{kind.preset}, or use --build")
    if not path.exists():
        raise UserError(f"there is no {path}; build target pirn-pthread")
    head = path.read_bytes()[:20]
    found = int.from_bytes(head[18:20], "little") if head[:4] == b"\x7fELF" else 0
    if found != kind.elf:
        raise UserError(f"{path} is not for {kind.name}: its ELF machine is {found}")
    return path


def source(build: Path) -> Path:
    """The tree that a build was made from."""
    key = "CMAKE_HOME_DIRECTORY:INTERNAL="
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(key):
            return Path(line.removeprefix(key)).resolve()
    raise UserError(f"{build}/CMakeCache.txt does not say what it was made from")
