# SPDX-License-Identifier: MIT
"""The page of `pirn bench figures area`: tables, and verdicts on a paper's claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pirn_tools.chip.design import Design
from pirn_tools.chip.gates import FLIP_FLOP_TRANSISTORS, NAND2, SRAM_CELL, Gates
from pirn_tools.chip.place import Result, signal
from pirn_tools.figures import markdown
from pirn_tools.figures.markdown import table

KIB = 1024
CONTEXT = 64  # bytes
# Claims of the paper, for 8 cores. It says 1024 entries in its text and 1000 in its conclusion.
CLAIMED_BYTES = {64: 68 * KIB, 1024: 1088 * KIB}
CLAIMED_TSAU = 8 * KIB
CLAIMED_CACHE = 64 * KIB * KIB  # of a processor that it compares with
STATES = ("used", "head", "woken", "arrived", "chained", "wants")  # of an entry of the DTB


@dataclass(frozen=True)
class Budget:
    """A whole hardware scheduler."""

    entries: int
    cores: int
    rtu: Gates
    dtu: Gates
    dtu_without_cam: Gates  # addresses of 1 bit
    tsau: Gates
    context_unit: Gates

    @property
    def context_bytes(self) -> int:
        """Memory for contexts: of each core's RTU, and of the DTB."""
        return (self.cores * self.rtu.memory_bits + self.dtu.memory_bits) // 8

    @property
    def cam(self) -> int:
        """Transistors of the addresses in the DTB, with their comparators."""
        return self.dtu.transistors - self.dtu_without_cam.transistors

    @property
    def state_bits(self) -> int:
        return sum(self.dtu.registers.get(name, 0) for name in STATES)

    @property
    def address_bits(self) -> int:
        return self.dtu.registers.get("lines", 0)

    @property
    def link_bits(self) -> int:
        return self.dtu.registers.get("older", 0)

    @cached_property
    def parts(self) -> dict[str, int]:
        """Transistors."""
        return {
            "contexts (6T SRAM)": self.context_bytes * 8 * SRAM_CELL,
            "DTB: addresses": self.cam,
            "DTB: other logic": self.dtu_without_cam.transistors,
            "RTUs: logic": self.cores * self.rtu.transistors,
            "TSAU": self.tsau.transistors,
            "context units": self.cores * self.context_unit.transistors,
        }

    @property
    def total(self) -> int:
        return sum(self.parts.values())

    @property
    def contexts(self) -> int:
        return self.parts["contexts (6T SRAM)"]


def size(count: float) -> str:
    """Bytes, in the unit that reads best."""
    if count >= 1000 * KIB:
        return f"{count / KIB / KIB:.4g} MiB"
    return f"{count / KIB:.3g} KiB" if count >= KIB else f"{count:.0f} B"


def thousands(count: float) -> str:
    return f"{count / 1000:.1f} k" if count >= 1000 else f"{count:.0f}"


def _logic_row(name: str, entries: str, one: Gates) -> list[str]:
    return [
        name,
        entries,
        size(one.memory_bits / 8) if one.memory_bits else "-",
        f"{one.flip_flops}",
        thousands(one.nand2),
        thousands(one.transistors),
        size(one.sram_bytes),
        f"{one.depth}",
    ]


def logic_table(found: Sequence[Budget]) -> str:
    head = ["unit", "entries", "contexts", "flip-flops", "NAND2", "transistors", "as SRAM", "depth"]
    rows = [_logic_row("RTU, of a core", str(one.entries), one.rtu) for one in found]
    rows += [_logic_row("DTU", str(one.entries), one.dtu) for one in found]
    rows += [_logic_row("TSAU", "any", found[0].tsau)]
    rows += [_logic_row("context unit, of a core", "any", found[0].context_unit)]
    return table(head, rows)


def dtb_table(found: Sequence[Budget]) -> str:
    head = ["entries", "address bits", "state bits", "link bits", "transistors of the addresses"]
    head += ["as SRAM", "of the contexts in the DTB"]
    rows = [
        [
            str(one.entries),
            str(one.address_bits),
            str(one.state_bits),
            str(one.link_bits),
            thousands(one.cam),
            size(one.cam / SRAM_CELL / 8),
            f"{100 * one.cam / SRAM_CELL / one.dtu.memory_bits:.0f} %",
        ]
        for one in found
    ]
    return table(head, rows)


