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
from pirn_tools.figures.area_cycles import SEEDS, Cycles
from pirn_tools.figures.hw import LATENCY, QUEUE, Case
from pirn_tools.figures.markdown import table

KIB = 1024
CONTEXT = 64  # bytes
# Claims of the paper, for 8 cores. It says 1024 entries in its text and 1000 in its conclusion.
CLAIMED_BYTES = {64: 68 * KIB, 1024: 1088 * KIB}
CLAIMED_TSAU = 8 * KIB
CLAIMED_CACHE = 64 * KIB * KIB  # of a processor that it compares with
KNOWN = 0.1  # the largest error of a change of cycles that the verdict counts
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


@dataclass(frozen=True)
class Clock:
    """The clocks of a scheduler's units, in MHz."""

    stages: int
    rtu: float
    dtu: float
    tsau: float

    @property
    def slowest(self) -> str:
        return min(("rtu", "dtu", "tsau"), key=lambda unit: float(getattr(self, unit)))

    @property
    def mhz(self) -> float:
        return float(getattr(self, self.slowest))


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


def logic_table(found: Sequence[Budget], divided: Sequence[tuple[str, str, Gates]] = ()) -> str:
    head = ["unit", "entries", "contexts", "flip-flops", "NAND2", "transistors", "as SRAM", "depth"]
    rows = [_logic_row("RTU, of a core", str(one.entries), one.rtu) for one in found]
    rows += [_logic_row("DTU", str(one.entries), one.dtu) for one in found]
    rows += [_logic_row("TSAU", "any", found[0].tsau)]
    rows += [_logic_row(*one) for one in divided]
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
            f"the TSAU is at most as large as {size(CLAIMED_TSAU)} of memory",
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
        if one.top not in ("rtu", "dtu", "tsau"):
            continue
        for_ = (
            f"{values['CORES']}x{values['THREADS']}"
            if one.top == "tsau"
            else f"{values['ENTRIES']} entries"
        )
        name, *cells = place_row(one.top.upper(), for_, result)
        rows.append([name, cells[0], str(values.get("STAGES", "-")), *cells[1:]])
    return table(["unit", "for", "stages", *PLACE_HEAD], rows, left=(0, 1, 9))


Chip = tuple[int, int, int]  # hardware threads, entries of the scheduler (0: none), its stages


def chips(placed: Mapping[Design, Result]) -> dict[Chip, Result]:
    found = {}
    for one, result in placed.items():
        values = dict(macro.split("=") for macro in one.macros if "=" in macro)
        if values:
            names = ("SOC_THREADS", "SOC_SCHEDULER", "SOC_SCHEDULER_STAGES")
            threads, queue, stages = (int(values[name]) for name in names)
            found[threads, queue, stages] = result
    return found


def scheduler_of(queue: int, stages: int) -> str:
    return f"{queue} entries, {counted_stages(stages)}" if queue else "no"


def chips_table(placed: Mapping[Design, Result]) -> str:
    rows = [
        place_row(f"1x{threads}", scheduler_of(queue, stages), result)
        for (threads, queue, stages), result in chips(placed).items()
    ]
    return table(["chip", "scheduler", *PLACE_HEAD], rows, left=(0, 1, 8))


def chips_verdict(placed: Mapping[Design, Result]) -> str:
    """What the scheduler adds to a chip, and whether it is what limits the clock."""
    found = chips(placed)
    text = []
    for (threads, queue, stages), result in found.items():
        plain = found.get((threads, 0, 1))
        if queue == 0 or plain is None:
            continue
        new, old = result.cells, plain.cells
        text.append(
            f"With {scheduler_of(queue, stages)}, the scheduler adds {new.luts - old.luts} LUTs "
            f"({100 * (new.luts / old.luts - 1):.0f} %), {new.flip_flops - old.flip_flops} "
            f"flip-flops and {new.block_rams - old.block_rams} block RAMs to a chip of 1x{threads}."
        )
        if result.placed and plain.placed:
            text.append(
                f"Its clock is {result.typical.mhz:.0f} MHz instead of {plain.typical.mhz:.0f} MHz."
            )
    return " ".join(text)


