# SPDX-License-Identifier: MIT
"""Parts of the chip's RTL that can be synthesized alone: a top module and its parameters."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pirn_tools.chip.build import FIRST, TOP
from pirn_tools.chip.config import Config

Values = tuple[tuple[str, int], ...]
# Ports of the chip that only the simulator uses: delays by choice, and the host.
UNUSED_INPUTS = (
    *("cfg_latency", "cfg_pressure", "cfg_seed", "watch", "host_attached", "host_hart"),
    *("host_go", "host_refuses", "host_value", "host_req", "host_write", "host_addr"),
    *("host_data", "host_mask"),
)
UNUSED_OUTPUTS = (
    *("halted", "host_a0", "host_a1", "host_pc", "host_ready", "host_done", "host_line"),
    *("cycle", "does"),
)


@dataclass(frozen=True)
class Design:
    """A module of hw/rtl, and what it is built for."""

    top: str
    files: tuple[str, ...]  # of hw/rtl, in this order
    parameters: Values = ()
    macros: tuple[str, ...] = ()
    # The FPGA's wrapper gives these inputs a constant: what a chip does not need at run time.
    constants: Values = ()
    ignored: tuple[str, ...] = ()  # outputs that its wrapper leaves open
    name: str = ""
    place: tuple[str, ...] = ()  # options of nextpnr

    @property
    def title(self) -> str:
        if self.name:
            return self.name
        values = (f"{name} {value}" for name, value in self.parameters)
        return " ".join([self.top, *values]).lower()

    def paths(self, root: Path) -> list[Path]:
        return [root / "hw" / "rtl" / name for name in self.files]


def rtu(entries: int) -> Design:
    return Design("rtu", ("rtu.sv",), (("ENTRIES", entries),))


def dtu(entries: int, line_bits: int = 28, stages: int = 1) -> Design:
    parameters = (("ENTRIES", entries), ("LINE_BITS", line_bits), ("STAGES", stages))
    return Design("dtu", ("dtu.sv",), parameters)


def tsau(cores: int, threads: int, stages: int = 1) -> Design:
    parameters = (("CORES", cores), ("THREADS", threads), ("STAGES", stages))
    return Design("tsau", ("tsau.sv",), parameters)


def context_unit() -> Design:
    return Design("context_unit", ("context_unit.sv",))


# With nextpnr's usual placer and router a chip with a scheduler of 64 entries had 67,000 of 161,000
# wires left to route after 2.4 hours. This placer needs a fifth less wire.
PLACE_CHIP = ("--placer", "static", "--router", "router2")


def chip(root: Path, config: Config, ram_kib: int) -> Design:
    """All of it, without what only the simulator has: the host, and delays by choice."""
    others = sorted(path.name for path in (root / "hw" / "rtl").glob("*.sv"))
    first = [*FIRST, f"{TOP}.sv"]
    macros = [one for one in config.macros if not one.startswith("SOC_RAM_KIB")]
    name = f"chip {config.cores}x{config.threads} {ram_kib} KiB scheduler {config.scheduler}"
    if config.scheduler_stages > 1:
        name += f" stages {config.scheduler_stages}"
    return Design(
        top=TOP,
        files=(*first, *(name for name in others if name not in first)),
        macros=(*macros, f"SOC_RAM_KIB={ram_kib}"),
        constants=(("cfg_coherent", 1), *((name, 0) for name in UNUSED_INPUTS)),
        ignored=UNUSED_OUTPUTS,
        name=name,
        place=PLACE_CHIP,
    )


def fingerprint(root: Path, design: Design, *more: str) -> str:
    """Of the RTL, its parameters, and all else that decides a result."""
    digest = hashlib.sha256()
    words: Iterable[str] = (
        design.top,
        *(f"{name}={value}" for name, value in (*design.parameters, *design.constants)),
        *design.macros,
        *design.ignored,
        *more,
    )
    for word in words:
        digest.update(word.encode() + b"\0")
    for path in design.paths(root):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