def total_table(found: Sequence[Budget]) -> str:
    head = ["entries", *found[0].parts, "all", "all, as SRAM", "contexts alone"]
    rows = [
        [
            str(one.entries),
            *(thousands(count) for count in one.parts.values()),
            thousands(one.total),
            size(one.total / SRAM_CELL / 8),
            size(one.context_bytes),
        ]
        for one in found
    ]
    return table(head, rows)


def word(holds: bool) -> str:
    return "Holds" if holds else "Does not hold"


def claims(found: Sequence[Budget]) -> str:
    """Each claim, what we count, and a verdict."""
    rows = []
    for one in found:
        claimed = CLAIMED_BYTES.get(one.entries)
        if claimed is None:
            continue
        more = one.total / one.contexts - 1
        rows.append(
            [
                f"{size(claimed)} with {one.entries} entries",
                f"{size(one.context_bytes)} of contexts; "
                f"{size(one.total / SRAM_CELL / 8)} with all logic",
                f"{word(one.context_bytes == claimed)} for the contexts alone. All logic adds "
                f"{100 * more:.0f} %.",
            ]
        )
    tsau = found[0].tsau
    rows.append(
        [
            f"the TSAU takes what {size(CLAIMED_TSAU)} of memory take, at worst",
            f"{tsau.transistors} transistors, as {size(tsau.sram_bytes)}",
            f"{word(tsau.sram_bytes <= CLAIMED_TSAU)}: {CLAIMED_TSAU / tsau.sram_bytes:.1f} times "
            "what is needed."
            if tsau.sram_bytes <= CLAIMED_TSAU
            else f"{word(False)}: {tsau.sram_bytes / CLAIMED_TSAU:.1f} times as much.",
        ]
    )
    last = found[-1]
    if last.entries == 1024:
        share = 100 * last.context_bytes / CLAIMED_CACHE
        whole = 100 * last.total / SRAM_CELL / 8 / CLAIMED_CACHE
        states = 2 / (CONTEXT * 8) * 100
        rows.append(
            [
                f"1.66 % of the silicon of a cache of {size(CLAIMED_CACHE)}, "
                f"{last.entries} entries",
                f"{share:.2f} % by the contexts, {whole:.2f} % with all logic",
                f"{word(abs(share - 1.66) < 0.01)} for the contexts, as bits of the cache's data. "
                f"The Full/Empty states of that cache, 2 bits for a line of {CONTEXT} bytes, add "
                f"{states:.2f} %.",
            ]
        )
    return table(["the paper", "here", "verdict"], rows, left=(0, 1, 2))


def place_row(name: str, size_: str, one: Result) -> list[str]:
    cells = [str(one.cells.luts), str(one.cells.flip_flops), str(one.cells.block_rams)]
    if not one.placed:
        return [name, size_, *cells, "-", "-", "0", "not placed", "-"]
    mhz = one.mhz
    typical = one.typical
    wires = typical.nanoseconds - typical.logic
    return [
        name,
        size_,
        *cells,
        f"{typical.mhz:.0f}",
        f"{mhz[0]:.0f}-{mhz[-1]:.0f}",
        str(len(mhz)),
        f"`{signal(typical.start)}` to `{signal(typical.end)}`",
        f"{typical.nanoseconds:.1f}, {100 * wires / typical.nanoseconds:.0f} % wires",
    ]


PLACE_HEAD = (
    *("LUTs", "flip-flops", "block RAMs", "MHz, median", "MHz, all", "seeds"),
    *("critical path", "ns"),
)


def units_table(placed: Mapping[Design, Result]) -> str:
    rows = []
    for one, result in placed.items():
        values = dict(one.parameters)
        if one.top == "tsau":
            rows.append(place_row("TSAU", f"{values['CORES']}x{values['THREADS']}", result))
        elif one.top in ("rtu", "dtu"):
            rows.append(place_row(one.top.upper(), f"{values['ENTRIES']} entries", result))
    return table(["unit", "for", *PLACE_HEAD], rows, left=(0, 1, 8))


