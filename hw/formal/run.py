# SPDX-License-Identifier: MIT
"""Proofs of the hardware scheduler and of a bank's memory, with yosys and its ABC.

    run.py [--time SECONDS] [UNIT...]

For each unit of UNITS:

  bounded    no assertion fails within so many cycles from reset
  induction  no assertion ever fails: ABC finds an inductive invariant (property-directed
             reachability) and checks it; without one in time the proof is only bounded, as is
             that of the memory
  cover      every cover statement can be reached, so the assumptions exclude nothing of interest
  mutants    each fault that is built into a copy of the RTL makes an assertion fail

The exit status is 1 if an assertion fails, a cover statement is not reached, or a fault is not
found; 3 if all of that is right, and an induction did not end in time.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RTL = ROOT / "hw" / "rtl"
TOOLS = ("yosys", "yosys-abc")


@dataclass(frozen=True)
class Mutant:
    """A fault: pieces of a file, and what replaces them."""

    name: str
    file: str
    changes: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Unit:
    """A top module, its parameters, and what must be true of it."""

    top: str
    files: tuple[str, ...]
    parameters: dict[str, int]
    bound: int  # cycles of the bounded check, and of the search for covers and faults
    mutants: tuple[Mutant, ...]
    macros: tuple[str, ...] = ()  # of the chip's configuration
    inductive: bool = True  # False: too large, so only bounded

    @property
    def title(self) -> str:
        values = ", ".join(f"{name} {value}" for name, value in self.parameters.items())
        return f"{self.top} ({values.lower()})"


RTU_MUTANTS = (
    Mutant(
        "a push in the cycle of a take goes above it",
        "rtu.sv",
        (("put_at = lifo_take ? top : height[BITS-1:0]", "put_at = height[BITS-1:0]"),),
    ),
    Mutant(
        "a thread that is taken stays in the LIFO",
        "rtu.sv",
        (("if (!lifo_push && lifo_take) height <= height - 1'b1;", ""),),
    ),
    Mutant(
        "the LIFO is full one entry early",
        "rtu.sv",
        (("assign lifo_full = height == ALL;", "assign lifo_full = height >= ALL - 1'b1;"),),
    ),
    Mutant(
        "the FILLQ does not wrap",
        "rtu.sv",
        (("last <= last == BITS'(ENTRIES - 1) ? '0 : last + 1'b1", "last <= last + 1'b1"),),
    ),
    Mutant(
        "a second recruiting thread",
        "rtu.sv",
        (("spilled && !recruiting &&", "spilled &&"),),
    ),
    Mutant(
        "a recruiting thread while the FILLQ has threads",
        "rtu.sv",
        (("lifo_count < threshold && !fill_has", "lifo_count < threshold"),),
    ),
)
TSAU_MUTANTS = (
    Mutant(
        "the first source always comes first",
        "tsau.sv",
        (("if (has_turn) turn <= number == BITS'(SOURCES - 1) ? '0 : number + 1'b1;", ""),),
    ),
    Mutant(
        "two threads for one hardware thread",
        "tsau.sv",
        (("coming = r_target | assign_valid", "coming = r_target"),),
    ),
    Mutant(
        "a woken thread comes to a `take`",
        "tsau.sv",
        (("begun = recruits || chosen[SOURCES-1] && !dtb_word", "begun = recruits"),),
    ),
    Mutant(
        "a word waits for a hardware thread without a thread",
        "tsau.sv",
        (("dtb_has && (dtb_word || core_empty != 0)", "dtb_has && core_empty != 0"),),
    ),
    Mutant(
        "the recruiting thread waits for its turn",
        "tsau.sv",
        (
            (
                "wire recruits = recruits_on != 0;",
                "wire recruits = recruits_on != 0 && chosen == 0;",
            ),
        ),
    ),
    Mutant(
        "the recruiting thread runs on another core",
        "tsau.sv",
        (("target = recruits ? recruits_on :", "target = recruits ? empty_on :"),),
    ),
)
TSAU_2_MUTANTS = (
    Mutant(
        "a choice begins before the last one has ended",
        "tsau.sv",
        (("looked <= !rst && !looked &&", "looked <= !rst &&"),),
    ),
    Mutant(
        "a source that has lost its thread is not asked again",
        "tsau.sv",
        (
            (
                "assign ready = {dtb_has && (dtb_word || empty_on != 0), queues};",
                "assign ready = '1;",
            ),
        ),
    ),
    Mutant(
        "the recruiting thread is not asked for again",
        "tsau.sv",
        (("assign recruit_ready = recruit;", "assign recruit_ready = '1;"),),
    ),
    Mutant(
        "a source that has lost its thread keeps its turn",
        "tsau.sv",
        (("if (has_turn) turn <=", "if (taken != 0) turn <="),),
    ),
)
DTU_MUTANTS = (
    Mutant(
        "a wake-up before the context has arrived is lost",
        "dtu.sv",
        (("changes) woken[i] <= 1'b1;", "changes) woken[i] <= arrived[i];"),),
    ),
    Mutant(
        "a thread is taken before its context has arrived",
        "dtu.sv",
        (("assign rest = woken & arrived;", "assign rest = woken;"),),
    ),
    Mutant(
        "threads behind the one that is woken are lost",
        "dtu.sv",
        (("if (promotes && promoted == i) head[i] <= 1'b1;", ""),),
    ),
    Mutant(
        "a thread that has been woken is not counted",
        "dtu.sv",
        (("ready <= ready + 16'(changes && waits)", "ready <= ready + 16'(blocks)"),),
    ),
    Mutant(
        "a context is taken for a word",
        "dtu.sv",
        (("if (put) words[put_slot] <= put_word;", "words[put_slot] <= put_word;"),),
    ),
    Mutant(
        "a change wakes threads of any line",
        "dtu.sv",
        (("wants[i] == state && lines[i*LINE_BITS+:LINE_BITS] == line", "wants[i] == state"),),
    ),
)
DTU_2_MUTANTS = (
    Mutant(
        "an entry that becomes head is not compared with the next access",
        "dtu.sv",
        (
            (
                "assign heads[e] = head[e] || promotes && promoted == e;",
                "assign heads[e] = head[e];",
            ),
        ),
    ),
    Mutant(
        "an entry gets the line of the next access",
        "dtu.sv",
        (("lines[i*LINE_BITS+:LINE_BITS] <= of_line;", "lines[i*LINE_BITS+:LINE_BITS] <= line;"),),
    ),
    Mutant(
        "a thread that has been taken is offered again",
        "dtu.sv",
        (("assign rest = woken & arrived & ~offer;", "assign rest = woken & arrived;"),),
    ),
    Mutant(
        "the TSAU is offered a thread before its context has arrived",
        "dtu.sv",
        (("assign rest = woken & arrived & ~offer;", "assign rest = woken & ~offer;"),),
    ),
)
LATE = Mutant(
    "a thread that waits is seen only when its context has arrived",
    "dtu.sv",
    (
        ("head[i] <= 1'b1;\n                    chained", "chained"),
        (
            "if (put) arrived[put_slot] <= 1'b1;",
            "if (put) begin arrived[put_slot] <= 1'b1; head[put_slot] <= 1'b1; end",
        ),
    ),
)
WAKEUP_MUTANTS = (
    LATE,
    Mutant(
        "a line is not kept for the thread that is woken",
        "full_empty.sv",
        (
            (
                "if (apply && changes) tags[line] <= {waits, next};",
                "if (apply && changes) tags[line] <= {1'b0, next};",
            ),
        ),
    ),
    Mutant(
        "an access that only waits sets the line",
        "full_empty.sv",
        (("assign changes = hit && !only_waits;", "assign changes = hit;"),),
    ),
    Mutant(
        "a woken thread does not get the line that is kept for it",
        "full_empty.sv",
        (("(!kept || woken)", "!kept"),),
    ),
    Mutant(
        "a read of a full line does not wake the next reader",
        "dtu.sv",
        (("if (found[i] && changes) woken[i]", "if (found[i] && changes && !of_state) woken[i]"),),
    ),
)
WAKEUP_2_MUTANTS = (
    LATE,
    Mutant(
        "an access is granted in the cycle after another one",
        "wakeup.sv",
        (("chosen <= !rst && !chosen && busy && grants;", "chosen <= !rst && grants;"),),
    ),
)
MEMORY_MUTANTS = (
    Mutant(
        "a store writes the whole word",
        "bank.sv",
        (("if (new_mask[i]) mem[line]", "if (changes) mem[line]"),),
    ),
    Mutant(
        "a store goes to the line's first word",
        "bank.sv",
        (("16'(r.mask) << {r.addr[3:2], 2'b00}", "16'(r.mask)"),),
    ),
    Mutant(
        "lines have their bank's number in their place",
        "bank.sv",
        (("line = r.addr[4+BANK_BITS+:LINE_BITS]", "line = r.addr[4+:LINE_BITS]"),),
    ),
    Mutant(
        "an atomic instruction writes nothing",
        "bank.sv",
        (
            (
                "r.op == soc_pkg::REQ_AMO || r.op == soc_pkg::REQ_SC && sc_ok",
                "r.op == soc_pkg::REQ_SC && sc_ok",
            ),
        ),
    ),
    Mutant(
        "only atomic instructions read memory",
        "bank.sv",
        (("if (r_valid && !r_second) read_q", "if (r_valid && r_atomic && !r_second) read_q"),),
    ),
    Mutant(
        "an answer takes the place of the one before it",
        "delay.sv",
        (
            (
                "if (put) begin\n                entry[tail]",
                "if (put) begin\n                entry[head]",
            ),
        ),
    ),
)
UNITS = (
    Unit("rtu", ("rtu.sv",), {"ENTRIES": 3, "WIDTH": 2}, 16, RTU_MUTANTS),
    Unit("rtu", ("rtu.sv",), {"ENTRIES": 4, "WIDTH": 4}, 16, ()),
    *(
        Unit(
            "tsau",
            ("tsau.sv",),
            {"CORES": 2, "THREADS": 2, "WIDTH": 3, "STAGES": stages},
            20,
            mutants,
        )
        for stages, mutants in ((1, TSAU_MUTANTS), (2, TSAU_2_MUTANTS))
    ),
    *(
        Unit(
            "dtu",
            ("dtu.sv",),
            {"ENTRIES": 4, "WIDTH": 2, "LINE_BITS": 1, "STAGES": stages},
            8 + 8 * stages,
            mutants,
        )
        for stages, mutants in ((1, DTU_MUTANTS), (2, DTU_2_MUTANTS))
    ),
    *(
        Unit(
            "wakeup",
            ("soc_pkg.sv", "full_empty.sv", "dtu.sv", "wakeup.sv"),
            {"THREADS": 3, "ENTRIES": 2, "LINES": 2, "STAGES": stages},
            20,
            mutants,
        )
        for stages, mutants in ((1, WAKEUP_MUTANTS), (2, WAKEUP_2_MUTANTS))
    ),
    Unit(
        "memory",
        ("soc_pkg.sv", "full_empty.sv", "delay.sv", "bank.sv", "memory.sv"),
        {},
        8,
        MEMORY_MUTANTS,
        macros=("SOC_RAM_KIB=1", "SOC_BANKS=8", "SOC_QUEUE=8"),
        inductive=False,
    ),
)

# Covers become assertions of the opposite, which must fail.
COVERS = r"""(* techmap_celltype = "$cover" *)
module cover_to_assert(input A, input EN);
    \$assert _TECHMAP_REPLACE_ (.A(~A), .EN(EN));
