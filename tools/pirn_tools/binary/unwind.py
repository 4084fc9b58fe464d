# SPDX-License-Identifier: MIT
"""Back traces from outside: the callers of a frame, by the unwind tables (.eh_frame).

pyelftools decodes the tables and the expressions in them. A register that nobody has saved is
unknown; where a frame needs it the trace ends.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from elftools.dwarf.callframe import CallFrameInfo, CFARule, RegisterRule
from elftools.dwarf.constants import DW_CFA
from elftools.dwarf.dwarf_expr import DWARFExprParser
from elftools.dwarf.structs import DWARFStructs
from elftools.elf.elffile import ELFFile

from pirn_tools.binary.elf import File
from pirn_tools.binary.memory import Memory, UnreadableError
from pirn_tools.damage import KINDS as DAMAGE

DEPTH = 64
MASK = (1 << 64) - 1
HEADER = struct.Struct("<BBBBiI")  # .eh_frame_hdr
SDATA4, DATAREL_SDATA4, UDATA4, PCREL_SDATA4 = 0x0B, 0x3B, 0x03, 0x1B
PARSER = DWARFExprParser(DWARFStructs(little_endian=True, dwarf_format=32, address_size=8))
BINARY: dict[str, Callable[[int, int], int]] = {
    "DW_OP_plus": operator.add,
    "DW_OP_minus": operator.sub,
    "DW_OP_and": operator.and_,
    "DW_OP_shl": lambda first, second: first << second if second < 64 else 0,
    "DW_OP_ge": lambda first, second: int(_signed(first) >= _signed(second)),
}

Registers = dict[int, int]


@dataclass(frozen=True)
class Machine:
    """Registers as DWARF numbers them, and what port_ctx_switch leaves on the stack."""

    fp: int
    sp: int
    pc: int
    result: int  # where unwind tables have the address to return to
    kept: tuple[int, ...]  # by a function that is called
    pushed: int  # bytes; the word at the stack pointer is the frame pointer
    code: int = MASK  # bits of an address; above them may be a signature

    def registers(self, sp: int, pc: int) -> Registers:
        """All that is known of a thread that waits in the kernel."""
        return {self.sp: sp, self.pc: pc}

    def stopped(self, sp: int, pc: int, fp: int) -> Registers:
        """Of a thread that port_ctx_switch has left, from its context."""
        return {self.sp: sp + self.pushed, self.pc: pc, self.fp: fp}


# By the machine of an ELF file. x86-64: the red zone and rbp are pushed; AArch64: x29 and x19.
MACHINES = {
    "EM_X86_64": Machine(fp=6, sp=7, pc=16, result=16, kept=(3, 6, 12, 13, 14, 15), pushed=136),
    "EM_AARCH64": Machine(
        fp=29, sp=31, pc=32, result=30, kept=tuple(range(19, 30)), pushed=16, code=(1 << 48) - 1
    ),
}


class LostError(Exception):
    """Something that the next frame needs is not known."""


@dataclass(frozen=True)
class Rules:
    """How to find the caller's registers at one place."""

    cfa: CFARule
    saved: dict[int, RegisterRule]
    signal: bool  # the frame of a signal handler's caller


class Mapped(Protocol):
    """A file as it lies in the process."""

    @property
    def file(self) -> File:
        """The file."""

    @property
    def bias(self) -> int:
        """The difference of its addresses in the process from those in the file."""


