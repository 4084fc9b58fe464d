# SPDX-License-Identifier: MIT
"""Sizes that all chips have alike, since no option sets them: read from hw/rtl/soc_pkg.sv, so that
pages say what the RTL has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pirn_tools.errors import UserError
from pirn_tools.paths import short

PACKAGE = Path("hw") / "rtl" / "soc_pkg.sv"
NUMBER = r"(\d+)"


@dataclass(frozen=True)
class Sizes:
    instructions: int  # bytes of a core's first-level caches
    data: int
    ways: int
    line: int  # bytes
    stores: int  # entries of a hardware thread's store buffer
    answers: int  # entries of a bank's queue

    @property
    def first_level(self) -> str:
        return (
            f"each core has caches of {kib(self.instructions)} for instructions and of "
            f"{kib(self.data)} for data, {self.ways} ways, lines of {self.line} bytes, written "
            "through"
        )

    @property
    def buffers(self) -> str:
        return f"{self.stores} stores of a hardware thread, {self.answers} answers of a bank"


def kib(count: int) -> str:
    return f"{count / 1024:g} KiB"


def sizes(root: Path) -> Sizes:
    path = root / PACKAGE
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{short(path)}: {error.strerror}") from None

    def number(pattern: str, what: str) -> int:
        found = re.findall(pattern, text)
        if len(found) != 1:
            raise UserError(f"{short(path)}: {what} is not found once, but {len(found)} times")
        return int(found[0])

    def macro(name: str) -> int:
        return number(rf"`define {name} {NUMBER}", name)

    def parameter(name: str) -> int:
        return number(rf"parameter int {name} = {NUMBER};", name)

    ways = parameter("WAYS")
    line = (number(rf"logic \[{NUMBER}:0\] data;", "the data of an answer") + 1) // 8
    return Sizes(
        instructions=macro("SOC_ICACHE_SETS") * ways * line,
        data=macro("SOC_DCACHE_SETS") * ways * line,
        ways=ways,
        line=line,
        stores=parameter("STORES"),
        answers=macro("SOC_QUEUE"),
    )
