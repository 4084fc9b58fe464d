# SPDX-License-Identifier: MIT
"""What a server and the processes that it started use, read from /proc."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
HELD = ("Pss_Anon:", "Pss_Shmem:")  # memory that is no file's; shared pages count in parts
KIB = 1024


@dataclass(frozen=True)
class Sample:
    """At one moment."""

    seconds: float  # since the load began
    memory: int  # bytes
    descriptors: int
    threads: int  # of the kernel
    processes: int
    cpu: float  # seconds, of processes that have ended as well


def sample(server: int, seconds: float) -> Sample | None:
    """Of the server and its descendants; none if it has ended."""
    family = descendants(server, parents())
    memory = descriptors = threads = processes = 0
    cpu = 0.0
    for pid in family:
        folder = PROC / str(pid)
        try:
            fields = _fields(folder)
            held = sum(_held(folder))
            opened = len(os.listdir(folder / "fd"))  # noqa: PTH208, a list is made of names only
        except (OSError, ValueError):
            if pid == server:
                return None
            continue  # it has ended meanwhile
        memory += held
        descriptors += opened
        threads += int(fields[17])
        processes += 1
        cpu += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return Sample(seconds, memory, descriptors, threads, processes, cpu)


def descendants(root: int, parent: Mapping[int, int]) -> list[int]:
    """It, its children, their children and so on."""
    children: dict[int, list[int]] = {}
    for pid, above in parent.items():
        children.setdefault(above, []).append(pid)
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def parents() -> dict[int, int]:
    """The parent of each process."""
    found = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = int(_fields(entry)[1])
            except (OSError, ValueError):
                continue
    return found


def _fields(folder: Path) -> list[str]:
    """Those of stat, from the state on: the name before may have blanks."""
    fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
    if len(fields) < 18:
        raise ValueError(f"{folder}/stat is not as expected")
    return fields


def _held(folder: Path) -> Iterable[int]:
    for line in (folder / "smaps_rollup").read_text().splitlines():
        if line.startswith(HELD):
            yield int(line.split()[1]) * KIB