endmodule
"""
SCRIPT = """read_verilog -defer -sv -formal -I {here} -D FORMAL_{macro} {macros} {files}
hierarchy -top {top} {parameters}
prep -flatten -top {top}
memory_map
async2sync
{formal}
dffunmap
opt -full
techmap
opt -fast
dffunmap
abc -g AND -fast
opt_clean
delete -port o:*
opt_clean
setundef -undriven -anyseq
setundef -anyseq
opt_clean
write_aiger -zinit {out}
"""
ASSERTS = "chformal -cover -remove"
COVERS_ONLY = "chformal -assert -remove\ntechmap -map {map}"


class ProofError(Exception):
    """A tool has failed, with its output."""


def call(words: list[str], folder: Path) -> str:
    result = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        last = (result.stdout + result.stderr).strip().splitlines()[-8:]
        raise ProofError(f"{words[0]} failed:\n" + "\n".join(last))
    return result.stdout + result.stderr


def translate(unit: Unit, folder: Path, covers: bool, mutant: Mutant | None = None) -> Path:
    """The unit as an AIGER file. Warnings of yosys are errors."""
    files = []
    for name in unit.files:
        source = next(one for one in (RTL / name, HERE / name) if one.exists())
        if mutant is not None and mutant.file == name:
            text = source.read_text()
            for old, new in mutant.changes:
                if text.count(old) != 1:
                    raise ProofError(f"{name} has not exactly one {old!r} (mutant: {mutant.name})")
                text = text.replace(old, new)
            source = folder / name
            source.write_text(text)
        files.append(str(source))
    cover_map = folder / "covers.v"
    cover_map.write_text(COVERS)
    out = folder / "unit.aig"
    values = (f"-chparam {name} {value}" for name, value in unit.parameters.items())
    script = folder / "unit.ys"
    script.write_text(
        SCRIPT.format(
            here=HERE,
            macro=unit.top.upper(),
            macros=" ".join(f"-D {one}" for one in unit.macros),
            files=" ".join(files),
            parameters=" ".join(values),
            top=unit.top,
            formal=COVERS_ONLY.format(map=cover_map) if covers else ASSERTS,
            out=out,
        )
    )
    call(["yosys", "-e", ".*", "-Q", "-q", str(script)], folder)
    return out


def abc(commands: str, aiger: Path) -> str:
    return call(["yosys-abc", "-c", f"read_aiger {aiger}; fold; {commands}"], aiger.parent)


def failed(output: str) -> int:
    """How many of the outputs of a bounded check have been asserted."""
    if re.search(r"No output asserted", output):
        return 0
    found = re.search(r"\((\d+) out of \d+\)", output)
    if found:
        return int(found[1])
    return len(re.findall(r"^Output +\d+ .*was asserted", output, re.MULTILINE))


def outputs(aiger: Path) -> int:
    found = re.search(r"i/o\s*=\s*\d+/\s*(\d+)", abc("print_stats", aiger))
    if found is None:
        raise ProofError("ABC prints no statistics")
    return int(found[1])


def bounded(unit: Unit, aiger: Path) -> str:
    """Empty: right."""
    output = abc(f"orpos; bmc3 -F {unit.bound}", aiger)
    if re.search(r"No output asserted in", output):
        return ""
    found = re.search(r"asserted in frame\s+(\d+)", output)
    if found is None:
        raise ProofError(f"ABC says nothing of the bounded check: {output[-300:]}")
    return f"FAILED in cycle {found[1]}"


def induction(aiger: Path, seconds: int) -> str:
    output = abc(f"orpos; pdr -T {seconds}", aiger)
    if "Property proved" in output:
        return ""
    return "FAILED" if "was asserted" in output else f"not proved in {seconds} s"


def covered(unit: Unit, folder: Path) -> tuple[int, int]:
    aiger = translate(unit, folder, covers=True)
    return failed(abc(f"bmc3 -a -F {unit.bound}", aiger)), outputs(aiger)


class Report:
    """Lines of results, and the exit status that follows from them."""

    def __init__(self) -> None:
        self.status = 0
        self.start = time.monotonic()

    def line(self, what: str, wrong: str, right: str, status: int = 1) -> None:
        seconds = time.monotonic() - self.start
        self.start = time.monotonic()
        print(f"  {what:<72} {wrong or right:<20} {seconds:5.1f} s", flush=True)
        if wrong:
            self.status = 1 if 1 in (self.status, status) else status


def check(unit: Unit, seconds: int, report: Report) -> None:
    print(unit.title)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        aiger = translate(unit, folder, covers=False)
        report.line(f"bounded, {unit.bound} cycles", bounded(unit, aiger), "holds")
        if unit.inductive:
            wrong = induction(aiger, seconds)
            report.line("induction", wrong, "proved", 1 if wrong == "FAILED" else 3)
        reached, total = covered(unit, folder)
        text = f"{reached} of {total}"
        report.line(f"cover, {unit.bound} cycles", "" if reached == total else text, text)
        for mutant in unit.mutants:
            broken = translate(unit, folder, covers=False, mutant=mutant)
            wrong = "" if bounded(unit, broken).startswith("FAILED in") else "NOT FOUND"
            report.line(f"mutant: {mutant.name}", wrong, "found")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    names = sorted({unit.top for unit in UNITS})
    parser.add_argument("units", nargs="*", metavar="UNIT", help=f"of: {' '.join(names)}")
    parser.add_argument("--time", type=int, default=300, help="for each induction, in seconds")
    options = parser.parse_args()
    for name in options.units:
        if name not in names:
            parser.error(f"no unit {name!r} (valid: {', '.join(names)})")
    for tool in TOOLS:
        if shutil.which(tool) is None:
            message = f"{tool} is missing; tools/setup --group formal installs it"
            print(f"Error: {message}", file=sys.stderr)
            return 1
    report = Report()
    try:
        for unit in UNITS:
            if not options.units or unit.top in options.units:
                check(unit, options.time, report)
    except ProofError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return report.status


if __name__ == "__main__":
    sys.exit(main())
