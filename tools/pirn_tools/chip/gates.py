# SPDX-License-Identifier: MIT
"""Gates and transistors of parts of the chip, as a chip of its own would have them: with yosys.

Memories stay memories: their bits are counted, not their decoders. All other logic is mapped by ABC
to gates of static CMOS, for little depth first. yosys does not count the transistors of flip-flops,
so they are counted here, with an assumption: a plain D flip-flop has 24 transistors. Its enable and
its reset are gates beside it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pirn_tools.chip.build import locked
from pirn_tools.chip.design import Design, fingerprint
from pirn_tools.errors import UserError

TOOL = "yosys"
# Transistors of a gate in static CMOS, as yosys' `stat -tech cmos` counts them.
TRANSISTORS = {
    "$_NOT_": 2,
    "$_NAND_": 4,
    "$_NOR_": 4,
    "$_AND_": 6,
    "$_OR_": 6,
    "$_ANDNOT_": 6,
    "$_ORNOT_": 6,
    "$_AOI3_": 6,
    "$_OAI3_": 6,
    "$_AOI4_": 8,
    "$_OAI4_": 8,
    "$_NMUX_": 10,
    "$_MUX_": 12,
    "$_XOR_": 12,
    "$_XNOR_": 12,
}
FLIP_FLOP = "$_DFF_P_"
FLIP_FLOP_TRANSISTORS = 24
NAND2 = 4  # transistors
SRAM_CELL = 6  # transistors of a bit
MEMORY = "$mem_v2"

SCRIPT = """read_verilog -defer -sv -D SYNTHESIS {files}
hierarchy -check -top {top} {parameters}
proc
flatten
opt -full
memory -nomap
opt -full
techmap
simplemap
dfflegalize -cell $_DFF_P_ 01
opt -full -nodffe -nosdff
abc -g cmos -script +strash;dc2;strash;if,-g,-K,6;strash;map,-B,0.9;topo
opt_clean
tee -q -o depth.txt ltp -noff
write_json netlist.json
"""


@dataclass(frozen=True)
class Gates:
    """What a part consists of."""

    memory_bits: int
    flip_flops: int
    gates: Mapping[str, int]  # by kind
    depth: int  # gates on the longest way from a flip-flop or an input to the next
    registers: Mapping[str, int]  # flip-flops by the name of the register

    @property
    def gate_transistors(self) -> int:
        return sum(TRANSISTORS[kind] * count for kind, count in self.gates.items())

    @property
    def transistors(self) -> int:
        """Of all but the memories."""
        return self.gate_transistors + FLIP_FLOP_TRANSISTORS * self.flip_flops

    @property
    def nand2(self) -> float:
        return self.transistors / NAND2

    @property
    def sram_bytes(self) -> float:
        """So many bytes of memory have as many transistors."""
        return self.transistors / SRAM_CELL / 8


def script(root: Path, design: Design) -> str:
    return SCRIPT.format(
        files=" ".join(map(str, design.paths(root))),
        top=design.top,
        parameters=" ".join(f"-chparam {name} {value}" for name, value in design.parameters),
    )


def number(value: int | str) -> int:
    """A parameter of a cell: yosys writes bits as text."""
    return value if isinstance(value, int) else int(value, 2)


def register_names(module: Mapping[str, Any]) -> dict[int, str]:
    """For each bit the shortest public name of a wire that has it."""
    names: dict[int, str] = {}
    for name, net in module["netnames"].items():
        if net.get("hide_name"):
            continue
        for bit in net["bits"]:
            if isinstance(bit, int) and (bit not in names or len(name) < len(names[bit])):
                names[bit] = name
    return names


def counted(module: Mapping[str, Any], depth: str) -> Gates:
    """From the netlist of a module, and what `ltp` says of it."""
    found = re.search(r"Longest topological path in \S+ \(length=(\d+)\)", depth)
    if found is None:
        raise UserError(f"yosys says nothing of the longest path: {depth.strip()[-200:]}")
    names = register_names(module)
    bits, flip_flops = 0, 0
    gates: dict[str, int] = {}
    registers: dict[str, int] = {}
    for cell in module["cells"].values():
        kind = cell["type"]
        if kind == MEMORY:
            parameters = cell["parameters"]
            bits += number(parameters["SIZE"]) * number(parameters["WIDTH"])
        elif kind == FLIP_FLOP:
            flip_flops += 1
            register = names.get(cell["connections"]["Q"][0], "")
            registers[register] = registers.get(register, 0) + 1
        elif kind in TRANSISTORS:
            gates[kind] = gates.get(kind, 0) + 1
        else:
            raise UserError(f"yosys has left a cell {kind}, which has no number of transistors")
    return Gates(bits, flip_flops, gates, int(found[1]), registers)


def place_of(root: Path, folder: Path, design: Design) -> Path:
    """Where the result of a design lies in `folder`."""
    yosys = shutil.which(TOOL)
    if yosys is None:
        raise UserError(f"{TOOL} is missing; tools/setup --group fpga installs it")
    version = subprocess.run([yosys, "-V"], capture_output=True, text=True, check=True).stdout
    return folder / f"{design.title.replace(' ', '-')}-{fingerprint(root, design, version, SCRIPT)}"


def file_of(root: Path, folder: Path, design: Design) -> Path:
    """Where its result is, or will be."""
    return place_of(root, folder, design) / "gates.json"


def kept(root: Path, folder: Path, design: Design) -> Gates | None:
    """What an earlier run has left."""
    path = file_of(root, folder, design)
    return Gates(**json.loads(path.read_text())) if path.exists() else None


def measure(root: Path, folder: Path, design: Design) -> Gates:
    """From a file in `folder`, or by yosys."""
    place = place_of(root, folder, design)
    place.mkdir(parents=True, exist_ok=True)
    path = place / "gates.json"
    with locked(place / "lock"):
        if not path.exists():
            _count(root, design, place, path)
    return Gates(**json.loads(path.read_text()))


def _count(root: Path, design: Design, place: Path, path: Path) -> None:
    (place / "gates.ys").write_text(script(root, design))
    line = [TOOL, "-q", "gates.ys"]
    done = subprocess.run(line, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UserError(f"{design.title}: yosys failed:\n{(done.stdout + done.stderr)[-2000:]}")
    netlist = place / "netlist.json"
    module = json.loads(netlist.read_text())["modules"][design.top]
    made = counted(module, (place / "depth.txt").read_text())
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(made.__dict__, indent=1))
    part.rename(path)
    netlist.unlink()