class Tables:
    """The unwind tables of one file; addresses are the file's."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._starts: list[tuple[int, int]] = []  # first address of a function, address of its FDE
        self._cache: dict[int, Rules | None] = {}
        self._at = 0
        self._info: Any = None
        file.part("unwind tables", self._read)

    def _read(self, elf: ELFFile) -> None:
        header = elf.get_section_by_name(".eh_frame_hdr")
        if header is None or self._file.machine not in MACHINES:
            return
        dwarf = elf.get_dwarf_info(relocate_dwarf_sections=False)
        described = dwarf.eh_frame_sec
        if described is None:
            return
        self._at = described.address
        self._info = CallFrameInfo(
            described.stream, described.size, described.address, dwarf.structs, for_eh_frame=True
        )
        self._starts = _search_table(header["sh_addr"], header.data())

    def rules(self, address: int) -> Rules | None:
        """Those for an address."""
        if address not in self._cache:
            self._cache[address] = self._file.part("unwind tables", lambda _: self._rules(address))
        return self._cache[address]

    def _rules(self, value: int) -> Rules | None:
        low, high = 0, len(self._starts)
        while low < high:  # the last one that begins at or below value
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._starts[middle][0] <= value else (low, middle)
        if low == 0:
            return None
        # Not all entries, as pyelftools' public functions would: a C library has thousands.
        entry = self._info._parse_entry_at(self._starts[low - 1][1] - self._at)
        begin = entry["initial_location"]
        if not begin <= value < begin + entry["address_range"]:
            return None
        for part in (entry, entry.cie):  # not known to the decoder, and of no use here
            part.instructions = [i for i in part.instructions if i.opcode != DW_CFA.GNU_args_size]
        line: dict[Any, Any] | None = None
        for candidate in entry.get_decoded().table:
            if candidate["pc"] <= value:
                line = candidate
        if line is None:
            return None
        saved = {reg: rule for reg, rule in line.items() if isinstance(reg, int)}
        return Rules(line["cfa"], saved, bool(entry.cie.augmentation_dict.get(True)))


def _search_table(address: int, raw: bytes) -> list[tuple[int, int]]:
    """The sorted table that linkers write into .eh_frame_hdr."""
    if len(raw) < HEADER.size:
        return []
    version, frame, count_as, table_as, _, count = HEADER.unpack_from(raw)
    if (version, frame, count_as, table_as) != (1, PCREL_SDATA4, UDATA4, DATAREL_SDATA4):
        return []
    count = min(count, (len(raw) - HEADER.size) // 8)
    pairs = struct.unpack_from(f"<{2 * count}i", raw, HEADER.size)
    return [(address + pairs[i], address + pairs[i + 1]) for i in range(0, 2 * count, 2)]


class Unwinder:
    """Back traces in one process."""

    def __init__(
        self, memory: Memory, mapped: Callable[[int], Mapped | None], machine: Machine
    ) -> None:
        """mapped: the file that lies at an address."""
        self.memory, self.mapped, self.machine = memory, mapped, machine
        self._tables: dict[int, Tables] = {}

    def trace(self, registers: Registers) -> list[int]:
        """Addresses in each frame, the innermost first: that of the next instruction; in callers
        one in the call, as the address behind a call may belong to the next line or function."""
        frames: list[int] = []
        exact = True  # the address is that of the next instruction, not behind a call
        while registers.get(self.machine.pc) and len(frames) < DEPTH:
            pc = registers[self.machine.pc]
            frames.append(pc if exact else pc - 1)
            try:
                registers, exact = self._caller(frames[-1], registers, innermost=len(frames) == 1)
            except (LostError, UnreadableError, *DAMAGE):
                break
        return frames

    def _caller(
        self, address: int, registers: Registers, *, innermost: bool
    ) -> tuple[Registers, bool]:
        machine = self.machine
        found = self.mapped(address)
        if found is None:
            raise LostError
        if id(found) not in self._tables:
            self._tables[id(found)] = Tables(found.file)
        rules = self._tables[id(found)].rules(address - found.bias)
        if rules is None:
            raise LostError
        cfa = self._cfa(rules.cfa, registers)
        # An innermost function may have no stack where calls leave the address in a register.
        ends = cfa < registers[machine.sp] or (cfa == registers[machine.sp] and not innermost)
        if ends and not rules.signal:
            raise LostError  # it would never end
        above: Registers = {machine.sp: cfa}
        for register in (*machine.kept, machine.sp, machine.result):
            value = self._saved(register, rules.saved.get(register), registers, cfa)
            if value is not None:
                above[register] = value & MASK
        if rules.saved.get(machine.result) is None or machine.result not in above:
            raise LostError
        above[machine.pc] = above.pop(machine.result) & machine.code
        return above, rules.signal

    def _cfa(self, rule: CFARule, registers: Registers) -> int:
        if rule.expr is not None:
            return self._evaluate(rule.expr, registers, [])
        if rule.reg is None or rule.offset is None:
            raise LostError
        return (_known(registers, rule.reg) + rule.offset) & MASK

    def _saved(
        self, register: int, rule: RegisterRule | None, registers: Registers, cfa: int
    ) -> int | None:
        if rule is None or rule.type == "SAME_VALUE":
            return registers.get(register) if register in self.machine.kept else None
        if rule.type == "UNDEFINED":
            return None
        if isinstance(rule.arg, int):
            return self._from_number(rule.type, rule.arg, registers, cfa)
        if rule.arg is None:
            raise LostError
        value = self._evaluate(rule.arg, registers, [cfa])
        return self.memory.word(value) if rule.type == "EXPRESSION" else value

    def _from_number(self, kind: str, number: int, registers: Registers, cfa: int) -> int | None:
        if kind == "OFFSET":
            return self.memory.word(cfa + number & MASK)
        if kind == "VAL_OFFSET":
            return cfa + number
        return registers.get(number)

    def _evaluate(self, expression: Iterable[int], registers: Registers, stack: list[int]) -> int:
        """As much of DWARF's expressions as unwind tables contain."""
        for operation in PARSER.parse_expr(expression):
            name, arguments = operation.op_name, operation.args
            if name.startswith("DW_OP_breg") and name != "DW_OP_bregx":
                value = _known(registers, int(name.removeprefix("DW_OP_breg"))) + arguments[0]
            elif name.startswith("DW_OP_lit"):
                value = int(name.removeprefix("DW_OP_lit"))
            elif name.startswith("DW_OP_const") and len(arguments) == 1:
                value = arguments[0]
            elif name == "DW_OP_deref":
                value = self.memory.word(_pop(stack))
            elif name == "DW_OP_plus_uconst":
                value = _pop(stack) + arguments[0]
            elif name in BINARY:
                second, first = _pop(stack), _pop(stack)
                value = BINARY[name](first, second)
            else:
                raise LostError
            stack.append(value & MASK)
        return _pop(stack)


def _known(registers: Registers, number: int) -> int:
    if number not in registers:
        raise LostError
    return registers[number]


def _pop(stack: list[int]) -> int:
    if not stack:
        raise LostError
    return stack.pop()


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