def chips(placed: Mapping[Design, Result]) -> dict[tuple[int, int], Result]:
    """By hardware threads, and entries of the scheduler."""
    found = {}
    for one, result in placed.items():
        values = dict(macro.split("=") for macro in one.macros if "=" in macro)
        if values:
            found[int(values["SOC_THREADS"]), int(values["SOC_SCHEDULER"])] = result
    return found


def chips_table(placed: Mapping[Design, Result]) -> str:
    rows = [
        place_row(f"1x{threads}", f"{queue} entries" if queue else "no", result)
        for (threads, queue), result in chips(placed).items()
    ]
    return table(["chip", "scheduler", *PLACE_HEAD], rows, left=(0, 1, 8))


def chips_verdict(placed: Mapping[Design, Result]) -> str:
    """What the scheduler adds to a chip, and whether it is what limits the clock."""
    found = chips(placed)
    text = []
    for (threads, queue), result in found.items():
        plain = found.get((threads, 0))
        if queue == 0 or plain is None:
            continue
        new, old = result.cells, plain.cells
        text.append(
            f"With {queue} entries the scheduler adds {new.luts - old.luts} LUTs "
            f"({100 * (new.luts / old.luts - 1):.0f} %), {new.flip_flops - old.flip_flops} "
            f"flip-flops and {new.block_rams - old.block_rams} block RAMs to a chip of 1x{threads}."
        )
        if result.placed and plain.placed:
            text.append(
                f"Its clock is {result.typical.mhz:.0f} MHz instead of {plain.typical.mhz:.0f} MHz."
            )
    return " ".join(text)


def limit(placed: Mapping[Design, Result]) -> str:
    """The slowest unit against the fastest chip without a scheduler."""
    units = {one: result for one, result in placed.items() if result.placed and not one.macros}
    if not units:
        return ""
    plain = [
        result.typical.mhz
        for (_, queue), result in chips(placed).items()
        if queue == 0 and result.placed
    ]
    slowest = min(units, key=lambda one: units[one].typical.mhz)
    mhz = units[slowest].typical.mhz
    values = dict(slowest.parameters)
    size_ = (
        f"{values['ENTRIES']} entries"
        if "ENTRIES" in values
        else f"{values['CORES']} cores of {values['THREADS']} threads"
    )
    text = f"The slowest unit is the {slowest.top.upper()} for {size_}, with {mhz:.0f} MHz."
    if plain:
        text += f" A chip without the scheduler reaches {max(plain):.0f} MHz, so " + (
            "this unit would limit its clock." if mhz < max(plain) else "no unit limits its clock."
        )
    return text


def stages(placed: Mapping[Design, Result]) -> str:
    """Whether more stages of the TSAU would raise the clock."""
    mhz = {
        top: [one.typical.mhz for part, one in placed.items() if part.top == top and one.placed]
        for top in ("tsau", "dtu")
    }
    text = TSAU
    if mhz["tsau"] and mhz["dtu"] and min(mhz["dtu"]) < min(mhz["tsau"]):
        text += (
            f" More stages would not raise the scheduler's clock: the DTU reaches "
            f"{min(mhz['dtu']):.0f} MHz, the TSAU {min(mhz['tsau']):.0f} MHz."
        )
    return text


HEAD = """\
The hardware scheduler of the chip in `hw/` follows a proposal for fine-grained threads ("the
paper"), which estimates its area and synthesizes nothing. Here yosys counts gates, and nextpnr
places the same SystemVerilog that is simulated in an FPGA. [The chip](../internals/chip.md) says
what the units do."""

GATES = """\
All but the memory of contexts is mapped to gates of static CMOS, for little depth first. A NAND2
has {nand2} transistors, a bit of SRAM {sram}, a D flip-flop {flip_flop}. That last number is an
assumption: yosys does not count the transistors of flip-flops. Enable and reset of a flip-flop are
gates beside it. "As SRAM" is the size of a memory with as many transistors, without its decoders
and amplifiers. "Depth" is the number of gates on the longest way through the unit. The processor is
the paper's: {cores} cores of 4 hardware threads."""

