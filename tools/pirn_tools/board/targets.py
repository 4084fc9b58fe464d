# SPDX-License-Identifier: MIT
"""The targets of targets.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pirn_tools.errors import UserError, did_you_mean, listing

TABLE = Path(__file__).parent / "targets.toml"


@dataclass(frozen=True)
class Target:
    name: str
    family: str
    what: str
    compiler: str
    flags: tuple[str, ...]
    cpu_family: str
    arch: str
    elf: tuple[str, int] = ("EM_NONE", 0)
    only: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()


def load(path: Path = TABLE) -> list[Target]:
    return [
        Target(
            name=name,
            family=entry["family"],
            what=entry["what"],
            compiler=entry["compiler"],
            flags=tuple(entry["flags"]),
            cpu_family=entry["cpu_family"],
            arch=entry.get("arch", entry["cpu_family"]),
            elf=(entry["elf"][0], entry["elf"][1]),
            only=tuple(entry.get("only", ())),
            programs=tuple(entry.get("programs", ())),
        )
        for name, entry in tomllib.loads(path.read_text()).items()
    ]


def families(targets: Iterable[Target]) -> list[str]:
    return list(dict.fromkeys(target.family for target in targets))


def choose(targets: list[Target], names: Iterable[str]) -> list[Target]:
    """Those that are named, or are of the named families; all for "all"."""
    valid = [*families(targets), "all", *(target.name for target in targets)]
    wanted = list(names)
    for name in wanted:
        if name not in valid:
            raise UserError(
                f'no target "{name}"{did_you_mean(name, valid)} (valid: {listing(valid)})', status=2
            )
    return [t for t in targets if "all" in wanted or t.family in wanted or t.name in wanted]
