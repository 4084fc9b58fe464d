# SPDX-License-Identifier: MIT
"""Pages in docs/results/ whose middle is measured: tables of a run, and the machine."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from pathlib import Path

from pirn_tools import parts, paths
from pirn_tools.errors import UserError

from harness import machine

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
PEERS = ("Boost.Fiber", "GNU Pth", "Go", "Rust", "may", "Tokio")  # not in these measurements


BENCHMARKS = Path("docs/results/benchmarks.md")


def publish_part(root: Path, name: str, text: str, output: Path, pictures: Iterable[str]) -> None:
    """A part of the page of benchmarks, and its pictures."""
    parts.replace(root / BENCHMARKS, name, text)
    for picture in pictures:
        shutil.copyfile(output / picture, root / BENCHMARKS.parent / "img" / picture)


def machine_before(root: Path, build: Path) -> dict[str, str]:
    facts = {key: v for key, v in machine.describe(root, build).items() if key not in PEERS}
    facts["kernel"] = facts["kernel"].split("-")[0]
    return facts


def machine_after(
    before: dict[str, str], root: Path, build: Path, rounds: int, begun: float
) -> dict[str, str]:
    """The same with the facts known at the end; begun: by time.monotonic."""
    return {
        **before,
        "load after": machine.describe(root, build)["load before"],
        "rounds": f"{rounds}, {time.monotonic() - begun:.0f} s in all",
    }


def publish(page: Path, text: str, output: Path, pictures: Iterable[str]) -> None:
    """Put the report, without its title, between the page's marks, and its pictures beside it."""
    old = page.read_text()
    if old.count(BEGIN) != 1 or old.count(END) != 1:
        raise UserError(f'{paths.short(page)} must have "{BEGIN}" and "{END}" once each')
    before, rest = old.split(BEGIN)
    measured = text.split("\n", 2)[2]
    page.write_text(f"{before}{BEGIN}\n{measured}\n{END}{rest.split(END)[1]}")
    for name in pictures:
        shutil.copyfile(output / name, page.parent / "img" / name)