def counted_stages(count: int) -> str:
    return "one stage" if count == 1 else f"{count} stages"


def limit(placed: Mapping[Design, Result]) -> str:
    """The slowest unit against the fastest chip without a scheduler."""
    units = {one: result for one, result in placed.items() if result.placed and not one.macros}
    if not units:
        return ""
    plain = [
        result.typical.mhz
        for (_, queue, _), result in chips(placed).items()
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
    staged = f" with {counted_stages(values['STAGES'])}" if "STAGES" in values else ""
    text = f"The slowest unit is the {slowest.top.upper()} for {size_}{staged}, at {mhz:.0f} MHz."
    if plain:
        text += f" A chip without the scheduler reaches {max(plain):.0f} MHz, so " + (
            "this unit would limit its clock." if mhz < max(plain) else "no unit limits its clock."
        )
    return text


def clocks_table(clocks: Sequence[Clock]) -> str:
    rows = [
        [
            str(one.stages),
            *(f"{mhz:.0f}" for mhz in (one.rtu, one.dtu, one.tsau)),
            f"{one.slowest.upper()}, {one.mhz:.0f} MHz",
        ]
        for one in clocks
    ]
    return table(["stages", "RTU", "DTU", "TSAU", "slowest"], rows)


def percent(ratio: float) -> str:
    """Of a change, with its sign."""
    return f"{100 * (ratio - 1):+.1f} %"


def cycles_table(found: Mapping[Case, Cycles], clocks: Sequence[Clock]) -> str:
    """Times are known if both clocks are."""
    head = ["workload", "scheduler", "unit", "cycles, one stage", "two stages", "change"]
    if clocks:
        head += ["µs, one stage", "two stages", "change"]
    rows = []
    for case, one in found.items():
        row = [case.workload, f"`{case.scheduler}`", str(case.units)]
        row += [f"{one.mean[1]:.0f}", f"{one.mean[2]:.0f}"]
        row.append(f"{100 * (one.change - 1):+.1f} ± {100 * one.change_error:.1f} %")
        if abs(one.change - 1) <= one.change_error:
            row[-1] += ", within the noise"
        if clocks:
            times = [one.mean[clock.stages] / clock.mhz for clock in clocks]
            known = one.change_error <= KNOWN
            change = percent(times[1] / times[0]) if known else "not known"
            row += [*(f"{time:.0f}" for time in times), change]
        rows.append(row)
    return table(head, rows, left=(0, 1))


def span(ratios: Sequence[float]) -> str:
    low, high = (percent(one) for one in (min(ratios), max(ratios)))
    return low if low == high else f"{low} to {high}"


def cycles_verdict(found: Mapping[Case, Cycles], clocks: Sequence[Clock]) -> str:
    """What two stages cost in cycles, and bring in time."""
    known = [one for one in found.values() if one.change_error <= KNOWN]
    text = (
        f"{len(known)} of {len(found)} cases have a confidence interval of at most "
        f"\u00b1 {100 * KNOWN:.0f} %; the others differ too much from seed to seed."
    )
    if not known:
        return text
    changes = [one.change for one in known]
    more = sum(one.change - 1 > one.change_error for one in known)
    fewer = sum(1 - one.change > one.change_error for one in known)
    text += (
        f" Two stages change the cycles of these {len(known)} by {span(changes)}: {more} take more "
        f"cycles and {fewer} take fewer, by more than the interval."
    )
    if not clocks:
        return text + " The clock of a unit is not known, so the times are not, either."
    one, two = clocks
    times = [change * one.mhz / two.mhz for change in changes]
    faster = sum(time < 1 for time in times)
    return (
        f"{text} They change the clock of the slowest unit by {percent(two.mhz / one.mhz)}, from "
        f"{one.mhz:.0f} MHz ({one.slowest.upper()}) to {two.mhz:.0f} MHz ({two.slowest.upper()}). "
        f"So the time changes by {span(times)}: {faster} of these {len(times)} are faster."
    )


def stages_section(found: Mapping[Case, Cycles], clocks: Sequence[Clock]) -> list[str]:
    parts = ["## Stages: cycles against clock", STAGES]
    if clocks:
        parts += [CLOCKS.format(entries=QUEUE), clocks_table(clocks)]
    if found:
        cores = next(iter(found)).harts // 4
        numbers = {"entries": QUEUE, "latency": LATENCY, "seeds": len(SEEDS), "known": 100 * KNOWN}
        parts += [CYCLES.format(cores=cores, **numbers)]
        parts += [cycles_table(found, clocks), cycles_verdict(found, clocks)]
    return parts


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
the paper's: {cores} cores of 4 hardware threads. Units have one stage if nothing else is said; the
section on stages says what a second one divides.

The TSAU does not depend on the number of entries. `tsau.sv` has no parameter for it: of each queue
the TSAU sees whether it has a thread, and reads the context of the one thread that it offers."""

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
The path is that of the run with the median clock. "Stages" is `--scheduler-stages`; the next
section says what it divides."""

CHIP = """\
One core with {ram} KiB of memory in 4 banks, all in block RAM, and caches as simulated; without the
host's port, whose inputs are constant. The counts include the wrapper, about 150 flip-flops. The
FPGA's block RAMs hold 18 Kbit and are at most 36 bits wide, so a queue of 64 contexts takes 15 of
them, as one of 512 would. With the scheduler, contexts are written to a core's registers four words
at a time, so these are flip-flops; without it they are distributed memory.

nextpnr places chips by its placer `static`, which needs less wire, and routes them by `router2`;
units are placed and routed as it usually does. Its usual ways gave 30 MHz without the scheduler,
and did not end for chips with one. The slowest paths go through the second level's crossbar, mostly
on wires."""

STAGES = """\
A chip has a scheduler of one stage, or of two (`--scheduler-stages 2`). The second one divides the
two units with the longest paths:

- DTU: with one stage, the line of a change is compared with all entries, and in the same cycle the
  mark `head` goes from the entry that is found to the next one of its list. With two, a conditional
  access takes two cycles: one to compare and to look for a free entry, one for what follows.
  Accesses do not overlap.
- TSAU: with one stage, it looks for a source and an idle hardware thread, and takes the thread in
  the same cycle. With two, it looks in one cycle and takes in the next, so it assigns at most one
  thread every two cycles. It then reads and drives, a cycle each, as with one stage.

The RTU is the same."""

CLOCKS = """\
Clocks in MHz of the units for {entries} entries and the paper's processor, from the table above
(median)."""

CYCLES = """\
Cycles of 1000 fine-grained threads on the simulated chip: {cores} cores of 4 hardware threads,
queues of {entries}, a second level of {latency} cycles; the mean of {seeds} seeds. ± is half of the
95 % confidence interval. A change that is not larger than that is within the noise; of a case whose
interval is larger than ± {known:.0f} %, the change of the time is not known. In workload `b` each
thread also accesses a shared line conditionally. With `hard` one parent spawns all threads, with
`hard-tree` threads spawn threads. A unit is 10 instructions. [A hardware scheduler, here](hw.md)
has more of these runs. The time assumes a chip that runs at the clock of its scheduler's slowest
unit, and a second level that takes as many cycles at any clock. Whether cores and memory reach that
clock is not measured."""


def page(
    found: Sequence[Budget],
    placed: Mapping[Design, Result],
    facts: Mapping[str, str],
    picture: str | None,
    missing: Sequence[str] = (),
    cycles: Mapping[Case, Cycles] | None = None,
    clocks: Sequence[Clock] = (),
    divided: Sequence[tuple[str, str, Gates]] = (),
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
        logic_table(found, divided),
        "### The whole scheduler, in transistors",
        total_table(found),
    ]
    if picture:
        parts.append(f"![Shares of the scheduler's parts, by entries of a queue](img/{picture})")
    parts += ["### Addresses and states in the DTB", DTB, dtb_table(found)]
    parts += ["## Units in an FPGA", FPGA, units_table(placed), limit(placed)]
    if cycles or clocks:
        parts += stages_section(cycles or {}, clocks)
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