DTB = """\
Each entry of the DTB has, beside its context, the line's address (28 bits), six bits of state, and
a link to the next thread that waits for the same line. A change of a line is compared with all
addresses at once. "Transistors of the addresses" is the difference between a DTU with addresses of
28 bits and one with addresses of 1 bit. A memory with comparators in its cells (CAM) would be
smaller than these flip-flops and gates."""

LEFT_OUT = """\
The paper counts contexts of 64 bytes and the TSAU. It leaves out:

- the addresses, states and links in the DTB;
- a context unit for each core, which moves contexts between registers, queues and memory: together
  {contexts} transistors, {ratio:.1f} times the TSAU;
- the Full/Empty states of all lines of the second level: 2 bits for each 16 bytes here. That is
  1.6 % of its data, about as much as all queues with 1024 entries in the paper's comparison;
- the second port of the memories: a queue can be read and written in the same cycle. A cell of SRAM
  needs 8 transistors for that instead of 6;
- wires: a context is 512 of them, between each core and its RTU, to the DTU, and from the TSAU to
  all cores. Gates do not show them; the placements below do."""

FPGA = """\
Each unit alone, between registers that shift its inputs in and its outputs out. `in` and `seen` are
such registers, not the unit's. A distributed memory counts as six LUTs for each 16 x 4 bits, a
carry cell as two. The clock is what nextpnr computes for the slowest conditions of the speed grade.
The path is that of the run with the median clock. That of the DTU is the wake-up: the line of a
change is compared with all entries, and in the same cycle the mark `head` goes from the entry that
is found to the next one of its list."""

CHIP = """\
One core with {ram} KiB of memory in 4 banks, all in block RAM, and caches as simulated; without the
host's port, whose inputs are constant. The counts include the wrapper, about 150 flip-flops. The
FPGA's block RAMs hold 18 Kbit and are at most 36 bits wide, so a queue of 64 contexts takes 15 of
them, as one of 512 would. With the scheduler, contexts are written to a core's registers four words
at a time, so these are flip-flops; without it they are distributed memory."""

TSAU = """\
The TSAU has three stages already (`tsau.sv`): choose, read, drive. It has not been divided further,
so this page shows no cycles against clock for it."""


def page(
    found: Sequence[Budget],
    placed: Mapping[Design, Result],
    facts: Mapping[str, str],
    picture: str | None,
    missing: Sequence[str] = (),
) -> str:
    one = found[0]
    contexts = one.parts["context units"]
    parts = [
        markdown.begin("Area and clock of the hardware scheduler", "area", "/area_page.py"),
        HEAD,
        markdown.facts(facts),
        *(["Not measured yet: " + ", ".join(missing) + "."] if missing else []),
        "## Claims of the paper",
        claims(found),
        LEFT_OUT.format(contexts=thousands(contexts), ratio=contexts / one.parts["TSAU"]),
        "## Gates",
        GATES.format(cores=one.cores, nand2=NAND2, sram=SRAM_CELL, flip_flop=FLIP_FLOP_TRANSISTORS),
        logic_table(found),
        "### The whole scheduler, in transistors",
        total_table(found),
    ]
    if picture:
        parts.append(f"![Shares of the scheduler's parts, by entries of a queue](img/{picture})")
    parts += ["### Addresses and states in the DTB", DTB, dtb_table(found)]
    parts += ["## Units in an FPGA", FPGA, units_table(placed), limit(placed), stages(placed)]
    if chips(placed):
        ram = next(
            macro.split("=")[1]
            for design in placed
            for macro in design.macros
            if macro.startswith("SOC_RAM_KIB=")
        )
        parts += ["## The whole chip in an FPGA", CHIP.format(ram=ram), chips_table(placed)]
        parts += [chips_verdict(placed)]
    return "\n\n".join(part for part in parts if part) + "\n"
